"""From the recording to the graph."""

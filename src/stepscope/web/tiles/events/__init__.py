"""Questions about single events: what is known of one, what it leads to, and which one is meant."""

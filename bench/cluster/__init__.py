"""Whether the rank or link that slows a job down is named first, in simulated clusters."""

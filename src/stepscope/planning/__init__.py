"""Plans of training jobs: what a layout of a model takes in memory and time, and which layouts are best."""

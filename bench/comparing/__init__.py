"""Known changes planted in real recordings, and what a comparison says of them."""

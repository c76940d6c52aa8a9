"""What a recording can answer."""

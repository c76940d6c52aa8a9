"""What names tell."""

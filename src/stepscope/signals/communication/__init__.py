"""Communication and ranks among each other."""

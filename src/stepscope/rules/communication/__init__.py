"""Rules about collectives and transfers between ranks."""

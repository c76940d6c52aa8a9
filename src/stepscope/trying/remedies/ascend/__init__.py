"""Remedies for NPUs."""

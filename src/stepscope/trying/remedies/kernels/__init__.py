"""Remedies that change how the device computes."""

"""Remedies that change how batches are loaded."""

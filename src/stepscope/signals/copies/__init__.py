"""Copies between host and device."""

"""Collectives, links and overlap."""

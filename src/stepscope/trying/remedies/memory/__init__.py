"""Remedies that change how memory is taken and returned."""

"""Remedies that change how ranks exchange gradients."""

"""Remedies that spare the host work, or share its cores out."""

"""Ascend devices."""

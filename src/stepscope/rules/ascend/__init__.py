"""Rules about what only Ascend devices and their software have."""

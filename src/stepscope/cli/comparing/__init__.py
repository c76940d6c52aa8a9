"""The commands that hold recordings against each other."""

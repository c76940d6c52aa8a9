"""Labelled recordings, changed in ways that must not change what is said of them."""

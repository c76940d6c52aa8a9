"""The diagnosis held against expert labels of real recordings."""

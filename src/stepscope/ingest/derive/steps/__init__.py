"""Steps: found, inferred, and which of them are typical."""

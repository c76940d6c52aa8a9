"""Find steps, recorded or inferred, and decide which are typical."""

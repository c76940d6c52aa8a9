"""What the host did: operators, modules, calls, waits."""

"""How often the diagnosis is right: faults are injected into simulated jobs by mechanism, and findings are compared."""

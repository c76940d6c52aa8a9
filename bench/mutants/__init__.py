"""How many small mistakes in signals, analyses and rules the tests notice."""

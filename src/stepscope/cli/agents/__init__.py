"""Commands for programs that reason."""

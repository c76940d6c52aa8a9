"""The command that tries remedies."""

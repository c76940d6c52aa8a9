"""Rules: from signals to findings, one file per rule, a folder per family."""

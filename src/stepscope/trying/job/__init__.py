"""What a run of a trial does within the program's processes, on the standard library and torch alone."""

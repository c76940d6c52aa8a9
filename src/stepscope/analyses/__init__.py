"""One question per file: a pure function from the trace of one rank to a table with a declared schema."""

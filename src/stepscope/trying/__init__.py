"""Try remedies on a program that nobody changes: run it with one at a time, and measure what its step gains."""

"""Two recordings side by side: whether they can be compared, which is faster, and what the difference is made of."""

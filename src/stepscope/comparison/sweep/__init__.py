"""Several recordings of one program at growing batch sizes or numbers of ranks, beside each other."""

"""What works over the ranks of a job together: who makes others wait, clocks of hosts, groups of parallelism."""

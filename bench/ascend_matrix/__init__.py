"""One simulated job as each export of the Ascend profiler, at each level, read from all of its ranks and from some."""

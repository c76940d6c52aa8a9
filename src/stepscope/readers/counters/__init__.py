"""Results of kernel profilers: counters of single launches, from Nsight Compute, `msprof op` and rocprof-compute."""

"""What a profiler itself summed up of one rank."""

"""Ten small programs with a known fault each: what `stepscope try` says of it, and an independent timing."""

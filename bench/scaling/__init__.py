"""`python -m bench.scaling`: what a report costs against events, threads, streams, names, steps and columns."""

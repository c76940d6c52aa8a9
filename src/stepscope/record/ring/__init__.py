"""The ring of a process: the last steps that it made, in a file of fixed size that survives the process.

Nothing here needs more than the standard library, since it is written inside the job.
"""

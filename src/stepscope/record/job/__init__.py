"""Inside a process of the job: what runs once the program imports torch. Only the standard library and torch are used.

The program's Python may lack whatever stepscope itself depends on.
"""

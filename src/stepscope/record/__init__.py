"""Record a few steps of a running job, without touching its code.

`launch` starts the program; `inject` is what Python loads in each of its processes; `job` works inside them once they
import torch; `steps` finds the iterations of the loop. Nothing here imports torch before the program does.
"""

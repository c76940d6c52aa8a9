"""Watch a job from outside its processes: compare its ranks, ask them for recordings, show how it goes."""

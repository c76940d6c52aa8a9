"""`python -m bench.damage`: what damage, crowds, kills and full disks do to an analysis, counted."""

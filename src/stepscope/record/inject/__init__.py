"""The folder that the launcher puts first on `PYTHONPATH`: it holds `sitecustomize` and nothing else."""

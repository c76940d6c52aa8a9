"""Keeps the catalogues of `src/stepscope/language` in step with the texts of the code; `make catalogues` runs it."""

"""How fast the page is on many events: `python -m bench.page`."""

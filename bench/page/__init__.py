"""How fast the page's timeline is on many events: `python -m bench.page`."""

"""One package per source. Each recognises its recordings by content and fills a `Staging` with their facts."""

"""The timeline as data: tracks, their level of detail, tiles, and what is asked about one event or one range."""

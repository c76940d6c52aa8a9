"""Parts of a page as lines of text that fit a width."""

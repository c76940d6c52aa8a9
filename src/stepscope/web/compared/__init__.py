"""The page of a comparison: two recordings side by side, with the page of either below it."""

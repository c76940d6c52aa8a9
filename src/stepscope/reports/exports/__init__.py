"""A trace, whole or cut down, in the formats of other tools."""

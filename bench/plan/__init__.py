"""Plans held against published configurations."""

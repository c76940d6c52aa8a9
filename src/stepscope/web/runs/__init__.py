"""The page for every recording below a folder: found, opened when they are asked for, and chosen by run."""

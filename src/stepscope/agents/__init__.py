"""An output for programs that reason: the same answers over the Model Context Protocol."""

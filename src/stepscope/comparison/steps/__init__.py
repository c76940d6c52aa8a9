"""How the steps of both sides went: the typical step, all of them, and those that take far longer."""

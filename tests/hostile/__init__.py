"""Calls of every public name with hostile arguments, in a process that may die of them."""

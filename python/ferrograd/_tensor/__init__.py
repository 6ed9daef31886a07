"""Tensors and what holds for them: creation, random numbers, sizes, modes, nested values."""

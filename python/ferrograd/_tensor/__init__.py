"""Tensors: creation, random numbers, sizes, modes, nested values."""

"""Layers as modules; `ferrograd.nn` has their names."""

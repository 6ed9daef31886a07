"""Losses as modules; `ferrograd.nn` has their names."""

"""Families of distributions, grouped by support."""

"""Families of distributions, by where their values lie."""

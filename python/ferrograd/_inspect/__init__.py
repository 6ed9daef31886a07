"""Inspecting graphs: scopes, pictures, summaries, explanations, anomaly mode; lazy attributes of
modules, and errors for names that do not exist.
"""

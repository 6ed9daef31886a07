"""Inspecting graphs: scopes, pictures, summaries, explanations, anomaly mode."""

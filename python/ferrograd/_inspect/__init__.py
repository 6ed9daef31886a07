"""Looking at graphs: scopes, pictures, summaries, why there is no gradient, anomaly mode."""

"""Layers that read sequences: attention, recurrent layers, transformers."""

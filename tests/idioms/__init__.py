"""Random programs of plain NumPy, run on arrays and on tensors, and what they must agree in."""

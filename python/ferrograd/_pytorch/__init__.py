"""Names of PyTorch's that are written with other operations, loaded when they are first used."""

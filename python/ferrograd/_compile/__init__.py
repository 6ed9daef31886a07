"""`compile`: a function is recorded once and replayed without Python; loops and branches for it."""

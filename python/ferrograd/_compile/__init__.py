"""`compile`: a function is traced once and then runs without Python; loops and branches."""

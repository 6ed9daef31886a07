"""HIPS autograd's modules: `core`, `util`, `wrap_util`, `tracer`, `builtins`, `test_util`, `misc`.

Programs import them as `ferrograd.core` and so on; the files of these names in the package hold one
line each.
"""

"""NumPy's and SciPy's calls on tensors: which of our functions each means, and how it is called.

Order of the modules: `table` and `detached` at the bottom, then `ufuncs`, `keywords`, `operations`,
and `protocols` on top; `composed` fills the table and is loaded on a miss.
"""

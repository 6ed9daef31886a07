"""NumPy's and SciPy's calls on tensors: finds our function for each call, and translates arguments.

Order of the modules: `function_table` and `detach` at the bottom, then `ufuncs`, `keywords`,
`core_operations`, and `protocols` on top. `composed` fills the table; it is loaded when an entry is
missing.
"""

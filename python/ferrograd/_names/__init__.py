"""The table of names: which names are public, where they live, and what other libraries call them.

Operations of the core declare their names in Rust (`_core._registry()`); all other public names are
declared here, and only here. Generated from these tables are the lazy attributes of the package,
its type stubs, the list of tensor methods in `src/bindings/call/python_methods.rs`, the hints for
missing names and tables of the documentation. This file is empty so that a program loads only the
tables that it needs.
"""

"""The table of names: what is public, where it is implemented, and what other libraries call it.

Operations of the core declare their names in Rust (`_core._registry()`); everything else stands
here, and nowhere else. The lazy attributes of the package, its type stub, the methods of tensors in
`src/bindings/package.rs`, hints for names that do not exist and tables of the documentation derive
from these rows. This file is empty so that a program loads only the part that it asks for.
"""

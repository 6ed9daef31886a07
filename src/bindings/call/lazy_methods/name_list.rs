//! Where operations are found in Python: which names the module, its namespaces and the class of tensors have for them.
//!
//! Owns: these lists, and the functions of the namespaces. Never calls an operation.
//! Invariant: of two methods of one name the later counts: what the package has written comes before an operation.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bindings::call::entry;
use crate::bindings::package;
use crate::ops::core::op_decl::OpDecl;
use crate::ops::registry;

/// What makes a method of tensors.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The operation of this number, or the method of it that changes its receiver.
    Operation { index: u16, changes: bool },
    /// The module of the package in this row of its table.
    Package(u16),
}

/// The names of an operation.
fn names(decl: &OpDecl) -> impl Iterator<Item = &'static str> {
    std::iter::once(decl.name).chain(decl.facts.aliases.iter().copied())
}

/// The methods that an operation is, and whether they change their receiver.
fn methods_of(decl: &'static OpDecl) -> impl Iterator<Item = (Cow<'static, str>, bool)> {
    let (top, alone) = (decl.is_top_level(), decl.is_method_only());
    let changes = top && decl.in_place.is_some();
    let others = if changes { decl.facts.in_place_aliases } else { &[] };
    let plain = names(decl).filter(move |_| alone || top && decl.takes_tensor());
    let changing = names(decl).filter(move |_| changes).map(|name| Cow::from(format!("{name}_")));
    others
        .iter()
        .map(|name| (Cow::from(*name), true))
        .chain(plain.map(|name| (name.into(), false)))
        .chain(changing.map(|name| (name, true)))
}

/// The methods of tensors that are made when they are first asked for.
pub(crate) fn methods() -> impl Iterator<Item = (Cow<'static, str>, Source)> {
    let operations = registry().iter().enumerate().flat_map(|(index, decl)| {
        let index = index as u16;
        methods_of(decl).map(move |(name, changes)| (name, Source::Operation { index, changes }))
    });
    let written = (0..).zip(package::METHODS).flat_map(|(row, (_, names))| {
        names.split(' ').map(move |name| (name.into(), Source::Package(row)))
    });
    operations.chain(written)
}

/// The functions of the module that are operations: their numbers and names.
pub(crate) fn functions() -> impl Iterator<Item = (usize, &'static str)> {
    let top = registry().iter().enumerate().filter(|(_, decl)| decl.is_top_level());
    top.flat_map(|(index, decl)| names(decl).map(move |name| (index, name)))
}

/// The function of this name, if an operation has it.
pub(crate) fn function<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = functions().find(|(_, known)| *known == name);
    found.map(|(index, name)| entry::function(module, index, name)).transpose()
}

/// The functions of each namespace, by its name.
pub(crate) fn namespaces<'py>(module: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
    let spaces = PyDict::new(module.py());
    for (index, decl) in registry().iter().enumerate().filter(|(_, decl)| !decl.is_method_only()) {
        for space in decl.facts.namespaces.iter().filter(|space| !space.is_empty()) {
            let members = match spaces.get_item(space)? {
                Some(members) => members.cast_into::<PyDict>()?,
                None => {
                    let fresh = PyDict::new(module.py());
                    spaces.set_item(space, &fresh)?;
                    fresh
                }
            };
            for name in names(decl) {
                members.set_item(name, entry::function(module, index, name)?)?;
            }
        }
    }
    Ok(spaces.into_any())
}

//! The positions of tensors in an argument or a result, found once per call and reused for gradients.
//! A container without tensors is a constant.

use pyo3::prelude::*;

use crate::bindings::pytree::{Container, Node, Structure};

/// What stands at a leaf.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    Constant,
    /// An array argument: a constant for which backward may still return a gradient.
    Array,
    /// The tensor with this number.
    Tensor(u32),
}

/// The positions of tensors in an object.
pub(super) type SlotTree = Structure<Slot>;

/// Finds the tensors of an object: `number` gives the number of a leaf that is one. `op` is for messages.
pub(super) fn find_slots<'py>(
    op: &str,
    ob: &Bound<'py, PyAny>,
    number: &mut dyn FnMut(&Bound<'py, PyAny>) -> Option<PyResult<u32>>,
) -> PyResult<SlotTree> {
    let mut leaf = |ob: &Bound<'py, PyAny>| {
        number(ob).map_or(Ok(Slot::Constant), |number| number.map(Slot::Tensor))
    };
    Structure::flatten(op, ob, &mut leaf).map(prune)
}

/// The tree with a constant for each container without tensors.
fn prune(tree: SlotTree) -> SlotTree {
    match tree {
        Structure::Node(node) => {
            let Node { container, children } = *node;
            let children: Vec<SlotTree> = children.into_iter().map(prune).collect();
            let is_constant = |child: &SlotTree| matches!(child, Structure::Leaf(Slot::Constant));
            match children.iter().all(is_constant) {
                true => Structure::Leaf(Slot::Constant),
                false => Structure::Node(Box::new(Node { container, children })),
            }
        }
        Structure::Empty => Structure::Leaf(Slot::Constant),
        leaf => leaf,
    }
}

/// A list of as many tensors.
pub(super) fn list_of(count: usize) -> SlotTree {
    let children = (0..count as u32).map(|i| Structure::Leaf(Slot::Tensor(i))).collect();
    Structure::Node(Box::new(Node { container: Container::List, children }))
}

/// Rebuilds the object: tensors from `leaf`, constants from `template`, or None.
pub(super) fn rebuild<'py>(
    py: Python<'py>,
    tree: &SlotTree,
    template: Option<&Bound<'py, PyAny>>,
    leaf: &mut dyn FnMut(u32) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    tree.rebuild(py, template, &mut |slot, part| match slot {
        Slot::Tensor(number) => leaf(*number),
        Slot::Constant | Slot::Array => {
            Ok(part.map_or_else(|| py.None().into_bound(py), |part| part.clone()))
        }
    })
}

//! `Structure`: the containers of a nested value, with a payload in the place of each leaf.
//!
//! Invariant: what `rebuild` returns has the classes, keys and order of the value that `flatten` was given.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::bindings::call::sequence::check_depth;
use crate::bindings::pytree::container::{Container, Items};
use crate::bindings::pytree::static_value;

/// The structure of a nested value.
pub(crate) enum Structure<L> {
    Leaf(L),
    /// None, which has no leaves.
    Empty,
    Node(Box<Node<L>>),
}

/// A container and its items.
pub(crate) struct Node<L> {
    pub(crate) container: Container,
    pub(crate) children: Vec<Structure<L>>,
}

impl<L> Structure<L> {
    /// Takes a value apart; `leaf` is called with each leaf and gives its payload. `op` is for messages.
    ///
    /// # Errors
    /// A container that is nested too deep or contains itself; what `leaf` returns.
    pub(crate) fn flatten<'py>(
        op: &str,
        value: &Bound<'py, PyAny>,
        leaf: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<L>,
    ) -> PyResult<Structure<L>> {
        Structure::flatten_at(op, value, 0, leaf)
    }

    fn flatten_at<'py>(
        op: &str,
        value: &Bound<'py, PyAny>,
        depth: usize,
        leaf: &mut impl FnMut(&Bound<'py, PyAny>) -> PyResult<L>,
    ) -> PyResult<Structure<L>> {
        if value.is_none() {
            return Ok(Structure::Empty);
        }
        let Some((container, items)) = Container::open(value)? else {
            return leaf(value).map(Structure::Leaf);
        };
        check_depth(op, value, depth + 1)?;
        let mut children = Vec::with_capacity(items.len());
        for item in &items {
            children.push(Structure::flatten_at(op, item, depth + 1, leaf)?);
        }
        Ok(Structure::Node(Box::new(Node { container, children })))
    }

    /// Makes a value of this structure. `leaf` is given each payload and, where there is a `template` of this
    /// structure, what stands there.
    pub(crate) fn rebuild<'py>(
        &self,
        py: Python<'py>,
        template: Option<&Bound<'py, PyAny>>,
        leaf: &mut impl FnMut(&L, Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Structure::Leaf(payload) => leaf(payload, template),
            Structure::Empty => Ok(py.None().into_bound(py)),
            Structure::Node(node) => {
                let mut items = Items::new();
                for (i, child) in node.children.iter().enumerate() {
                    let part = template.map(|ob| node.container.item(ob, i)).transpose()?;
                    items.push(child.rebuild(py, part.as_ref(), leaf)?);
                }
                node.container.build(py, items)
            }
        }
    }

    /// Whether a value has this structure and `leaf` holds for each leaf; stops at the first difference.
    pub(crate) fn matches<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        leaf: &mut impl FnMut(&L, &Bound<'py, PyAny>) -> bool,
    ) -> bool {
        match self {
            Structure::Leaf(payload) => leaf(payload, value),
            Structure::Empty => value.is_none(),
            Structure::Node(node) => node.matches(value, leaf),
        }
    }

    /// Whether both have the same containers, lengths, keys and static fields.
    pub(crate) fn is_same<M>(&self, py: Python<'_>, other: &Structure<M>) -> bool {
        match (self, other) {
            (Structure::Leaf(_), Structure::Leaf(_)) | (Structure::Empty, Structure::Empty) => true,
            (Structure::Node(a), Structure::Node(b)) => {
                a.children.len() == b.children.len()
                    && a.container.is_same(py, &b.container)
                    && a.children.iter().zip(&b.children).all(|(a, b)| a.is_same(py, b))
            }
            _ => false,
        }
    }

    /// Hashes the structure: equal ones alike.
    pub(crate) fn hash_into(&self, py: Python<'_>, state: &mut impl Hasher) -> PyResult<()> {
        let Structure::Node(node) = self else {
            matches!(self, Structure::Leaf(_)).hash(state);
            return Ok(());
        };
        node.children.len().hash(state);
        node.container.class(py).as_ptr().addr().hash(state);
        if let Container::Dict(keys) = &node.container {
            keys.iter().try_for_each(|key| static_value::hash_into(key.bind(py), state))?;
        }
        node.children.iter().try_for_each(|child| child.hash_into(py, state))
    }

    /// The payloads of the leaves, in order.
    pub(crate) fn for_each_leaf<'a>(&'a self, visit: &mut impl FnMut(&'a L)) {
        match self {
            Structure::Leaf(payload) => visit(payload),
            Structure::Empty => {}
            Structure::Node(node) => {
                node.children.iter().for_each(|child| child.for_each_leaf(visit));
            }
        }
    }

    /// Whether `test` holds for any leaf.
    pub(crate) fn any(&self, test: &impl Fn(&L) -> bool) -> bool {
        match self {
            Structure::Leaf(payload) => test(payload),
            Structure::Empty => false,
            Structure::Node(node) => node.children.iter().any(|child| child.any(test)),
        }
    }

    /// Lets go of the items of the value that it was made from, which some containers are copies of.
    pub(crate) fn remove_items(&mut self, py: Python<'_>) -> PyResult<()> {
        let Structure::Node(node) = self else { return Ok(()) };
        node.container.remove_items(py)?;
        node.children.iter_mut().try_for_each(|child| child.remove_items(py))
    }

    /// Visits the Python objects that the structure owns.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&Py<PyAny>)) {
        if let Structure::Node(node) = self {
            node.container.visit(visit);
            node.children.iter().for_each(|child| child.visit(visit));
        }
    }

    /// Where each leaf is, behind `start`: `['w'][0]`.
    pub(crate) fn paths(
        &self,
        py: Python<'_>,
        start: &str,
        found: &mut Vec<String>,
    ) -> PyResult<()> {
        match self {
            Structure::Leaf(_) => found.push(start.to_owned()),
            Structure::Empty => {}
            Structure::Node(node) => {
                let accessors = node.container.accessors(py, node.children.len())?;
                for (accessor, child) in accessors.iter().zip(&node.children) {
                    child.paths(py, &format!("{start}{accessor}"), found)?;
                }
            }
        }
        Ok(())
    }

    /// The structure as a text: `dict(['w']: *)`.
    pub(crate) fn text(&self, py: Python<'_>) -> PyResult<String> {
        match self {
            Structure::Leaf(_) => Ok("*".into()),
            Structure::Empty => Ok("None".into()),
            Structure::Node(node) => {
                let accessors = node.container.accessors(py, node.children.len())?;
                let items = accessors.iter().zip(&node.children);
                let items = items.map(|(key, child)| Ok(format!("{key}: {}", child.text(py)?)));
                let items = items.collect::<PyResult<Vec<_>>>()?;
                Ok(format!("{}({})", node.container.class(py).name()?, items.join(", ")))
            }
        }
    }
}

impl<L: Clone> Structure<L> {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Structure<L> {
        match self {
            Structure::Leaf(payload) => Structure::Leaf(payload.clone()),
            Structure::Empty => Structure::Empty,
            Structure::Node(node) => Structure::Node(Box::new(Node {
                container: node.container.clone_ref(py),
                children: node.children.iter().map(|child| child.clone_ref(py)).collect(),
            })),
        }
    }
}

impl<L> Node<L> {
    fn matches<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        leaf: &mut impl FnMut(&L, &Bound<'py, PyAny>) -> bool,
    ) -> bool {
        match &self.container {
            Container::Tuple => value.cast_exact::<PyTuple>().is_ok_and(|tuple| {
                tuple.len() == self.children.len()
                    && tuple.iter_borrowed().zip(&self.children).all(|(x, c)| c.matches(&x, leaf))
            }),
            Container::List => value.cast_exact::<PyList>().is_ok_and(|list| {
                list.len() == self.children.len()
                    && list.iter().zip(&self.children).all(|(x, c)| c.matches(&x, leaf))
            }),
            Container::Dict(keys) => value.cast_exact::<PyDict>().is_ok_and(|dict| {
                let same = |a: &Py<PyAny>, b: &Bound<'py, PyAny>| {
                    static_value::is_same(a.bind(b.py()), b).unwrap_or(false)
                };
                dict.len() == keys.len()
                    && dict
                        .iter()
                        .zip(keys.iter().zip(&self.children))
                        .all(|((key, x), (known, c))| same(known, &key) && c.matches(&x, leaf))
            }),
            _ => match Container::open(value) {
                Ok(Some((container, items))) => {
                    items.len() == self.children.len()
                        && self.container.is_same(value.py(), &container)
                        && items.iter().zip(&self.children).all(|(x, c)| c.matches(x, leaf))
                }
                _ => false,
            },
        }
    }

    /// `matches` of the items of a dict in any order.
    pub(crate) fn matches_unordered<'py>(
        &self,
        dict: &Bound<'py, PyDict>,
        leaf: &mut impl FnMut(&L, &Bound<'py, PyAny>) -> bool,
    ) -> bool {
        let Container::Dict(keys) = &self.container else { return false };
        dict.len() == keys.len()
            && keys.iter().zip(&self.children).all(|(key, child)| {
                let item = dict.get_item(key).ok().flatten();
                item.is_some_and(|item| child.matches(&item, leaf))
            })
    }
}

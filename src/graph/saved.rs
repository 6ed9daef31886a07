//! Saved values of a node.
//!
//! They hold payloads (data without an edge), so a node that saves its own output does not count itself.
//! Invariant: an edge is rebuilt only when the pass records (`create_graph`).

use std::borrow::Cow;
use std::sync::Arc;

use super::arena::{Edge, NodeBorrow, NodeRef};
use super::call_site;
use super::forward_ad;
use super::saved_value_hooks::PackedValue;
use super::value::Value;
use crate::error::{CalledAt, Error, Result};

/// Where the gradient of a packed value goes.
pub enum SavedOrigin<V: Value> {
    /// To the node's edge of this input.
    Input(u32),
    /// To the node itself: the value is this output.
    Output(u32),
    /// To another edge, if any.
    Edge(Option<Edge<V>>),
}

/// A saved value that is neither input nor output.
pub struct SavedValue<V: Value> {
    /// The data.
    pub payload: V::Payload,
    /// Where its gradient goes.
    pub edge: Option<Edge<V>>,
}

/// A saved value packed by saved-value hooks.
pub struct Packed<V: Value> {
    /// The packed form.
    pub packed: Arc<dyn PackedValue<V>>,
    /// Where its gradient goes.
    pub origin: SavedOrigin<V>,
}

/// One saved entry of a node.
pub enum Saved<V: Value> {
    /// An input of the node: its edge is the node's edge `input`.
    Input {
        /// The data.
        payload: V::Payload,
        /// Which input.
        input: u32,
    },
    /// Any other value, with its edge. Boxed, because it is rare and an entry is as large as its largest variant.
    Value(Box<SavedValue<V>>),
    /// An output of the node itself: its edge is rebuilt from the running node.
    Output {
        /// The data.
        payload: V::Payload,
        /// Which output.
        index: u32,
    },
    /// A number.
    Scalar(f64),
    /// A value packed by saved-value hooks.
    Packed(Box<Packed<V>>),
    /// Nothing; keeps the positions of the other entries.
    None,
}

impl<V: Value> Saved<V> {
    /// Saves a value that is neither input nor output, with its edge.
    pub fn value(value: &V) -> Saved<V> {
        Saved::Value(Box::new(SavedValue { payload: value.pack(), edge: value.edge() }))
    }

    /// Saves input number `input` of the node.
    #[inline(always)]
    pub fn input(value: &V, input: u32) -> Saved<V> {
        Saved::Input { payload: value.pack(), input }
    }

    /// Saves output number `index` of the node.
    #[inline]
    pub fn output(value: &V, index: u32) -> Saved<V> {
        Saved::Output { payload: value.pack(), index }
    }

    /// Fails if the value may not be saved.
    #[inline]
    pub(super) fn admit(&self, op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        self.payload().map_or(Ok(()), |payload| V::admit(payload, op))
    }

    /// The data, if the entry is an unpacked value.
    #[inline(always)]
    pub fn payload(&self) -> Option<&V::Payload> {
        match self {
            Saved::Input { payload, .. } | Saved::Output { payload, .. } => Some(payload),
            Saved::Value(value) => Some(&value.payload),
            Saved::Scalar(_) | Saved::Packed(_) | Saved::None => None,
        }
    }

    /// Where the gradient of the value goes, if the entry is a value.
    pub fn origin(&self) -> Option<SavedOrigin<V>> {
        Some(match self {
            Saved::Input { input, .. } => SavedOrigin::Input(*input),
            Saved::Output { index, .. } => SavedOrigin::Output(*index),
            Saved::Value(value) => SavedOrigin::Edge(value.edge.clone()),
            Saved::Packed(packed) => match &packed.origin {
                SavedOrigin::Input(input) => SavedOrigin::Input(*input),
                SavedOrigin::Output(index) => SavedOrigin::Output(*index),
                SavedOrigin::Edge(edge) => SavedOrigin::Edge(edge.clone()),
            },
            Saved::Scalar(_) | Saved::None => return None,
        })
    }

    /// How many bytes the entry keeps alive.
    pub fn bytes(&self) -> usize {
        self.payload().map_or(0, V::bytes)
    }

    /// The value, to be restored outside the node; `None` if the entry is not a value.
    pub fn to_ref(&self, node: &NodeRef<V>) -> Option<SavedRef<V>> {
        let data = match self {
            Saved::Packed(packed) => RefData::Packed(Arc::clone(&packed.packed)),
            plain => RefData::Plain(plain.payload()?.clone()),
        };
        Some(SavedRef { data, edge: self.edge(Some(node.borrow())) })
    }

    /// Restores a value that was saved outside a node, with its edge.
    pub fn restore(&self, op: &str) -> Result<V> {
        self.rebuild(self.edge(None), op)
    }

    /// The edge of the value.
    #[inline]
    fn edge(&self, node: Option<NodeBorrow<'_, V>>) -> Option<Edge<V>> {
        let input = |i: u32| node?.get().edges().get(i as usize).cloned().flatten();
        let output = |k: u32| node.map(|node| Edge::new(node.to_ref(), k));
        match self {
            Saved::Input { input: i, .. } => input(*i),
            Saved::Output { index: k, .. } => output(*k),
            Saved::Value(value) => value.edge.clone(),
            Saved::Packed(packed) => match &packed.origin {
                SavedOrigin::Input(i) => input(*i),
                SavedOrigin::Output(k) => output(*k),
                SavedOrigin::Edge(edge) => edge.clone(),
            },
            Saved::Scalar(_) | Saved::None => None,
        }
    }

    #[inline]
    fn rebuild(&self, edge: Option<Edge<V>>, op: &str) -> Result<V> {
        if let Saved::Packed(packed) = self {
            return packed.packed.unpack(edge, op);
        }
        match self.payload() {
            Some(payload) => V::unpack(payload.clone(), edge, op),
            None => {
                let what = "a saved entry holds no value".into();
                Err(Error::Internal { op: op.to_owned().into(), what }.into())
            }
        }
    }

    /// Restores the value with its edge below a level of forward mode; `outputs` are the edges of the node's outputs there.
    pub(super) fn unpack_below(
        &self,
        node: NodeBorrow<'_, V>,
        level: u64,
        outputs: &[Option<Edge<V>>],
    ) -> Result<V> {
        let edge = match self.output_index() {
            Some(k) => outputs.get(k as usize).cloned().flatten(),
            None => forward_ad::edge_below(self.edge(Some(node)), level),
        };
        self.rebuild(edge, &node.get().rule().name())
    }

    /// Which output of the node the value is, if it is one.
    fn output_index(&self) -> Option<u32> {
        match self.origin()? {
            SavedOrigin::Output(k) => Some(k),
            _ => None,
        }
    }

    /// Restores the value, with its edge if the pass records.
    #[inline]
    pub(super) fn unpack(&self, node: NodeBorrow<'_, V>, record: bool) -> Result<V> {
        let edge = match self {
            _ if !record => None,
            // The values that the outputs have are those with the tangents, if any.
            Saved::Output { index, .. } => {
                let top = forward_ad::dual_over(node.get()).unwrap_or_else(|| node.to_ref());
                forward_ad::without_ended(Some(Edge::new(top, *index)))
            }
            _ => forward_ad::without_ended(self.edge(Some(node))),
        };
        let restored = self.rebuild(edge, &node.get().rule().name());
        restored.map_err(|error| with_save_site(node, error))
    }
}

enum RefData<V: Value> {
    Plain(V::Payload),
    Packed(Arc<dyn PackedValue<V>>),
}

/// A saved value taken out of its node.
pub struct SavedRef<V: Value> {
    data: RefData<V>,
    edge: Option<Edge<V>>,
}

impl<V: Value> SavedRef<V> {
    /// Restores the value that `op` saved.
    #[inline]
    pub fn restore(self, op: &str) -> Result<V> {
        match self.data {
            RefData::Plain(payload) => V::unpack(payload, self.edge, op),
            RefData::Packed(packed) => packed.unpack(self.edge, op),
        }
    }
}

/// Adds the call site of the operation that saved the value to a `Modified` error, if it is known.
#[cold]
fn with_save_site<V: Value>(node: NodeBorrow<'_, V>, mut error: Box<Error>) -> Box<Error> {
    if let Error::Modified { saved_at, .. } = &mut *error
        && let Some(site) = node.get().attachments().and_then(|attachments| attachments.call_site())
    {
        *saved_at = CalledAt(Some(call_site::innermost_line(&site).to_owned()));
    }
    error
}

//! What a node keeps from the forward computation.
//!
//! Owns payloads, never values: a payload carries no edge, so a node that saves its own output does not count itself.
//! Invariant: an edge is rebuilt only when the pass records (`create_graph`).

use std::sync::Arc;

use super::arena::{Edge, NodeBorrow};
use super::value::Value;
use crate::error::{Error, Result};

/// A saved value that the user's hooks packed.
pub trait PackedValue<V: Value>: Send + Sync {
    /// Rebuilds the value.
    fn unpack(&self, edge: Option<Edge<V>>, op: &str) -> Result<V>;
}

/// One entry of a node's saved state.
pub enum Saved<V: Value> {
    /// An input of the node: its edge is the node's own edge `input`.
    Input {
        /// The data.
        payload: V::Payload,
        /// Which input.
        input: u32,
    },
    /// Any other value, with its edge.
    Value {
        /// The data.
        payload: V::Payload,
        /// Where its gradient goes.
        edge: Option<Edge<V>>,
    },
    /// An output of the node itself: its edge is rebuilt from the running node.
    Output {
        /// The data.
        payload: V::Payload,
        /// Which output.
        index: u32,
    },
    /// A number.
    Scalar(f64),
    /// A value packed by saved-value hooks, with its edge.
    Packed {
        /// The packed form.
        packed: Arc<dyn PackedValue<V>>,
        /// Where its gradient goes.
        edge: Option<Edge<V>>,
    },
    /// Nothing: keeps the positions of the others.
    None,
}

impl<V: Value> Saved<V> {
    /// Saves a value that is neither input nor output, with its edge.
    pub fn value(value: &V) -> Saved<V> {
        Saved::Value { payload: value.pack(), edge: value.edge() }
    }

    /// Saves input number `input` of the node.
    #[inline]
    pub fn input(value: &V, input: u32) -> Saved<V> {
        Saved::Input { payload: value.pack(), input }
    }

    /// Saves output number `index` of the node.
    #[inline]
    pub fn output(value: &V, index: u32) -> Saved<V> {
        Saved::Output { payload: value.pack(), index }
    }

    /// How many bytes the entry keeps alive.
    pub fn bytes(&self) -> usize {
        match self {
            Saved::Input { payload, .. }
            | Saved::Value { payload, .. }
            | Saved::Output { payload, .. } => V::bytes(payload),
            Saved::Scalar(_) | Saved::Packed { .. } | Saved::None => 0,
        }
    }

    /// Rebuilds the value; its edge only if the pass records.
    #[inline]
    pub(super) fn unpack(&self, node: NodeBorrow<'_, V>, record: bool) -> Result<V> {
        let name = node.get().rule().name();
        match self {
            Saved::Input { payload, input } => {
                let edge = if record {
                    node.get().edges().get(*input as usize).cloned().flatten()
                } else {
                    None
                };
                V::unpack(payload.clone(), edge, &name)
            }
            Saved::Output { payload, index } => {
                let edge = record.then(|| Edge::new(node.to_ref(), *index));
                V::unpack(payload.clone(), edge, &name)
            }
            Saved::Value { payload, edge } => {
                V::unpack(payload.clone(), if record { edge.clone() } else { None }, &name)
            }
            Saved::Packed { packed, edge } => {
                packed.unpack(if record { edge.clone() } else { None }, &name)
            }
            Saved::Scalar(_) | Saved::None => {
                Err(Error::Internal { op: name, what: "a saved entry holds no value".into() }
                    .into())
            }
        }
    }
}

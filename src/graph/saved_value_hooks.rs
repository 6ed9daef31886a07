//! Saved-value hooks: what is about to be saved is packed, and rebuilt when a derivative asks for it.
//!
//! Owns the traits and the packing of one node's entries. Never decides what is packed how: the value type does.
//! Invariant: packing runs with recording and packing off, and an operation whose values cannot be packed fails.

use std::sync::Arc;

use super::SavedValues;
use super::arena::Edge;
use super::hook::Foreign;
use super::mode::{GRAD, Mode, ModeGuard, PACKING, TRACING};
use super::saved::{Origin, Packed, Saved};
use super::value::Value;
use crate::error::Result;

/// What packs the values that operations save.
pub trait Pack<V: Value>: Send + Sync {
    /// Packs a value that `op` saves; it comes without its edge.
    fn pack(&self, value: V, op: &str) -> Result<Arc<dyn PackedValue<V>>>;
}

/// A packed saved value.
pub trait PackedValue<V: Value>: Send + Sync {
    /// Rebuilds the value, in the place of the graph that `edge` gives it.
    fn unpack(&self, edge: Option<Edge<V>>, op: &str) -> Result<V>;

    /// Host-language objects that the packed form owns.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// Packs the entries of a node that is about to be recorded; says whether host objects are among them.
#[cold]
pub(super) fn pack<V: Value>(op: &str, saved: &mut SavedValues<V>) -> Result<bool> {
    let Some(packer) = V::packer() else {
        return Ok(false);
    };
    let _off = ModeGuard::new(Mode::current().with(GRAD | PACKING | TRACING, false));
    let mut foreign = false;
    for entry in saved.iter_mut() {
        let (payload, origin) = match std::mem::replace(entry, Saved::None) {
            Saved::Input { payload, input } => (payload, Origin::Input(input)),
            Saved::Output { payload, index } => (payload, Origin::Output(index)),
            Saved::Value(value) => (value.payload, Origin::Edge(value.edge)),
            other => {
                *entry = other;
                continue;
            }
        };
        let packed = packer.pack(V::unpack(payload, None, op)?, op)?;
        foreign |= packed.foreign().is_some();
        *entry = Saved::Packed(Box::new(Packed { packed, origin }));
    }
    Ok(foreign)
}

impl<V: Value> Saved<V> {
    /// Saves a value outside a node, packed if this thread packs.
    ///
    /// # Errors
    /// `Inference` for a value that may not be saved; whatever the packer reports.
    pub fn outside(value: &V, op: &str) -> Result<Saved<V>> {
        let mut saved: SavedValues<V> = SavedValues::new();
        saved.push(Saved::value(value));
        saved[0].admit(|| op.to_owned().into())?;
        if Mode::current().has(PACKING) {
            pack(op, &mut saved)?;
        }
        Ok(saved.pop().unwrap_or(Saved::None))
    }
}

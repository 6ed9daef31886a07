//! Saved-value hooks: values are packed when saved and unpacked when a derivative needs them.
//!
//! Invariant: packing runs with recording and packing off; if it fails, the operation fails.

use std::sync::Arc;

use super::SavedValues;
use super::arena::Edge;
use super::hook::HostObjects;
use super::mode::{GRAD, Mode, ModeGuard, PACKING, TRACING};
use super::saved::{Packed, Saved, SavedOrigin};
use super::value::Value;
use crate::error::Result;

/// Packs the values that operations save.
pub trait Pack<V: Value>: Send + Sync {
    /// Packs a value, without its edge, that `op` saves.
    fn pack(&self, value: V, op: &str) -> Result<Arc<dyn PackedValue<V>>>;
}

/// A packed saved value.
pub trait PackedValue<V: Value>: Send + Sync {
    /// Restores the value with this edge.
    fn unpack(&self, edge: Option<Edge<V>>, op: &str) -> Result<V>;

    /// The host objects of the packed form.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// Packs the entries of a node that is about to be recorded; returns whether they have host objects.
#[cold]
pub(super) fn pack<V: Value>(op: &str, saved: &mut SavedValues<V>) -> Result<bool> {
    let Some(packer) = V::packer() else {
        return Ok(false);
    };
    let _off = ModeGuard::new(Mode::current().with(GRAD | PACKING | TRACING, false));
    let mut has_host_objects = false;
    for entry in saved.iter_mut() {
        let (payload, origin) = match std::mem::replace(entry, Saved::None) {
            Saved::Input { payload, input } => (payload, SavedOrigin::Input(input)),
            Saved::Output { payload, index } => (payload, SavedOrigin::Output(index)),
            Saved::Value(value) => (value.payload, SavedOrigin::Edge(value.edge)),
            other => {
                *entry = other;
                continue;
            }
        };
        let packed = packer.pack(V::unpack(payload, None, op)?, op)?;
        has_host_objects |= packed.host_objects().is_some();
        *entry = Saved::Packed(Box::new(Packed { packed, origin }));
    }
    Ok(has_host_objects)
}

impl<V: Value> Saved<V> {
    /// Saves a value outside a node; packed if this thread packs.
    ///
    /// # Errors
    /// `Inference` for a value that may not be saved; whatever the packer reports.
    pub fn without_node(value: &V, op: &str) -> Result<Saved<V>> {
        let mut saved: SavedValues<V> = SavedValues::new();
        saved.push(Saved::value(value));
        saved[0].admit(|| op.to_owned().into())?;
        if Mode::current().has(PACKING) {
            pack(op, &mut saved)?;
        }
        Ok(saved.pop().unwrap_or(Saved::None))
    }
}

//! Saved-value hooks: what is about to be saved is packed, and rebuilt when a derivative asks for it.
//!
//! Owns the traits, the packing of one node's entries, and a failure of this thread's packing until the operation that
//! saved can report it (recording itself cannot fail). Never decides what is packed how: the value type does.
//! Invariant: packing runs with recording and packing off.

use std::cell::RefCell;
use std::sync::Arc;

use super::SavedValues;
use super::arena::Edge;
use super::hook::Foreign;
use super::mode::{GRAD, Mode, ModeGuard, PACKING, TRACING};
use super::saved::{Origin, Saved};
use super::value::Value;
use crate::error::{Error, Result};

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

thread_local! {
    static FAILURE: RefCell<Option<Box<Error>>> = const { RefCell::new(None) };
}

/// The failure of packing since the last call, on this thread.
pub fn take_packing_failure() -> Option<Box<Error>> {
    FAILURE.take()
}

/// Packs the entries of a node that is about to be recorded; says whether host objects are among them.
///
/// After a failure the entries stay empty: the operation that records will report it, and its node is dropped.
#[cold]
pub(super) fn pack<V: Value>(op: &str, saved: &mut SavedValues<V>) -> bool {
    let Some(packer) = V::packer() else {
        return false;
    };
    let _off = ModeGuard::new(Mode::current().with(GRAD | PACKING | TRACING, false));
    let mut foreign = false;
    for entry in saved.iter_mut() {
        if FAILURE.with_borrow(Option::is_some) {
            *entry = Saved::None;
            continue;
        }
        let (payload, origin) = match std::mem::replace(entry, Saved::None) {
            Saved::Input { payload, input } => (payload, Origin::Input(input)),
            Saved::Output { payload, index } => (payload, Origin::Output(index)),
            Saved::Value { payload, edge } => (payload, Origin::Edge(edge)),
            other => {
                *entry = other;
                continue;
            }
        };
        match V::unpack(payload, None, op).and_then(|value| packer.pack(value, op)) {
            Ok(packed) => {
                foreign |= packed.foreign().is_some();
                *entry = Saved::Packed { packed, origin };
            }
            Err(error) => drop(FAILURE.replace(Some(error))),
        }
    }
    foreign
}

impl<V: Value> Saved<V> {
    /// Saves a value outside a node, packed if this thread packs.
    pub fn kept(value: &V, op: &str) -> Result<Saved<V>> {
        let mut saved: SavedValues<V> = SavedValues::new();
        saved.push(Saved::value(value));
        if Mode::current().has(PACKING) {
            pack(op, &mut saved);
        }
        match take_packing_failure() {
            Some(error) => Err(error),
            None => Ok(saved.pop().unwrap_or(Saved::None)),
        }
    }
}

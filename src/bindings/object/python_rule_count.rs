//! How many rules hold Python objects.
//!
//! Owns: the number. Never looks at a rule. Invariant: a rule that holds objects holds one `Counted`, so at zero the
//! collector need not walk a graph.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::threads::fetch_add_alone;

/// How many rules with Python objects live; at zero no walk starts.
static LIVE: AtomicU64 = AtomicU64::new(0);

/// Counts its owner as a rule that holds Python objects.
pub(crate) struct Counted(());

impl Counted {
    pub(crate) fn new() -> Counted {
        fetch_add_alone(&LIVE, 1, Ordering::Relaxed);
        Counted(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        fetch_add_alone(&LIVE, 1u64.wrapping_neg(), Ordering::Relaxed);
    }
}

/// Whether any lives.
pub(crate) fn any() -> bool {
    LIVE.load(Ordering::Relaxed) != 0
}

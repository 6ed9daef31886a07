//! How many rules hold Python objects.
//!
//! Owns: the number. Never looks at a rule. Invariant: a rule that holds objects holds one `Counted`, so at zero the
//! collector need not walk a graph.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many rules with Python objects live; at zero no walk starts.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts its owner as a rule that holds Python objects.
pub(crate) struct Counted(());

impl Counted {
    pub(crate) fn new() -> Counted {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Counted(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether any lives.
pub(crate) fn any() -> bool {
    LIVE.load(Ordering::Relaxed) != 0
}

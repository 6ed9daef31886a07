//! The number of live rules that own Python objects. At zero the garbage collector need not traverse graphs.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::threads::fetch_add_alone;

static LIVE: AtomicU64 = AtomicU64::new(0);

/// Counts its owner as a rule that owns Python objects.
pub(crate) struct PythonRuleCount(());

impl PythonRuleCount {
    pub(crate) fn new() -> PythonRuleCount {
        fetch_add_alone(&LIVE, 1, Ordering::Relaxed);
        PythonRuleCount(())
    }
}

impl Drop for PythonRuleCount {
    fn drop(&mut self) {
        fetch_add_alone(&LIVE, 1u64.wrapping_neg(), Ordering::Relaxed);
    }
}

/// Whether there are any.
pub(crate) fn any_python_rules() -> bool {
    LIVE.load(Ordering::Relaxed) != 0
}

//! Call sites: where the program called the operation of a node, for error messages, if a mode asks for it.
//!
//! The host is asked on a thread that it called; a worker of a pass uses the site that was set for it.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use super::arena::NodeRef;
use super::mode::{ANOMALY, Mode, SITES};
use super::node::{Flags, Node};
use super::value::Value;

/// The host language's call stack.
pub trait Caller: Send + Sync {
    /// One line per call of the user's program, the innermost last; only the innermost unless `whole`.
    fn here(&self, whole: bool) -> Option<Arc<str>>;
}

static CALLER: OnceLock<&'static dyn Caller> = OnceLock::new();

thread_local! {
    static SITE: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Sets the host's call stack; the first one stays.
pub fn set_caller(caller: &'static dyn Caller) {
    let _ = CALLER.set(caller);
}

/// Whether the mode asks for call sites.
#[inline]
pub(super) fn watched(mode: Mode) -> bool {
    mode.0 & (ANOMALY | SITES) != 0
}

/// The current call site, if the mode asks for it and it is known.
#[inline]
pub fn here() -> Option<Arc<str>> {
    let mode = Mode::current();
    if watched(mode) { ask(mode) } else { None }
}

#[cold]
fn ask(mode: Mode) -> Option<Arc<str>> {
    let set = SITE.try_with(|current| current.borrow().clone()).ok().flatten();
    set.or_else(|| CALLER.get()?.here(mode.has(ANOMALY)))
}

/// The innermost line of a call site.
pub fn latest(site: &str) -> &str {
    site.lines().next_back().unwrap_or(site)
}

/// Notes the call site of a new node; in any case, creates its attachments, for later notes.
#[cold]
pub(super) fn remember<V: Value>(node: &NodeRef<V>) {
    if node.flags().has(Flags::ACCUMULATOR) {
        return;
    }
    let extras = node.extras_or_new();
    if let Some(site) = here() {
        extras.set_call_site(site);
    }
}

/// Restores the previous site when dropped.
pub(super) struct SiteGuard(Option<Arc<str>>);

impl Drop for SiteGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ended = SITE.try_with(|current| current.replace(before));
    }
}

/// Sets the site of what this thread records while the guard lives; `None` changes nothing.
pub(super) fn set_site(site: Option<Arc<str>>) -> SiteGuard {
    let before = SITE.try_with(|current| current.borrow().clone()).ok().flatten();
    if site.is_some() {
        let _same = SITE.try_with(|current| current.replace(site));
    }
    SiteGuard(before)
}

/// The call site for nodes recorded by the derivative of `node`.
pub(super) fn of_backward<V: Value>(node: &Node<V>) -> Option<Arc<str>> {
    let site = node.extras()?.call_site()?;
    Some(format!("{site}, in the backward of \"{}\"", node.name()).into())
}

//! Call sites: where the program called the operation of a node, for error messages, if a mode asks for it.
//!
//! The host is asked on a thread that it called; a worker of a pass uses the site that was set for it.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use super::arena::NodeRef;
use super::mode::{ANOMALY, CALL_SITES, Mode};
use super::node::{Flags, Node};
use super::value::Value;

/// The host language's call stack.
pub trait CallStack: Send + Sync {
    /// One line per call of the user's program, the innermost last; only the innermost unless `whole`.
    fn here(&self, whole: bool) -> Option<Arc<str>>;
}

static CALL_STACK: OnceLock<&'static dyn CallStack> = OnceLock::new();

thread_local! {
    static CURRENT_SITE: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Sets the host's call stack; the first one stays.
pub fn set_call_stack(stack: &'static dyn CallStack) {
    let _ = CALL_STACK.set(stack);
}

/// Whether the mode asks for call sites.
#[inline]
pub(super) fn wants_call_site(mode: Mode) -> bool {
    mode.0 & (ANOMALY | CALL_SITES) != 0
}

/// The current call site, if the mode asks for it and it is known.
#[inline]
pub fn current_call_site() -> Option<Arc<str>> {
    let mode = Mode::current();
    if wants_call_site(mode) { query(mode) } else { None }
}

#[cold]
fn query(mode: Mode) -> Option<Arc<str>> {
    let set = CURRENT_SITE.try_with(|current| current.borrow().clone()).ok().flatten();
    set.or_else(|| CALL_STACK.get()?.here(mode.has(ANOMALY)))
}

/// The innermost line of a call site.
pub fn innermost_line(site: &str) -> &str {
    site.lines().next_back().unwrap_or(site)
}

/// Notes the call site of a new node; in any case, creates its attachments, for later notes.
#[cold]
pub(super) fn note_call_site<V: Value>(node: &NodeRef<V>) {
    if node.flags().has(Flags::ACCUMULATOR) {
        return;
    }
    let attachments = node.attachments_or_new();
    if let Some(site) = current_call_site() {
        attachments.set_call_site(site);
    }
}

/// Restores the previous site when dropped.
pub(super) struct SiteGuard(Option<Arc<str>>);

impl Drop for SiteGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ended = CURRENT_SITE.try_with(|current| current.replace(before));
    }
}

/// Sets the site of what this thread records while the guard lives; `None` changes nothing.
pub(super) fn set_site(site: Option<Arc<str>>) -> SiteGuard {
    let before = CURRENT_SITE.try_with(|current| current.borrow().clone()).ok().flatten();
    if site.is_some() {
        let _same = CURRENT_SITE.try_with(|current| current.replace(site));
    }
    SiteGuard(before)
}

/// The call site for nodes recorded by the derivative of `node`.
pub(super) fn of_backward<V: Value>(node: &Node<V>) -> Option<Arc<str>> {
    let site = node.attachments()?.call_site()?;
    Some(format!("{site}, in the backward of \"{}\"", node.name()).into())
}

//! Where the program called what a node records: for messages, and only when a mode asks for it.
//!
//! Owns the host's way to say where it is, and the site under which a running derivative records.
//! Never formats anything while the modes are off.
//! Invariant: the host is asked only on a thread that it called; a lane of a pass finds the site that was set for it.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use super::arena::NodeRef;
use super::mode::{ANOMALY, Mode, SITES};
use super::node::{Flags, Node};
use super::value::Value;

/// The host language's view of the current call.
pub trait Caller: Send + Sync {
    /// One line for each call of the user's program, the latest last; only that one unless `whole`.
    fn here(&self, whole: bool) -> Option<Arc<str>>;
}

static CALLER: OnceLock<&'static dyn Caller> = OnceLock::new();

thread_local! {
    static SITE: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Names the host of this process; the first one stays.
pub fn set_caller(caller: &'static dyn Caller) {
    let _ = CALLER.set(caller);
}

/// Whether this thread remembers call sites.
#[inline]
pub(super) fn watched(mode: Mode) -> bool {
    mode.0 & (ANOMALY | SITES) != 0
}

/// The site of the current call, if the mode asks for it and it is known.
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

/// The line of a site that stands closest to the operation.
pub fn latest(site: &str) -> &str {
    site.lines().next_back().unwrap_or(site)
}

/// Gives a new node its site, and in any case the place where more can be noted about it.
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

/// Puts the site before back when dropped.
pub(super) struct SiteGuard(Option<Arc<str>>);

impl Drop for SiteGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ended = SITE.try_with(|current| current.replace(before));
    }
}

/// Until the guard is dropped, what this thread records was called at `site`; `None` changes nothing.
pub(super) fn set_site(site: Option<Arc<str>>) -> SiteGuard {
    let before = SITE.try_with(|current| current.borrow().clone()).ok().flatten();
    if site.is_some() {
        let _same = SITE.try_with(|current| current.replace(site));
    }
    SiteGuard(before)
}

/// The site of what the derivative of `node` records.
pub(super) fn of_backward<V: Value>(node: &Node<V>) -> Option<Arc<str>> {
    let site = node.extras()?.call_site()?;
    Some(format!("{site}, in the backward of \"{}\"", node.name()).into())
}

//! Where the program called what a node records: for messages, and only when a mode asks for it.
//!
//! Owns the host's way to say where it is, and the site that a running derivative lends to what it records.
//! Never formats anything while the modes are off.
//! Invariant: the host is asked only on a thread that it called; a lane of a pass finds a site lent to it.

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
    static LENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
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
    let lent = LENT.try_with(|lent| lent.borrow().clone()).ok().flatten();
    lent.or_else(|| CALLER.get()?.here(mode.has(ANOMALY)))
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

/// Ends a loan.
pub(super) struct Lent(Option<Arc<str>>);

impl Drop for Lent {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ended = LENT.try_with(|lent| lent.replace(before));
    }
}

/// Until the guard is dropped, what this thread records was called at `site`; `None` changes nothing.
pub(super) fn lend(site: Option<Arc<str>>) -> Lent {
    let before = LENT.try_with(|lent| lent.borrow().clone()).ok().flatten();
    if site.is_some() {
        let _same = LENT.try_with(|lent| lent.replace(site));
    }
    Lent(before)
}

/// The site of what the derivative of `node` records.
pub(super) fn of_backward<V: Value>(node: &Node<V>) -> Option<Arc<str>> {
    let site = node.extras()?.call_site()?;
    Some(format!("{site}, in the backward of \"{}\"", node.name()).into())
}

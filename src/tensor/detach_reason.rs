//! Why a tensor has no history although its inputs had one, for `explain_no_grad`.
//!
//! A byte in every handle: the reason, and optionally the index of a call site.
//! Invariant: unrecorded results inherit the reason of their operands; zero means unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::graph::{self, FORWARD, GRAD, INFERENCE, Mode};
use crate::tensor::Tensor;
use crate::threads::Mutex;

/// The reason why a tensor is not in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DetachReason {
    /// `detach()`, or `.data`.
    Detach,
    /// An operation with recording off.
    NoGrad,
    /// An operation in inference mode.
    Inference,
    /// An operation whose result has no derivative: integers, booleans, steps.
    NotDifferentiable,
    /// The values went through an array's memory.
    Array,
    /// `tensor(t)`, which copies values only.
    Copy,
    /// Inside the forward of a custom function, and not one of its differentiable results.
    Forward,
    /// A backward without `create_graph`.
    Backward,
}

impl DetachReason {
    /// What happened, and the remedy.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            DetachReason::Detach => (
                "detach() (or .data) cut it from the graph",
                "leave detach() out where a gradient is meant",
            ),
            DetachReason::NoGrad => (
                "it was computed with recording off: inside no_grad() or set_grad_enabled(False)",
                "compute it outside, or inside enable_grad()",
            ),
            DetachReason::Inference => {
                ("it was computed inside inference_mode()", "compute it outside")
            }
            DetachReason::NotDifferentiable => (
                "an operation without a derivative made it: a cast to integers or booleans, a comparison, an index \
                 such as argmax, or a step such as floor or sign",
                "use a differentiable operation instead",
            ),
            DetachReason::Array => (
                "its values went through a NumPy array (numpy() or np.asarray), which has no history",
                "keep the tensor: NumPy's functions take it and record",
            ),
            DetachReason::Copy => {
                ("fg.tensor(t) copied the values of a tensor, not its history", "use t.clone()")
            }
            DetachReason::Forward => (
                "the forward of a custom function computed it, and it is not a differentiable result of that function",
                "return it from forward, or leave mark_non_differentiable out",
            ),
            DetachReason::Backward => (
                "it is a gradient, and the backward that computed it was not recorded",
                "pass create_graph=True to backward or grad",
            ),
        }
    }
}

/// By number, from 1.
const CAUSES: [DetachReason; 8] = [
    DetachReason::Detach,
    DetachReason::NoGrad,
    DetachReason::Inference,
    DetachReason::NotDifferentiable,
    DetachReason::Array,
    DetachReason::Copy,
    DetachReason::Forward,
    DetachReason::Backward,
];
/// Numbers from here on are indices of (cause, call site) pairs.
const FIRST_SITE: u8 = 16;
/// The most call sites that are kept: a byte keeps tensors small enough to be moved without a call of memcpy.
const MAX_SITES: usize = (u8::MAX - FIRST_SITE) as usize;

static CALL_SITES: Mutex<Vec<(u8, Arc<str>)>> = Mutex::new(Vec::new());

/// The reason of a handle, as an atomic byte.
#[derive(Default)]
pub(crate) struct AtomicDetachReason(AtomicU8);

impl Clone for AtomicDetachReason {
    #[inline]
    fn clone(&self) -> AtomicDetachReason {
        AtomicDetachReason(AtomicU8::new(self.get()))
    }
}

impl AtomicDetachReason {
    /// No known reason.
    #[inline]
    pub(crate) const fn unknown() -> AtomicDetachReason {
        AtomicDetachReason(AtomicU8::new(0))
    }

    /// Whether the reason is unknown.
    #[inline(always)]
    pub(super) fn is_unknown(&self) -> bool {
        self.get() == 0
    }

    #[inline]
    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// The reason for a result that was not recorded.
    #[inline]
    pub(super) fn of<'a>(
        inputs: impl Iterator<Item = &'a Tensor>,
        mode: Mode,
    ) -> AtomicDetachReason {
        let mut inherited = 0;
        for input in inputs {
            if input.requires_grad() {
                return AtomicDetachReason::here(if mode.has(FORWARD) {
                    DetachReason::Forward
                } else if mode.has(INFERENCE) {
                    DetachReason::Inference
                } else if !mode.has(GRAD) {
                    DetachReason::NoGrad
                } else {
                    DetachReason::NotDifferentiable
                });
            }
            if inherited == 0 {
                inherited = input.detach_reason.get();
            }
        }
        AtomicDetachReason(AtomicU8::new(inherited))
    }

    /// A reason that arises here, with the call site if a mode asks for it.
    #[inline]
    pub(crate) fn here(cause: DetachReason) -> AtomicDetachReason {
        let number = cause as u8 + 1;
        match graph::current_call_site() {
            None => AtomicDetachReason(AtomicU8::new(number)),
            Some(site) => AtomicDetachReason(AtomicU8::new(with_site(number, site))),
        }
    }

    #[inline]
    pub(crate) fn set(&self, other: &AtomicDetachReason) {
        self.0.store(other.get(), Ordering::Relaxed);
    }

    /// The cause and the call site, if it was noted.
    pub(crate) fn cause(&self) -> Option<(DetachReason, Option<Arc<str>>)> {
        let number = self.get();
        let (number, site) = match number.checked_sub(FIRST_SITE) {
            None => (number, None),
            Some(i) => {
                let sites = CALL_SITES.lock();
                let (number, site) = sites.get(i as usize)?;
                (*number, Some(Arc::clone(site)))
            }
        };
        let cause = CAUSES.get(usize::from(number).checked_sub(1)?)?;
        Some((*cause, site))
    }
}

#[cold]
fn with_site(number: u8, site: Arc<str>) -> u8 {
    let mut sites = CALL_SITES.lock();
    let known = sites.iter().position(|(n, s)| *n == number && *s == site);
    let index = match known {
        Some(index) => index,
        None if sites.len() >= MAX_SITES => return number,
        None => {
            sites.push((number, site));
            sites.len() - 1
        }
    };
    FIRST_SITE + index as u8
}

impl Tensor {
    /// The reason for tensors that get these values through `cause`.
    pub(crate) fn cause_through(&self, cause: DetachReason) -> AtomicDetachReason {
        if self.requires_grad() {
            AtomicDetachReason::here(cause)
        } else {
            self.detach_reason.clone()
        }
    }

    /// Sets the reason why this tensor has no history.
    pub(crate) fn set_cause(&self, cause: &AtomicDetachReason) {
        self.detach_reason.set(cause);
    }

    /// This tensor, with `cause` as the reason if `from` would have given it a history.
    #[inline]
    pub(crate) fn cut_from(self, from: &Tensor, cause: DetachReason) -> Tensor {
        self.set_cause(&from.cause_through(cause));
        self
    }

    /// What cut this tensor from the graph, and the call site, if known.
    pub fn cut_cause_and_site(&self) -> Option<(DetachReason, Option<Arc<str>>)> {
        self.detach_reason.cause()
    }

    /// `cut_cause_and_site` as text: what cut it, where, and the remedy.
    pub fn cut_message(&self) -> Option<String> {
        let (cause, site) = self.cut_cause_and_site()?;
        let (what, remedy) = cause.text();
        let at = site.map(|site| format!(" (called at {})", graph::innermost_line(&site)));
        Some(format!("{what}{}; {remedy}", at.unwrap_or_default()))
    }
}

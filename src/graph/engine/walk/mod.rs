//! Walks over a plan, consumers first: serial or parallel; and the linear chain that runs before a plan is built.
//!
//! Invariant: gradients are summed in the same order by every walk.

pub(super) mod grad_slots;
pub(super) mod linear_chain;
pub(super) mod parallel;
pub(super) mod schedule;
pub(super) mod serial;
pub(super) mod worker;

//! The walk over a plan: nodes in the order of their consumers, on one thread or on several.
//!
//! Owns: the serial walk, the head that runs before there is a plan, and the parallel walk with its lanes, slots and
//! schedule. Never decides what a pass reaches and never commits to a leaf.
//! Invariant: gradients are summed in the same order whichever walk brings them.

pub(super) mod grad_slots;
pub(super) mod linear_chain;
pub(super) mod parallel;
pub(super) mod schedule;
pub(super) mod serial;
pub(super) mod worker;

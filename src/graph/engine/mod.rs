//! The backward engine: discover, prune, walk, commit.
//!
//! Owns a pass from its roots to its commits. It never looks inside a value or a rule.
//! Invariant: no leaf changes before the whole pass has succeeded (save where a leaf asks to be told at once), and the
//! bits of every gradient are the same whatever the number of threads.

mod anomaly;
mod batched_rules;
mod commit;
mod discover;
mod fusion;
mod grad_table;
mod host;
mod one_rule;
mod pass;
mod plan;
mod step;
mod walk;

pub use discover::{discovered, estimate, frontier, search};
pub(super) use grad_table::InputGrads;
pub use host::{Host, NoHost, detach_if_long};
pub use one_rule::vjp;
pub use pass::{Pass, Since, Targets};
use walk::{linear_chain, parallel, schedule, serial};

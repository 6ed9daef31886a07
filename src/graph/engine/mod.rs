//! The backward engine: discover, prune, walk, commit.
//!
//! Invariant: no leaf changes before the whole pass has succeeded (except leaves whose hooks wait for the commit), and the
//! bits of every gradient do not depend on the number of threads.

mod anomaly;
mod batched_rules;
mod commit;
mod discover;
mod fusion;
mod grad_table;
mod host;
mod node_vjp;
mod pass;
mod plan;
mod step;
mod walk;

pub use discover::{discovered, estimate, frontier, search};
pub(super) use grad_table::InputGrads;
pub use host::{Host, NoHost, detach_if_long};
pub use node_vjp::vjp;
pub use pass::{NestedStart, Pass, Targets};
use walk::{linear_chain, parallel, schedule, serial};

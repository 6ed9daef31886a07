//! The backward engine: discover, prune, walk, commit.
//!
//! Owns a pass from its roots to its commits. It never looks inside a value or a rule.
//! Invariant: no leaf changes before the whole pass has succeeded (save where a leaf asks to be told at once), and the
//! bits of every gradient are the same whatever the number of threads.

mod batch;
mod commit;
mod discover;
mod host;
mod pass;
mod plan;
mod single;
mod step;
mod stretch;
mod table;
mod walk;
mod watch;

pub use discover::{discovered, estimate, frontier, search};
pub use host::{Host, NoHost, detach_if_long};
pub use pass::{Pass, Since, Targets};
pub use single::vjp;
pub(super) use table::InputGrads;
use walk::{head, parallel, schedule, serial};

//! Element-wise loops: tables of them, built from a text, and the one driver that runs them all.
//!
//! Owns: the tables, the plans, and the ways around a plan. Never names an operation.
//! Invariant: an element has the same bits whichever way it is reached.

mod apply;
mod choose;
pub mod complex_loops;
mod converted;
mod drive;
mod gather;
pub mod loops;
mod neighbour;
mod plan;
pub mod quotients;
pub mod rows;
mod shortcuts;
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
pub mod sixteen;
mod table;
mod turned;

pub use apply::{In, apply, select};
pub(crate) use apply::{Input, run_loop, word};
pub use choose::where_loop;
pub(crate) use converted::apply_converted;
pub use drive::{MAX_OPERANDS, Operand, OutOperand, in_blocks, in_units, run, split_above};
pub use flat::{Flat, FlatIn};
pub(crate) use flat::{apply_flat, select_flat};
pub use loops::{Kernel, Predicate};
pub use neighbour::NEXT_AFTER;
#[cfg(feature = "python")]
use shortcuts::straight;
use shortcuts::{direct, flat, small};
pub(crate) use small::Small;
#[cfg(feature = "python")]
pub(crate) use straight::{Few, Number, Run, apply_few};
pub use table::{Loop, LoopTable};

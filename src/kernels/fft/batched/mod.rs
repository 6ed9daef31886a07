//! Transforms of as many lines at once as a vector has lanes.
//!
//! Owns: the passes over rows of vectors, and the ways of lines to the lanes and back. Never plans which transforms a length is made of.
//! Invariant: a line has the same bits in whichever lane it stands.

mod load_store;
mod passes;
mod simd;
mod transform;
mod transpose;

pub(super) use passes::Passes;
pub(super) use simd::Pairs;
pub(super) use transform::{Lanes, Strip, Together, group, passes, room_bytes, room_of, unusual};

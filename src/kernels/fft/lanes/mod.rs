//! Transforms of as many lines at once as a vector has lanes.
//!
//! Owns: the passes over rows of vectors, and the ways of lines to the lanes and back. Never plans which transforms a length is made of.
//! Invariant: a line has the same bits in whichever lane it stands.

mod ends;
mod rows;
mod tiles;
mod together;
mod vector;

pub(super) use rows::Passes;
pub(super) use together::{Lanes, Strip, Together, group, passes, room_bytes, room_of, unusual};
pub(super) use vector::Pairs;

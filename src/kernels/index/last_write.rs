//! What is left of a write: its rows without those that a later one overwrote.
//!
//! Owns: one gather. Never sorts positions that lie close together.
//! Invariant: of equal offsets the last has its row, the others have zeros.

use super::offsets::Offsets;
use super::rows::taken;
use super::traced_offsets;
use super::traced_offsets::Move;
use crate::array::capture;
use crate::kernels::view::{View, ViewMut, one_dtype, with_word};

/// `out[i, …] = src[offsets[i] + …]`, as `take`, with zeros where a later offset equals this one.
pub fn take_last(src: View, offsets: &Offsets, out: ViewMut) {
    let body: Move = |reads, out, offsets| left(reads[0], offsets, out);
    let _paused =
        capture::active().then(|| traced_offsets::moved("take_last", &[src], &out, offsets, body));
    left(src, offsets, out);
}

fn left(src: View, offsets: &Offsets, mut out: ViewMut) {
    taken(src, offsets, out.reborrow());
    let Some(last) = offsets.last_of_each() else { return };
    assert!(out.is_contiguous(), "take_last: rows in C order");
    let row = out.numel() / last.len();
    with_word!(one_dtype([src.dtype, out.dtype]).size(), W => cleared::<W>(&last, row, &out));
}

/// Zeros in the rows that are not the last.
fn cleared<W: Default + Copy>(last: &[bool], row: usize, out: &ViewMut) {
    if row == 1 {
        // SAFETY: there are as many elements as rows.
        let out = unsafe { std::slice::from_raw_parts_mut(out.at::<W>(0), last.len()) };
        for (out, &last) in out.iter_mut().zip(last) {
            *out = if last { *out } else { W::default() };
        }
        return;
    }
    for (i, _) in last.iter().enumerate().filter(|(_, last)| !**last) {
        // SAFETY: the rows lie one after the other.
        unsafe { std::slice::from_raw_parts_mut(out.at::<W>((i * row) as isize), row) }
            .fill(W::default());
    }
}

//! The gradient of the rows of an indexed write: gather, with zeros for rows that a later duplicate index
//! overwrote.
//!
//! Invariant: of equal offsets the last has its row, the others have zeros.

use super::gather_rows::take_rows;
use super::offsets::Offsets;
use super::traced_offsets;
use super::traced_offsets::MoveRows;
use crate::array::observer;
use crate::kernels::view::{View, ViewMut, one_dtype, with_word};

/// `out[i, …] = src[offsets[i] + …]`, as `take`, with zeros where a later offset equals this one.
pub fn take_last(src: View, offsets: &Offsets, out: ViewMut) {
    let body: MoveRows = |reads, out, offsets| take_last_rows(reads[0], offsets, out);
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("take_last", &[src], &out, offsets, body));
    take_last_rows(src, offsets, out);
}

fn take_last_rows(src: View, offsets: &Offsets, mut out: ViewMut) {
    take_rows(src, offsets, out.reborrow());
    let Some(last) = offsets.last_of_each() else { return };
    assert!(out.is_contiguous(), "take_last: rows in C order");
    let row = out.numel() / last.len();
    with_word!(one_dtype([src.dtype, out.dtype]).size(), W => clear_overwritten::<W>(&last, row, &out));
}

/// Zeros the rows that are not the last of their offset.
fn clear_overwritten<W: Default + Copy>(last: &[bool], row: usize, out: &ViewMut) {
    if row == 1 {
        // SAFETY: there are as many elements as rows.
        let out = unsafe { std::slice::from_raw_parts_mut(out.at::<W>(0), last.len()) };
        for (out, &last) in out.iter_mut().zip(last) {
            *out = if last { *out } else { W::default() };
        }
        return;
    }
    for (i, _) in last.iter().enumerate().filter(|(_, last)| !**last) {
        // SAFETY: the rows are contiguous.
        unsafe { std::slice::from_raw_parts_mut(out.at::<W>((i * row) as isize), row) }
            .fill(W::default());
    }
}

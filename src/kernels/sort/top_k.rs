//! The few first of a long line.
//!
//! Owns: one pass over the numbers of a line that keeps those which may be among the wanted ones. Never orders these.
//! Invariant: of equal numbers the earlier ones are kept.

use super::total_order::Number;
use crate::kernels::multiversion::leveled;

/// Numbers that are read at once.
const BLOCK: usize = 1024;
/// Numbers that are passed over at once.
const GROUP: usize = 16;
/// What is kept besides the wanted ones before they are selected, at least.
const ROOM: usize = 256;

/// The first `wanted` of `len` numbers, with their indices, in no order; `read` writes the numbers from an index on.
pub(super) fn few<N: Number>(
    len: usize,
    wanted: usize,
    read: &dyn Fn(usize, &mut [N]),
) -> Vec<(N, usize)> {
    let room = (4 * wanted).max(ROOM);
    let mut kept: Vec<(N, usize)> = Vec::with_capacity(room + GROUP);
    // Later numbers are among the wanted ones only below this one, once there is one.
    let mut limit = None;
    let mut block = [N::default(); BLOCK];
    if wanted == 0 {
        return kept;
    }
    for start in (0..len).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(len - start)];
        read(start, block);
        let mut at = 0;
        while at < block.len() {
            if let Some(limit) = limit {
                // SAFETY: so many numbers are left.
                at += unsafe { group_below(block[at..].as_ptr(), block.len() - at, limit) };
            }
            let group = &block[at..block.len().min(at + GROUP)];
            let found =
                (start + at..).zip(group).filter(|(_, n)| limit.is_none_or(|limit| **n < limit));
            kept.extend(found.map(|(index, &n)| (n, index)));
            at += GROUP;
            if kept.len() > room {
                limit = Some(select(&mut kept, wanted));
            }
        }
    }
    if kept.len() > wanted {
        select(&mut kept, wanted);
    }
    kept
}

/// Leaves the first `wanted` and gives the last number of them.
fn select<N: Number>(kept: &mut Vec<(N, usize)>, wanted: usize) -> N {
    let last = *kept.select_nth_unstable(wanted - 1).1;
    kept.truncate(wanted);
    last.0
}

leveled!(
    /// Where the first group begins that has a number below the limit; a last group that is not whole counts as one.
    unsafe fn group_below<N: Number>(numbers: *const N, n: usize, limit: N) -> usize = group_loop
);

#[inline(always)]
unsafe fn group_loop<N: Number>(numbers: *const N, n: usize, limit: N) -> usize {
    let mut at = 0;
    while at + GROUP <= n {
        let mut any = false;
        for i in at..at + GROUP {
            // SAFETY: the caller's contract.
            any |= unsafe { *numbers.add(i) } < limit;
        }
        if any {
            break;
        }
        at += GROUP;
    }
    at
}

//! The first `k` elements of a long line: one pass that keeps candidates.
//!
//! Invariant: of equal keys the earlier ones are kept.

use super::total_order::UnsignedKey;
use crate::kernels::multiversion::multiversion;

/// Keys that are read at once.
const BLOCK: usize = 1024;
/// Keys that are skipped at once.
const GROUP: usize = 16;
/// The fewest candidates kept, besides the wanted ones, before they are selected.
const MIN_CANDIDATES: usize = 256;

/// The first `wanted` of `len` keys, with their indices, in no order; `read` writes the keys from an index
/// on.
pub(super) fn top_k<N: UnsignedKey>(
    len: usize,
    wanted: usize,
    read: &dyn Fn(usize, &mut [N]),
) -> Vec<(N, usize)> {
    let capacity = (4 * wanted).max(MIN_CANDIDATES);
    let mut kept: Vec<(N, usize)> = Vec::with_capacity(capacity + GROUP);
    // Once there is a limit, only keys below it are candidates.
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
                // SAFETY: as many keys remain.
                at += unsafe { group_below(block[at..].as_ptr(), block.len() - at, limit) };
            }
            let group = &block[at..block.len().min(at + GROUP)];
            let found =
                (start + at..).zip(group).filter(|(_, n)| limit.is_none_or(|limit| **n < limit));
            kept.extend(found.map(|(index, &n)| (n, index)));
            at += GROUP;
            if kept.len() > capacity {
                limit = Some(select(&mut kept, wanted));
            }
        }
    }
    if kept.len() > wanted {
        select(&mut kept, wanted);
    }
    kept
}

/// Keeps the first `wanted` and returns the last key of them.
fn select<N: UnsignedKey>(kept: &mut Vec<(N, usize)>, wanted: usize) -> N {
    let last = *kept.select_nth_unstable(wanted - 1).1;
    kept.truncate(wanted);
    last.0
}

multiversion!(
    /// The start of the first group that has a key below the limit; an incomplete last group counts as one.
    unsafe fn group_below<N: UnsignedKey>(numbers: *const N, n: usize, limit: N) -> usize = group_below_body
);

#[inline(always)]
unsafe fn group_below_body<N: UnsignedKey>(numbers: *const N, n: usize, limit: N) -> usize {
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

//! Who changed a buffer last, in one word of its header.
//!
//! Owns the packing: the name of an operation as address and length, or the address of a `Change` that also knows the
//! call site. Never frees a `Change`: there is one for each pair of operation and place in the program that was noted.
//! Invariant: a word that is not zero was made by this module and has a top byte, so it can be told from an address.

use std::collections::HashSet;
use std::ptr::with_exposed_provenance;

use crate::threads::Mutex;

/// In the top byte, where the length of a name stands otherwise: the address is that of a `Change`.
const DETAILED: u64 = 255;
/// The top byte of words that are not of this module.
pub(super) const NO_NAME: u64 = 254;

#[derive(PartialEq, Eq, Hash)]
struct Change {
    op: &'static str,
    site: String,
}

static CHANGES: Mutex<Option<HashSet<&'static Change>>> = Mutex::new(None);

/// The word of an operation's name.
pub(super) fn named(op: &'static str) -> u64 {
    let fits = !op.is_empty() && (op.len() as u64) < NO_NAME;
    let name = if fits { op } else { "an operation" };
    name.as_ptr().expose_provenance() as u64 | (name.len() as u64) << 56
}

/// The word of an operation and the place that called it.
pub(super) fn called_at(op: &'static str, site: &str) -> u64 {
    let change = Change { op, site: site.to_owned() };
    let mut known = CHANGES.lock();
    let known = known.get_or_insert_default();
    let found = match known.get(&change) {
        Some(found) => *found,
        None => {
            let new: &'static Change = Box::leak(Box::new(change));
            known.insert(new);
            new
        }
    };
    std::ptr::from_ref(found).expose_provenance() as u64 | DETAILED << 56
}

fn address(word: u64) -> usize {
    (word & (u64::MAX >> 8)) as usize
}

fn detailed(word: u64) -> Option<&'static Change> {
    if word >> 56 != DETAILED {
        return None;
    }
    // SAFETY: the mark says that `called_at` packed the address of a leaked `Change`; user space addresses leave the
    // top byte free.
    Some(unsafe { &*with_exposed_provenance::<Change>(address(word)) })
}

/// The operation in a word; empty for zero.
pub(super) fn op(word: u64) -> &'static str {
    if word == 0 {
        return "";
    }
    if let Some(change) = detailed(word) {
        return change.op;
    }
    let start = with_exposed_provenance::<u8>(address(word));
    // SAFETY: `named` packed address and length of a `&'static str`.
    unsafe {
        let bytes = std::slice::from_raw_parts(start, (word >> 56) as usize);
        std::str::from_utf8_unchecked(bytes)
    }
}

/// The call site in a word, if it has one.
pub(super) fn site(word: u64) -> Option<&'static str> {
    detailed(word).map(|change| change.site.as_str())
}

//! The operation that wrote to a buffer last, packed in one word of its header.
//!
//! The word is the address and length of a static name, or the address of a `Writer` that also has the call site.
//! Every distinct `Writer` is leaked once.
//! Invariant: a nonzero word made here has a nonzero top byte, so it differs from a plain address.

use std::collections::HashSet;
use std::ptr::with_exposed_provenance;

use crate::threads::Mutex;

/// In the top byte, instead of the length of a name: the address is that of a `Writer`.
const HAS_CALL_SITE: u64 = 255;
/// The top byte of words that are not made by this module.
pub(super) const NOT_A_NAME: u64 = 254;

#[derive(PartialEq, Eq, Hash)]
struct Writer {
    op: &'static str,
    site: String,
}

static WRITERS: Mutex<Option<HashSet<&'static Writer>>> = Mutex::new(None);

/// Packs the name of an operation.
pub(super) fn pack_name(op: &'static str) -> u64 {
    let fits = !op.is_empty() && (op.len() as u64) < NOT_A_NAME;
    let name = if fits { op } else { "an operation" };
    name.as_ptr().expose_provenance() as u64 | (name.len() as u64) << 56
}

/// Packs the name of an operation and its call site.
pub(super) fn pack_call(op: &'static str, site: &str) -> u64 {
    let writer = Writer { op, site: site.to_owned() };
    let mut known = WRITERS.lock();
    let known = known.get_or_insert_default();
    let found = match known.get(&writer) {
        Some(found) => *found,
        None => {
            let new: &'static Writer = Box::leak(Box::new(writer));
            known.insert(new);
            new
        }
    };
    std::ptr::from_ref(found).expose_provenance() as u64 | HAS_CALL_SITE << 56
}

fn address(word: u64) -> usize {
    (word & (u64::MAX >> 8)) as usize
}

fn unpack_call(word: u64) -> Option<&'static Writer> {
    if word >> 56 != HAS_CALL_SITE {
        return None;
    }
    // SAFETY: the top byte says that `pack_call` packed the address of a leaked `Writer`; user-space addresses leave the
    // top byte free.
    Some(unsafe { &*with_exposed_provenance::<Writer>(address(word)) })
}

/// The operation's name; empty for zero.
pub(super) fn op_name(word: u64) -> &'static str {
    if word == 0 {
        return "";
    }
    if let Some(writer) = unpack_call(word) {
        return writer.op;
    }
    let start = with_exposed_provenance::<u8>(address(word));
    // SAFETY: `pack_name` packed the address and length of a `&'static str`.
    unsafe {
        let bytes = std::slice::from_raw_parts(start, (word >> 56) as usize);
        std::str::from_utf8_unchecked(bytes)
    }
}

/// The call site, if it was noted.
pub(super) fn call_site(word: u64) -> Option<&'static str> {
    unpack_call(word).map(|writer| writer.site.as_str())
}

//! A caching pool for blocks of a megabyte and more.
//!
//! Owns: freed large blocks, by size class, up to a cap. Fresh pages cost several times the
//! arithmetic done on them, so a block is reused before the system is asked.
//! Never waits: when its lock is taken (or was taken by a thread that a fork left behind) the caller
//! goes to the system allocator.
//! Invariant: every block it holds has the size and alignment of its class and no owner.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Storages from here on use the pool.
pub(super) const POOLED_FROM: usize = 1 << 20;
/// Blocks from here on ask for huge pages.
const HUGE_FROM: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// What the pool holds at most, in bytes and in blocks.
const CAP_BYTES: usize = 1 << 30;
const CAP_BLOCKS: usize = 128;

struct Cache {
    /// (address, class size), oldest first.
    blocks: Vec<(usize, usize)>,
    bytes: usize,
}

static CACHE: Mutex<Cache> = Mutex::new(Cache { blocks: Vec::new(), bytes: 0 });

/// Tries the lock for about a microsecond; the holder only moves a few words.
fn lock() -> Option<MutexGuard<'static, Cache>> {
    for _ in 0..64 {
        match CACHE.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(broken)) => return Some(broken.into_inner()),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    None
}

/// The block that serves `size` bytes: eight classes per power of two.
fn class(size: usize) -> Option<Block> {
    let step = 1usize << (size.ilog2() - 3);
    let rounded = size.checked_next_multiple_of(step)?;
    let align = if rounded >= HUGE_FROM { HUGE_PAGE } else { 4096 };
    Block::from_size_align(rounded, align).ok()
}

/// A block of at least `size` bytes, uninitialised; null when the system refuses.
pub(super) fn take(size: usize) -> *mut u8 {
    let Some(block) = class(size) else {
        return std::ptr::null_mut();
    };
    if let Some(mut cache) = lock()
        && let Some(at) = cache.blocks.iter().rposition(|b| b.1 == block.size())
    {
        cache.bytes -= block.size();
        return std::ptr::with_exposed_provenance_mut(cache.blocks.remove(at).0);
    }
    let fresh = system(block);
    if fresh.is_null() {
        trim();
        return system(block);
    }
    fresh
}

fn system(block: Block) -> *mut u8 {
    // SAFETY: a class is never of size zero.
    let ptr = unsafe { alloc(block) };
    #[cfg(target_os = "linux")]
    if !ptr.is_null() && block.size() >= HUGE_FROM {
        // SAFETY: the range is ours; the advice changes no content, and its failure is harmless.
        unsafe { libc::madvise(ptr.cast(), block.size(), libc::MADV_HUGEPAGE) };
    }
    ptr
}

/// Gives a block back.
///
/// # Safety
/// `ptr` came from `take(size)` with the same `size`, and nobody uses it any more.
pub(super) unsafe fn give(ptr: *mut u8, size: usize) {
    let Some(block) = class(size) else { return };
    let mut evicted: Vec<(usize, usize)> = Vec::new();
    if block.size() <= CAP_BYTES / 2
        && let Some(mut cache) = lock()
    {
        cache.bytes += block.size();
        cache.blocks.push((ptr.expose_provenance(), block.size()));
        while cache.bytes > CAP_BYTES || cache.blocks.len() > CAP_BLOCKS {
            let oldest = cache.blocks.remove(0);
            cache.bytes -= oldest.1;
            evicted.push(oldest);
        }
    } else {
        evicted.push((ptr.expose_provenance(), block.size()));
    }
    release(&evicted);
}

/// Returns blocks to the system; the lock is not held.
fn release(blocks: &[(usize, usize)]) {
    for &(address, size) in blocks {
        if let Some(block) = class(size) {
            // SAFETY: allocated by `system` with this class (a class size is its own class), unused.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address), block) };
        }
    }
}

/// Returns every cached block to the system.
pub fn trim() {
    let blocks = match lock() {
        Some(mut cache) => {
            cache.bytes = 0;
            std::mem::take(&mut cache.blocks)
        }
        None => return,
    };
    release(&blocks);
}

/// The bytes that the pool holds for reuse.
pub fn cached_bytes() -> usize {
    lock().map_or(0, |cache| cache.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_its_own_class_and_wastes_little() {
        for size in [1 << 20, (1 << 20) + 1, 3_000_000, (4 << 20) + 64, (1 << 30) + 7] {
            let block = class(size).unwrap();
            assert!(block.size() >= size && block.size() - size <= size / 8);
            assert_eq!(class(block.size()), Some(block));
        }
    }
}

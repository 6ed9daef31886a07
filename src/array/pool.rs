//! A caching pool for blocks of 32 KB and more.
//!
//! Owns: freed blocks, by size class, up to a cap. Fresh pages cost as much as the arithmetic done on
//! them, or several times that, so a block is reused before the system is asked.
//! Never waits: when its lock is taken (or was taken by a thread that a fork left behind) the caller
//! goes to the system allocator.
//! Invariant: every block it holds has the size and alignment of its class and no owner.

use std::alloc::{Layout as Block, alloc, dealloc};

use crate::error::{Error, Result};
use crate::threads::{Mutex, MutexGuard};

/// Storages from here on use the pool: below, the system's allocator rarely gives pages back. With
/// 1 MB here, 64 branches of 147 KB gradients spent a quarter of their time in page faults
/// (`benches/run.py --only branches`).
pub(super) const POOLED_FROM: usize = 1 << 15;
/// Blocks from here on begin at a page.
const PAGED_FROM: usize = 1 << 20;
/// Blocks from here on ask for huge pages.
const HUGE_FROM: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// What the pool holds at most, in bytes.
const CAP_BYTES: usize = 1 << 30;
/// Size classes: eight per power of two.
const CLASSES: usize = 8 * (usize::BITS - POOLED_FROM.ilog2()) as usize;

struct Cache {
    /// Addresses by class, the latest last.
    free: [Vec<usize>; CLASSES],
    bytes: usize,
}

impl Cache {
    const EMPTY: Cache = Cache { free: [const { Vec::new() }; CLASSES], bytes: 0 };
}

static CACHE: Mutex<Cache> = Mutex::new(Cache::EMPTY);

/// Tries the lock for about a microsecond; the holder only moves a few words.
fn lock() -> Option<MutexGuard<'static, Cache>> {
    for _ in 0..64 {
        if let Some(guard) = CACHE.try_lock() {
            return Some(guard);
        }
        std::hint::spin_loop();
    }
    None
}

/// The block that serves `size` bytes: eight classes per power of two.
fn class(size: usize) -> Option<Block> {
    let step = 1usize << (size.ilog2() - 3);
    let rounded = size.checked_next_multiple_of(step)?;
    let align = match rounded {
        HUGE_FROM.. => HUGE_PAGE,
        PAGED_FROM.. => 4096,
        _ => 64,
    };
    Block::from_size_align(rounded, align).ok()
}

/// The index of a size class.
fn class_index(block: Block) -> usize {
    let power = block.size().ilog2();
    8 * (power - POOLED_FROM.ilog2()) as usize + ((block.size() >> (power - 3)) & 7)
}

/// The block size of a size class by its index.
fn class_size(at: usize) -> usize {
    (8 + at % 8) << (POOLED_FROM.ilog2() as usize - 3 + at / 8)
}

/// A block of at least `size` bytes, uninitialised; null when the system refuses.
pub(super) fn take(size: usize) -> *mut u8 {
    let Some(block) = class(size) else {
        return std::ptr::null_mut();
    };
    if let Some(mut cache) = lock()
        && let Some(address) = cache.free[class_index(block)].pop()
    {
        cache.bytes -= block.size();
        return std::ptr::with_exposed_provenance_mut(address);
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
        cache.free[class_index(block)].push(ptr.expose_provenance());
        if cache.bytes > CAP_BYTES {
            evict(&mut cache, &mut evicted);
        }
    } else {
        evicted.push((ptr.expose_provenance(), block.size()));
    }
    release(&evicted);
}

/// Takes out the largest blocks until the rest is within the cap.
#[cold]
fn evict(cache: &mut Cache, evicted: &mut Vec<(usize, usize)>) {
    for at in (0..CLASSES).rev() {
        let size = class_size(at);
        while cache.bytes > CAP_BYTES
            && let Some(address) = cache.free[at].pop()
        {
            cache.bytes -= size;
            evicted.push((address, size));
        }
    }
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
    let cache = match lock() {
        Some(mut cache) => std::mem::replace(&mut *cache, Cache::EMPTY),
        None => return,
    };
    for (at, blocks) in cache.free.into_iter().enumerate() {
        let size = class_size(at);
        let blocks: Vec<_> = blocks.into_iter().map(|address| (address, size)).collect();
        release(&blocks);
    }
}

/// Requests of fewer bytes are not asked for beforehand.
const AFFORDED: usize = 1 << 20;

/// Whether the system would give so many bytes now: an error where a vector of them would end the
/// process. For operations whose working memory is proportional to their input.
pub fn afford(bytes: usize) -> Result<()> {
    if bytes < AFFORDED {
        return Ok(());
    }
    let mut probe: Vec<u8> = Vec::new();
    let refused = probe.try_reserve_exact(bytes).is_err();
    // Seen by somebody, so that the request is made.
    std::hint::black_box(&mut probe);
    if refused { Err(Box::new(Error::Memory { bytes })) } else { Ok(()) }
}

/// An empty vector with room for `n` elements: an error where the system refuses it, which would end the process otherwise.
pub fn room_for<T>(n: usize) -> Result<Vec<T>> {
    let mut made = Vec::new();
    match made.try_reserve_exact(n) {
        Ok(()) => Ok(made),
        Err(_) => Err(Box::new(Error::Memory { bytes: n.saturating_mul(size_of::<T>()) })),
    }
}

/// A vector of the first `n` items, as `room_for`.
pub fn collected<T>(items: impl IntoIterator<Item = T>, n: usize) -> Result<Vec<T>> {
    let mut made = room_for(n)?;
    made.extend(items.into_iter().take(n));
    Ok(made)
}

/// A vector of so many equal elements, as `room_for`.
pub fn repeated<T: Clone>(element: T, n: usize) -> Result<Vec<T>> {
    collected(std::iter::repeat_n(element, n), n)
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
        for size in [
            1 << 15,
            (1 << 15) + 1,
            147_456,
            1 << 20,
            (1 << 20) + 1,
            3_000_000,
            (4 << 20) + 64,
            (1 << 30) + 7,
        ] {
            let block = class(size).unwrap();
            assert!(block.size() >= size && block.size() - size <= size / 8);
            assert_eq!(class(block.size()), Some(block));
            assert_eq!(class_size(class_index(block)), block.size());
        }
    }
}

//! Caching allocator for blocks of 32 KB and more, by size class and up to a cap.
//!
//! Fresh pages cost as much as the arithmetic done on them, or several times that, so freed blocks are reused.
//! It never blocks: if its lock is taken (or was taken by a thread that a fork left behind), the system allocator is used.
//! Invariant: every cached block has the size and alignment of its class and no owner.

use std::alloc::{Layout as Block, alloc, dealloc};

use crate::error::{Error, Result};
use crate::threads::{Mutex, MutexGuard};

/// Storages of this size or more use the pool; below, the system's allocator rarely returns pages. With 1 MB, 64 branches
/// of 147 KB gradients spent a quarter of their time in page faults (`benches/run.py --only branches`).
pub(super) const POOLED_FROM: usize = 1 << 15;
/// Blocks of this size or more are page-aligned.
const PAGED_FROM: usize = 1 << 20;
/// Blocks of this size or more ask for huge pages.
const HUGE_FROM: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// The most bytes that the pool caches.
const CAP_BYTES: usize = 1 << 30;
/// Size classes: eight per power of two.
const CLASSES: usize = 8 * (usize::BITS - POOLED_FROM.ilog2()) as usize;

struct Cache {
    /// Addresses by class; the most recently freed last.
    free: [Vec<usize>; CLASSES],
    bytes: usize,
}

impl Cache {
    const EMPTY: Cache = Cache { free: [const { Vec::new() }; CLASSES], bytes: 0 };
}

static CACHE: Mutex<Cache> = Mutex::new(Cache::EMPTY);

/// Tries the lock for about a microsecond: the holder only moves a few words.
fn lock() -> Option<MutexGuard<'static, Cache>> {
    for _ in 0..64 {
        if let Some(guard) = CACHE.try_lock() {
            return Some(guard);
        }
        std::hint::spin_loop();
    }
    None
}

/// The block (size and alignment) for a request of `size` bytes.
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

/// The index of a block's size class.
fn class_index(block: Block) -> usize {
    let power = block.size().ilog2();
    8 * (power - POOLED_FROM.ilog2()) as usize + ((block.size() >> (power - 3)) & 7)
}

/// The block size of the class with this index.
fn class_size(at: usize) -> usize {
    (8 + at % 8) << (POOLED_FROM.ilog2() as usize - 3 + at / 8)
}

/// A block of at least `size` bytes, uninitialised; null when out of memory.
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
        // SAFETY: the range was just allocated; the advice changes no content, and its failure is harmless.
        unsafe { libc::madvise(ptr.cast(), block.size(), libc::MADV_HUGEPAGE) };
    }
    ptr
}

/// Returns a block to the pool, or to the system.
///
/// # Safety
/// `ptr` came from `take(size)` with the same `size`, and is not used any more.
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

/// Removes the largest blocks until the rest is within the cap.
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

/// Frees blocks to the system; called without the lock.
fn release(blocks: &[(usize, usize)]) {
    for &(address, size) in blocks {
        if let Some(block) = class(size) {
            // SAFETY: `system` allocated it with this class (a class size is its own class), and it is unused.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address), block) };
        }
    }
}

/// Frees every cached block to the system.
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

/// Smaller requests are not probed.
const PROBE_FROM: usize = 1 << 20;

/// Fails with `Memory` if the system would not grant `bytes` now. For operations whose workspace grows with their input,
/// where a failing `Vec` allocation would abort the process.
pub fn afford(bytes: usize) -> Result<()> {
    if bytes < PROBE_FROM {
        return Ok(());
    }
    let mut probe: Vec<u8> = Vec::new();
    let refused = probe.try_reserve_exact(bytes).is_err();
    // Keeps the optimiser from removing the allocation.
    std::hint::black_box(&mut probe);
    if refused { Err(Box::new(Error::Memory { bytes })) } else { Ok(()) }
}

/// An empty vector with capacity `n`; `Memory` where a plain `Vec` would abort the process.
pub fn try_with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    match vec.try_reserve_exact(n) {
        Ok(()) => Ok(vec),
        Err(_) => Err(Box::new(Error::Memory { bytes: n.saturating_mul(size_of::<T>()) })),
    }
}

/// A vector of the first `n` items; fails as `try_with_capacity`.
pub fn try_collect<T>(items: impl IntoIterator<Item = T>, n: usize) -> Result<Vec<T>> {
    let mut vec = try_with_capacity(n)?;
    vec.extend(items.into_iter().take(n));
    Ok(vec)
}

/// A vector of `n` clones of an element; fails as `try_with_capacity`.
pub fn repeated<T: Clone>(element: T, n: usize) -> Result<Vec<T>> {
    try_collect(std::iter::repeat_n(element, n), n)
}

/// The bytes that the pool has cached.
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

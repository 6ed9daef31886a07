//! Shards: pages of slots with free lists, each owned by at most one thread at a time.
//!
//! The owner allocates and reuses slots without atomics; other threads push what they free on the remote list. Shards are
//! untyped: they know slots as headers and a layout.
//! Invariant: only the thread that set `claimed` accesses the `Cell` fields.

use std::alloc;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::generation::GenerationCount;
use super::remote_free_list::RemoteList;
use super::slot::{Header, SlotType};

const FIRST_PAGE: usize = 64;
const LARGEST_PAGE: usize = 1024;

/// Pages of slots with their free lists.
#[repr(align(128))]
pub(super) struct Shard {
    kind: &'static SlotType,
    claimed: AtomicBool,
    next: AtomicPtr<Shard>,
    free: Cell<*mut Header>,
    fresh: Cell<*mut u8>,
    fresh_left: Cell<usize>,
    page: Cell<usize>,
    // Written by the owner only, read by any thread.
    carved: AtomicUsize,
    taken: AtomicUsize,
    returned: AtomicUsize,
    remote: Remote,
}

/// Fields written by other threads, on a cache line of their own.
#[repr(align(128))]
struct Remote {
    free: RemoteList,
    returned: AtomicUsize,
}

// SAFETY: only the thread that holds the claim accesses the `Cell` fields and the plain lists; the claim passes between
// threads by a release store and an acquire exchange of `claimed`; everything else is atomic.
unsafe impl Sync for Shard {}
// SAFETY: as above; a shard is not tied to the thread that made it.
unsafe impl Send for Shard {}

/// All shards of an arena.
pub(super) fn iter(head: &AtomicPtr<Shard>) -> impl Iterator<Item = &'static Shard> {
    let mut at = head.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: shards are leaked boxes, published by release exchanges, never freed.
        let shard: &'static Shard = unsafe { at.as_ref()? };
        at = shard.next.load(Ordering::Acquire);
        Some(shard)
    })
}

/// Claims a shard that no thread owns, or adds one.
pub(super) fn claim(head: &AtomicPtr<Shard>, kind: &'static SlotType) -> &'static Shard {
    for shard in iter(head) {
        let free = !shard.claimed.load(Ordering::Relaxed);
        if free
            && shard
                .claimed
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return shard;
        }
    }
    let shard: &'static Shard = Box::leak(Box::new(Shard::claimed(kind)));
    let this = ptr::from_ref(shard).cast_mut();
    let mut first = head.load(Ordering::Relaxed);
    loop {
        shard.next.store(first, Ordering::Relaxed);
        match head.compare_exchange_weak(first, this, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return shard,
            Err(now) => first = now,
        }
    }
}

impl Shard {
    fn claimed(kind: &'static SlotType) -> Shard {
        Shard {
            kind,
            claimed: AtomicBool::new(true),
            next: AtomicPtr::new(ptr::null_mut()),
            free: Cell::new(ptr::null_mut()),
            fresh: Cell::new(ptr::null_mut()),
            fresh_left: Cell::new(0),
            page: Cell::new(FIRST_PAGE),
            carved: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            returned: AtomicUsize::new(0),
            remote: Remote { free: RemoteList::new(), returned: AtomicUsize::new(0) },
        }
    }

    /// The type of the slots.
    #[inline]
    pub(super) fn kind(&self) -> &'static SlotType {
        self.kind
    }

    /// The number of slots in use.
    pub(super) fn live(&self) -> usize {
        let returned = self
            .returned
            .load(Ordering::Relaxed)
            .wrapping_add(self.remote.returned.load(Ordering::Relaxed));
        self.taken.load(Ordering::Relaxed).wrapping_sub(returned)
    }

    /// The number of slots ever made.
    pub(super) fn carved(&self) -> usize {
        self.carved.load(Ordering::Relaxed)
    }

    /// Lets another thread claim the shard.
    ///
    /// # Safety
    /// The current thread owns the shard and does not use it any more.
    pub(super) unsafe fn disclaim(&self) {
        self.claimed.store(false, Ordering::Release);
    }

    /// A vacant slot.
    ///
    /// # Safety
    /// The current thread owns the shard.
    #[inline]
    pub(super) unsafe fn pop(&'static self) -> NonNull<Header> {
        increment(&self.taken);
        if let Some(head) = NonNull::new(self.free.get()) {
            // SAFETY: slots on the free list are valid for ever, and the list belongs to the owner.
            self.free.set(unsafe { head.as_ref() }.next.load(Ordering::Relaxed));
            return head;
        }
        self.pop_slow()
    }

    #[cold]
    fn pop_slow(&'static self) -> NonNull<Header> {
        if let Some(head) = self.remote.free.take() {
            // SAFETY: as in `pop`; the owner has taken the whole list.
            self.free.set(unsafe { head.as_ref() }.next.load(Ordering::Relaxed));
            return head;
        }
        if self.fresh_left.get() == 0 {
            self.add_page();
        }
        let at = self.fresh.get();
        self.fresh_left.set(self.fresh_left.get() - 1);
        increment(&self.carved);
        let header = at.cast::<Header>();
        // SAFETY: `fresh_left` counted at least one more slot at `at`; the header is its first field.
        unsafe {
            self.fresh.set(at.add(self.kind.layout.size()));
            header.write(Header {
                word: GenerationCount::new(),
                next: AtomicPtr::new(ptr::null_mut()),
                shard: self,
            });
            NonNull::new_unchecked(header)
        }
    }

    fn add_page(&self) {
        let slots = self.page.get();
        let one = self.kind.layout;
        let layout =
            alloc::Layout::from_size_align(one.size() * slots, one.align().max(64)).unwrap_or(one);
        // SAFETY: the layout is not empty: a slot has a header.
        let page = unsafe { alloc::alloc(layout) };
        if page.is_null() {
            alloc::handle_alloc_error(layout);
        }
        self.fresh.set(page);
        self.fresh_left.set(layout.size() / one.size());
        self.page.set((slots * 2).min(LARGEST_PAGE));
    }

    /// Takes back a vacant slot; with `retire`, it is never used again.
    ///
    /// # Safety
    /// The current thread owns the shard; the slot is vacant, from this shard, and on no list.
    #[inline]
    pub(super) unsafe fn push(&self, header: NonNull<Header>, retire: bool) {
        increment(&self.returned);
        if !retire {
            // SAFETY: the slot is valid for ever, and no other thread has it.
            unsafe { header.as_ref() }.next.store(self.free.get(), Ordering::Relaxed);
            self.free.set(header.as_ptr());
        }
    }

    /// `push` from a thread that does not own the shard.
    ///
    /// # Safety
    /// The slot is vacant, from this shard, and on no list.
    pub(super) unsafe fn push_remote(&self, header: NonNull<Header>, retire: bool) {
        self.remote.returned.fetch_add(1, Ordering::Relaxed);
        if retire {
            return;
        }
        // SAFETY: the caller's contract; headers are valid for ever.
        unsafe { self.remote.free.push(header) };
    }
}

/// Increments a counter that only the owner writes.
#[inline]
fn increment(counter: &AtomicUsize) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

//! Per-thread state of the arena: the sequence number, the claimed shards, and the list of dead slots.
//!
//! Claims are released when the thread ends. Contents are never dropped recursively: a slot whose count reaches zero while
//! contents are being dropped joins the list of the dead.
//! Invariant: `shard` is null or a shard of `arena` that this thread owns.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::shard::{self, Shard};
use super::slot::{Header, SlotType, prefetch_ahead};

struct ThreadState {
    seq: Cell<u64>,
    arena: Cell<*const AtomicPtr<Shard>>,
    shard: Cell<*const Shard>,
    dead: Cell<*mut Header>,
    vacating: Cell<bool>,
}

thread_local! {
    // No destructor: usable while the thread's other thread-locals are destroyed.
    static STATE: ThreadState = const {
        ThreadState {
            seq: Cell::new(0),
            arena: Cell::new(ptr::null()),
            shard: Cell::new(ptr::null()),
            dead: Cell::new(ptr::null_mut()),
            vacating: Cell::new(false),
        }
    };
    static CLAIMS: Claims = const { Claims(RefCell::new(Vec::new())) };
}

/// The shards that this thread owns, with their arenas.
struct Claims(RefCell<Vec<(*const AtomicPtr<Shard>, &'static Shard)>>);

impl Drop for Claims {
    fn drop(&mut self) {
        STATE.with(|local| {
            local.arena.set(ptr::null());
            local.shard.set(ptr::null());
        });
        for (_, shard) in self.0.get_mut().drain(..) {
            // SAFETY: this thread claimed the shard and has just cleared its pointer to it.
            unsafe { shard.disclaim() };
        }
    }
}

/// The next sequence number of this thread, greater than `newest`.
#[inline]
pub(in crate::graph) fn next_seq(newest: u64) -> u64 {
    STATE.with(|local| {
        let seq = local.seq.get().max(newest) + 1;
        local.seq.set(seq);
        seq
    })
}

/// This thread's last sequence number.
#[inline]
pub(in crate::graph) fn last_seq() -> u64 {
    STATE.with(|local| local.seq.get())
}

/// Sets this thread's last sequence number.
#[inline]
pub(in crate::graph) fn set_last_seq(seq: u64) {
    STATE.with(|local| local.seq.set(seq));
}

/// Calls `f` with a shard of `arena` that this thread owns.
#[inline]
pub(super) fn with_shard<R>(
    arena: &'static AtomicPtr<Shard>,
    kind: &'static SlotType,
    f: impl FnOnce(&'static Shard) -> R,
) -> R {
    let (known, shard) = STATE.with(|local| (local.arena.get(), local.shard.get()));
    if ptr::eq(known, arena) {
        // SAFETY: `shard` belongs to `arena` and to this thread; shards are never freed.
        return f(unsafe { &*shard });
    }
    with_shard_slow(arena, kind, f)
}

#[cold]
fn with_shard_slow<R>(
    arena: &'static AtomicPtr<Shard>,
    kind: &'static SlotType,
    f: impl FnOnce(&'static Shard) -> R,
) -> R {
    let owned = CLAIMS.try_with(|claims| {
        let mut claims = claims.0.borrow_mut();
        if let Some((_, shard)) = claims.iter().find(|(of, _)| ptr::eq(*of, arena)) {
            return *shard;
        }
        let shard = shard::claim(arena, kind);
        claims.push((ptr::from_ref(arena), shard));
        shard
    });
    if let Ok(shard) = owned {
        STATE.with(|local| {
            local.arena.set(arena);
            local.shard.set(shard);
        });
        return f(shard);
    }
    // The thread is ending and its claims are released: claim a shard for this one call.
    let shard = shard::claim(arena, kind);
    let result = f(shard);
    // SAFETY: claimed just above and not stored anywhere.
    unsafe { shard.disclaim() };
    result
}

/// Returns a vacant slot to its shard.
#[inline]
pub(super) fn return_slot(header: NonNull<Header>, retire: bool) {
    // SAFETY: pages are never freed.
    let shard = unsafe { header.as_ref() }.shard;
    let mine = STATE.with(|local| local.shard.get());
    // SAFETY: the caller vacated the slot, it is on no list, and `mine` is a shard that this thread owns.
    unsafe {
        if ptr::eq(mine, shard) {
            shard.push(header, retire)
        } else {
            shard.push_remote(header, retire)
        }
    }
}

/// Vacates a slot whose count has reached zero, and then everything that its contents kept alive; a loop, not recursion.
#[inline(never)]
pub(super) fn vacate_all(header: NonNull<Header>) {
    STATE.with(|local| {
        // SAFETY: pages are never freed; a dead slot is on no other list.
        unsafe { header.as_ref() }.next.store(local.dead.get(), Ordering::Relaxed);
        local.dead.set(header.as_ptr());
        if local.vacating.replace(true) {
            return;
        }
        let _done = VacatingGuard(&local.vacating);
        let mut before = header.as_ptr();
        while let Some(dead) = NonNull::new(local.dead.get()) {
            // SAFETY: only slots whose count has reached zero join the list, and each is removed once; the type is that of the
            // slot's shard.
            unsafe {
                let header = dead.as_ref();
                let kind = header.shard.kind();
                if before != dead.as_ptr() {
                    prefetch_ahead(before.addr(), dead.addr().get(), kind.layout.size());
                }
                before = dead.as_ptr();
                local.dead.set(header.next.load(Ordering::Relaxed));
                (kind.vacate)(dead);
            }
        }
    });
}

/// Ends the loop, also if a destructor panics.
struct VacatingGuard<'a>(&'a Cell<bool>);

impl Drop for VacatingGuard<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

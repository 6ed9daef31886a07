//! The one private thread pool, shared by kernels and the backward engine.
//!
//! Owns the pool (built on first use), the limit on threads, and the teams that form around one caller's work.
//! It never runs foreign work on a waiting thread: whoever waits helps with its own blocks only; a lane of the engine
//! that has nothing to do may help with the blocks of others, because it holds no lock and no mode at that moment.
//! Invariant: a team's work is borrowed, so the caller leaves only after every helper that entered has left.
//! A child process after `fork` has none of these threads: a handler forgets the pool, and the child builds its own.

mod caller;
mod held_locks;
mod lock;
mod mutex;
mod parallel_for;
pub mod signals;
mod single_thread;
pub mod stack_depth;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

pub use caller::Caller;
pub use held_locks::assert_no_lock_held;
pub use lock::{Guard, Lock, wait_while};
pub use mutex::{Mutex, MutexGuard};
pub use parallel_for::{parallel_apart, parallel_for};
#[cfg(feature = "python")]
pub use single_thread::host_has_a_lock;
pub use single_thread::{
    NotAlone, add_alone, alone, count_alone, hosted, replace_alone, step_alone,
};

/// The limit on threads, the caller included; 0 = not decided yet.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// The pool; replaced pools are leaked, because their idle workers cost nothing and others may still be using them.
static POOL: AtomicPtr<rayon::ThreadPool> = AtomicPtr::new(ptr::null_mut());
/// Helpers called and not yet back.
static CALLED: AtomicUsize = AtomicUsize::new(0);
/// Helpers that are back and stay awake for the next call.
static AWAKE: AtomicUsize = AtomicUsize::new(0);
/// Lanes with nothing to do that look for blocks to help with.
static IDLE: AtomicUsize = AtomicUsize::new(0);
/// Teams that idle lanes may join.
static OFFERS: Offers = Offers(UnsafeCell::new(Mutex::new(Vec::new())));

const MOST_THREADS: usize = 512;
/// How long a helper looks for work before it leaves.
pub const PATIENCE: Duration = Duration::from_micros(100);

/// How many threads may work at once, the caller included.
///
/// `FERROGRAD_NUM_THREADS`, or the number of available cores, unless `set_num_threads` decided.
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => decide_limit(),
        n => n,
    }
}

/// How many threads a backward pass may run nodes on: `FERROGRAD_LANES`, else as many as may work at once. With 1, nodes
/// run one after the other and threads help only within them.
pub fn num_lanes() -> usize {
    static WISH: OnceLock<usize> = OnceLock::new();
    let wish = WISH.get_or_init(|| {
        let text = std::env::var("FERROGRAD_LANES").ok();
        text.and_then(|text| text.trim().parse().ok()).filter(|&n| n > 0).unwrap_or(usize::MAX)
    });
    num_threads().min(*wish)
}

/// Limits the threads that work at once, the caller included; 0 restores the default.
pub fn set_num_threads(n: usize) {
    LIMIT.store(n.min(MOST_THREADS), Ordering::Relaxed);
}

#[cold]
fn decide_limit() -> usize {
    let wish =
        std::env::var("FERROGRAD_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let n = match wish {
        None | Some(0) => available(),
        Some(n) => n,
    };
    let n = n.min(MOST_THREADS);
    LIMIT.store(n, Ordering::Relaxed);
    n
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The pool, with at least `workers` workers; `None` if the system refuses threads.
fn pool(workers: usize) -> Option<&'static rayon::ThreadPool> {
    let now = POOL.load(Ordering::Acquire);
    // SAFETY: pools are leaked boxes, published by a release exchange.
    match unsafe { now.as_ref() } {
        Some(pool) if pool.current_num_threads() >= workers => Some(pool),
        _ => build_pool(now, workers),
    }
}

/// As large as a main thread's: passes within passes nest as deep on a worker as on the caller.
/// Only what is touched costs memory.
const WORKER_STACK: usize = 8 << 20;

#[cold]
fn build_pool(now: *mut rayon::ThreadPool, workers: usize) -> Option<&'static rayon::ThreadPool> {
    forget_pool_at_fork();
    let workers = workers.max(available().saturating_sub(1)).max(1);
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .thread_name(|i| format!("ferrograd-{i}"))
        .stack_size(WORKER_STACK)
        .build()
        .ok()?;
    let built = Box::into_raw(Box::new(built));
    match POOL.compare_exchange(now, built, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just leaked, never freed from here on.
        Ok(_) => Some(unsafe { &*built }),
        Err(other) => {
            // SAFETY: `built` was never shared; `other` is a leaked pool that somebody else published.
            unsafe {
                drop(Box::from_raw(built));
                other.as_ref()
            }
        }
    }
}

/// Has the child of a `fork` forget the threads that it does not have.
fn forget_pool_at_fork() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler only stores to atomics and to a static that no other thread of the child can touch.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
    });
}

extern "C" fn after_fork_in_child() {
    POOL.store(ptr::null_mut(), Ordering::Relaxed);
    CALLED.store(0, Ordering::Relaxed);
    AWAKE.store(0, Ordering::Relaxed);
    IDLE.store(0, Ordering::Relaxed);
    // SAFETY: the child has one thread, and it is here; the old list may be locked by a thread that is no more, so it
    // is overwritten without being dropped.
    unsafe { OFFERS.0.get().write(Mutex::new(Vec::new())) };
}

/// The list of open teams.
struct Offers(UnsafeCell<Mutex<Vec<Arc<Gate>>>>);

// SAFETY: shared access goes through the mutex; the only exclusive access is that of a child of `fork`.
unsafe impl Sync for Offers {}

impl Offers {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Gate>>> {
        // SAFETY: see `Sync`.
        unsafe { &*self.0.get() }.lock()
    }
}

/// The entrance to a team's work: counts who is inside, and closes.
struct Gate {
    /// `CLOSED` and the number of helpers inside.
    state: AtomicUsize,
    leader: Thread,
    work: *const (dyn Fn(&Team) + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

const CLOSED: usize = 1 << (usize::BITS - 1);

// SAFETY: `work` points to a `Sync` closure and is called only inside the gate, which the leader outwaits.
unsafe impl Send for Gate {}
// SAFETY: as above; everything else is atomic or locked.
unsafe impl Sync for Gate {}

impl Gate {
    /// Enters, works, leaves; false if the gate was closed.
    fn pass(self: &Arc<Gate>) -> bool {
        if self.state.fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            self.leave();
            return false;
        }
        // SAFETY: counted as inside an open gate: the leader is still in `with_team` and keeps the closure alive.
        let work = unsafe { &*self.work };
        let team = Team { gate: Arc::clone(self) };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&team))) {
            self.panic.lock().get_or_insert(panic);
        }
        self.leave();
        true
    }

    fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.leader.unpark();
        }
    }

    /// Lets nobody in any more and waits for those inside.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        let mut turns = 0u32;
        while self.state.load(Ordering::Acquire) != CLOSED {
            turns += 1;
            if turns < 2000 { std::hint::spin_loop() } else { thread::park() }
        }
    }
}

/// A caller's team: helpers run the same closure as long as the caller leads.
pub struct Team {
    gate: Arc<Gate>,
}

impl Team {
    /// Calls one more helper, if a thread is to spare. Detached: it enters when a worker wakes, unless it is too late.
    pub fn call(&self) -> bool {
        let most = num_threads() - 1;
        if CALLED.fetch_add(1, Ordering::Relaxed) >= most {
            CALLED.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let Some(pool) = pool(most) else {
            CALLED.fetch_sub(1, Ordering::Relaxed);
            return false;
        };
        let gate = Arc::clone(&self.gate);
        pool.spawn(move || {
            gate.pass();
            drop(gate);
            CALLED.fetch_sub(1, Ordering::Relaxed);
            stay_awake();
        });
        true
    }
}

/// Waits for the next call of a helper for a moment: waking a worker takes as long as a small operation. Gives way to other
/// threads meanwhile.
fn stay_awake() {
    AWAKE.fetch_add(1, Ordering::Relaxed);
    let begin = Instant::now();
    while CALLED.load(Ordering::Relaxed) == 0 && begin.elapsed() < PATIENCE {
        (0..32).for_each(|_| std::hint::spin_loop());
        thread::yield_now();
    }
    AWAKE.fetch_sub(1, Ordering::Relaxed);
}

/// Whether a helper would come at once.
pub fn awake() -> bool {
    AWAKE.load(Ordering::Relaxed) > 0
}

/// Runs `lead` while helpers that it calls run `work`; returns when all who entered have left.
///
/// A panic of a helper goes on in the caller.
pub fn with_team<R>(work: &(dyn Fn(&Team) + Sync), lead: impl FnOnce(&Team) -> R) -> R {
    /// Closes the gate also when `lead` unwinds.
    struct Closing<'a>(&'a Gate);
    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    // SAFETY: only the lifetime changes: the pointer is used inside the gate only, and `Closing` keeps this frame, and
    // with it the borrow of `work`, until the gate is closed and empty.
    let work: *const (dyn Fn(&Team) + Sync) = unsafe {
        std::mem::transmute::<
            *const (dyn Fn(&Team) + Sync + '_),
            *const (dyn Fn(&Team) + Sync + 'static),
        >(work)
    };
    let gate = Gate {
        state: AtomicUsize::new(0),
        leader: thread::current(),
        work,
        panic: Mutex::new(None),
    };
    let team = Team { gate: Arc::new(gate) };
    let _helpers = NotAlone::new();
    let result = {
        let _closing = Closing(&team.gate);
        lead(&team)
    };
    let panic = team.gate.panic.lock().take();
    match panic {
        Some(panic) => resume_unwind(panic),
        None => result,
    }
}

/// How many threads could help the caller now.
pub fn spare() -> usize {
    let free = (num_threads() - 1).saturating_sub(CALLED.load(Ordering::Relaxed));
    free.max(IDLE.load(Ordering::Relaxed))
}

/// Marks the current thread as looking for work while the value lives.
pub struct Idle(());

impl Idle {
    /// Begins to look for work. The thread must hold no lock and be in the middle of nothing.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Idle {
        IDLE.fetch_add(1, Ordering::Relaxed);
        Idle(())
    }

    /// Helps with the blocks of another thread, if any are offered.
    pub fn help(&self) -> bool {
        let Some(gate) = OFFERS.lock().last().map(Arc::clone) else {
            return false;
        };
        // Nobody shall cut an operation for a thread that is busy; a panic of the work ends in the gate.
        IDLE.fetch_sub(1, Ordering::Relaxed);
        let passed = gate.pass();
        IDLE.fetch_add(1, Ordering::Relaxed);
        passed
    }

    /// Helps others until `done`; false if there was nothing to help with for too long.
    pub fn help_until(&self, done: impl Fn() -> bool) -> bool {
        let mut begin = Instant::now();
        loop {
            for _ in 0..32 {
                if done() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.help() {
                begin = Instant::now();
            } else if begin.elapsed() > PATIENCE {
                return false;
            }
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        IDLE.fetch_sub(1, Ordering::Relaxed);
    }
}

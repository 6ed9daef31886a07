//! The thread pool shared by kernels and the backward engine.
//!
//! Callers form teams: helpers run the caller's closure. A thread that waits for its team runs blocks of that team only; an
//! idle worker of the engine may help any open team, because it holds no lock and no mode then.
//! Invariant: the work of a team is borrowed, so the caller returns only after every helper that entered has left.
//! After `fork`, the child forgets the pool and builds its own.

mod held_locks;
mod initiating_thread;
mod lock;
mod mutex;
mod parallel_for;
pub mod remaining_stack;
pub mod signals;
mod single_thread;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

pub use held_locks::assert_no_lock_held;
pub use initiating_thread::InitiatingThread;
pub use lock::{Lock, LockGuard, wait_while};
pub use mutex::{Mutex, MutexGuard};
pub use parallel_for::{parallel_for, parallel_for_two_ended, parallel_ranges};
#[cfg(feature = "python")]
pub use single_thread::set_host_lock;
pub use single_thread::{
    NotAlone, alone, compare_exchange_alone, fetch_add_alone, fetch_add_alone_u32, has_host_lock,
    increment_alone,
};

/// The limit on threads, the caller included; 0 = not initialised.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// The pool. Replaced pools are leaked: their idle workers cost nothing, and others may still use them.
static POOL: AtomicPtr<rayon::ThreadPool> = AtomicPtr::new(ptr::null_mut());
/// Helpers called and not yet returned.
static CALLED: AtomicUsize = AtomicUsize::new(0);
/// Helpers that have returned and spin for the next call.
static AWAKE: AtomicUsize = AtomicUsize::new(0);
/// Idle workers of backward passes that look for blocks to help with.
static IDLE: AtomicUsize = AtomicUsize::new(0);
/// Teams that idle workers may join.
static OPEN_TEAMS: OpenTeams = OpenTeams(UnsafeCell::new(Mutex::new(Vec::new())));

const MAX_THREADS: usize = 512;
/// How long a helper spins for work before it leaves.
pub const HELPER_SPIN_TIME: Duration = Duration::from_micros(100);

/// The limit on threads, the caller included: that of `set_num_threads`, else `FERROGRAD_NUM_THREADS`, else the number of
/// available cores.
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => init_limit(),
        n => n,
    }
}

/// The most threads that a backward pass runs nodes on: `FERROGRAD_LANES`, at most `num_threads`. With 1, nodes run one
/// after the other and threads only share the work within a node.
pub fn max_pass_threads() -> usize {
    static REQUESTED: OnceLock<usize> = OnceLock::new();
    let requested = REQUESTED.get_or_init(|| {
        let text = std::env::var("FERROGRAD_LANES").ok();
        text.and_then(|text| text.trim().parse().ok()).filter(|&n| n > 0).unwrap_or(usize::MAX)
    });
    num_threads().min(*requested)
}

/// Sets the limit on threads, the caller included; 0 restores the default.
pub fn set_num_threads(n: usize) {
    LIMIT.store(n.min(MAX_THREADS), Ordering::Relaxed);
}

#[cold]
fn init_limit() -> usize {
    let requested =
        std::env::var("FERROGRAD_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let n = match requested {
        None | Some(0) => available(),
        Some(n) => n,
    };
    let n = n.min(MAX_THREADS);
    LIMIT.store(n, Ordering::Relaxed);
    n
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The pool, with at least `workers` workers; `None` if the system refuses threads.
fn pool(workers: usize) -> Option<&'static rayon::ThreadPool> {
    let old = POOL.load(Ordering::Acquire);
    // SAFETY: pools are leaked boxes, published by a release exchange.
    match unsafe { old.as_ref() } {
        Some(pool) if pool.current_num_threads() >= workers => Some(pool),
        _ => build_pool(old, workers),
    }
}

/// As a main thread's: nested passes go as deep on a worker as on the caller. Only touched pages cost memory.
const WORKER_STACK: usize = 8 << 20;

#[cold]
fn build_pool(old: *mut rayon::ThreadPool, workers: usize) -> Option<&'static rayon::ThreadPool> {
    forget_pool_at_fork();
    let workers = workers.max(available().saturating_sub(1)).max(1);
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .thread_name(|i| format!("ferrograd-{i}"))
        .stack_size(WORKER_STACK)
        .build()
        .ok()?;
    let built = Box::into_raw(Box::new(built));
    match POOL.compare_exchange(old, built, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: leaked just now, never freed.
        Ok(_) => Some(unsafe { &*built }),
        Err(other) => {
            // SAFETY: `built` was never shared; `other` is a leaked pool that another thread published.
            unsafe {
                drop(Box::from_raw(built));
                other.as_ref()
            }
        }
    }
}

/// Registers the handler that makes a forked child forget threads it does not have.
fn forget_pool_at_fork() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler only stores to atomics and to a static that no other thread of the child can access.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
    });
}

extern "C" fn after_fork_in_child() {
    POOL.store(ptr::null_mut(), Ordering::Relaxed);
    CALLED.store(0, Ordering::Relaxed);
    AWAKE.store(0, Ordering::Relaxed);
    IDLE.store(0, Ordering::Relaxed);
    // SAFETY: the child has only this thread; the old list may be locked by a thread that is gone, so it is overwritten
    // without being dropped.
    unsafe { OPEN_TEAMS.0.get().write(Mutex::new(Vec::new())) };
}

/// The list of open teams.
struct OpenTeams(UnsafeCell<Mutex<Vec<Arc<Gate>>>>);

// SAFETY: shared access goes through the mutex; the only exclusive access is in the child of a `fork`.
unsafe impl Sync for OpenTeams {}

impl OpenTeams {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Gate>>> {
        // SAFETY: see `Sync`.
        unsafe { &*self.0.get() }.lock()
    }
}

/// The entrance to a team's work: counts the helpers inside, and closes.
struct Gate {
    /// `CLOSED`, and the number of helpers inside.
    state: AtomicUsize,
    leader: Thread,
    work: *const (dyn Fn(&Team) + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

const CLOSED: usize = 1 << (usize::BITS - 1);

// SAFETY: `work` points to a `Sync` closure that is called only inside the gate; the leader waits until it is empty.
unsafe impl Send for Gate {}
// SAFETY: as above; everything else is atomic or locked.
unsafe impl Sync for Gate {}

impl Gate {
    /// Enters, works and leaves; false if the gate was closed.
    fn enter(self: &Arc<Gate>) -> bool {
        if self.state.fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            self.leave();
            return false;
        }
        // SAFETY: counted inside an open gate: the leader is still in `with_team` and keeps the closure alive.
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

    /// Closes the gate and waits for the helpers inside.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        let mut spins = 0u32;
        while self.state.load(Ordering::Acquire) != CLOSED {
            spins += 1;
            if spins < 2000 { std::hint::spin_loop() } else { thread::park() }
        }
    }
}

/// A team: helpers run the same closure while the caller leads.
pub struct Team {
    gate: Arc<Gate>,
}

impl Team {
    /// Calls one more helper, if a thread is free. It enters when a worker wakes, unless the gate is closed by then.
    pub fn call(&self) -> bool {
        let max_helpers = num_threads() - 1;
        if CALLED.fetch_add(1, Ordering::Relaxed) >= max_helpers {
            CALLED.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let Some(pool) = pool(max_helpers) else {
            CALLED.fetch_sub(1, Ordering::Relaxed);
            return false;
        };
        let gate = Arc::clone(&self.gate);
        pool.spawn(move || {
            gate.enter();
            drop(gate);
            CALLED.fetch_sub(1, Ordering::Relaxed);
            spin_for_next_call();
        });
        true
    }
}

/// Spins briefly for the next call, yielding to other threads: waking a worker takes as long as a small operation.
fn spin_for_next_call() {
    AWAKE.fetch_add(1, Ordering::Relaxed);
    let begin = Instant::now();
    while CALLED.load(Ordering::Relaxed) == 0 && begin.elapsed() < HELPER_SPIN_TIME {
        (0..32).for_each(|_| std::hint::spin_loop());
        thread::yield_now();
    }
    AWAKE.fetch_sub(1, Ordering::Relaxed);
}

/// Whether a spinning helper would come at once.
pub fn has_awake_helper() -> bool {
    AWAKE.load(Ordering::Relaxed) > 0
}

/// Runs `lead` while helpers that it calls run `work`; returns when all that entered have left.
///
/// A panic of a helper is resumed in the caller.
pub fn with_team<R>(work: &(dyn Fn(&Team) + Sync), lead: impl FnOnce(&Team) -> R) -> R {
    /// Closes the gate also when `lead` unwinds.
    struct Closing<'a>(&'a Gate);
    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    // SAFETY: only the lifetime changes: the pointer is used inside the gate only, and `Closing` keeps this frame, and so
    // the borrow of `work`, until the gate is closed and empty.
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
pub fn spare_threads() -> usize {
    let free = (num_threads() - 1).saturating_sub(CALLED.load(Ordering::Relaxed));
    free.max(IDLE.load(Ordering::Relaxed))
}

/// Marks the current thread as idle while the value lives.
pub struct IdleWorker(());

impl IdleWorker {
    /// Marks the thread as idle. It must hold no lock and must not be inside an operation.
    #[allow(clippy::new_without_default)]
    pub fn new() -> IdleWorker {
        IDLE.fetch_add(1, Ordering::Relaxed);
        IdleWorker(())
    }

    /// Helps an open team, if there is one.
    pub fn help(&self) -> bool {
        let Some(gate) = OPEN_TEAMS.lock().last().map(Arc::clone) else {
            return false;
        };
        // While it helps, the thread is not idle: others must not split work for it. Panics of the work end in the gate.
        IDLE.fetch_sub(1, Ordering::Relaxed);
        let entered = gate.enter();
        IDLE.fetch_add(1, Ordering::Relaxed);
        entered
    }

    /// Helps others until `done`; false if there was no work for `HELPER_SPIN_TIME`.
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
            } else if begin.elapsed() > HELPER_SPIN_TIME {
                return false;
            }
        }
    }
}

impl Drop for IdleWorker {
    fn drop(&mut self) {
        IDLE.fetch_sub(1, Ordering::Relaxed);
    }
}

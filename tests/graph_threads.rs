//! The thread pool that kernels and the engine share.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ferrograd::threads::{num_threads, parallel_for, parallel_for_two_ended, set_num_threads};

fn enough_threads() {
    set_num_threads(8);
}

#[test]
fn parallel_for_runs_every_block_once() {
    enough_threads();
    assert_eq!(num_threads(), 8);
    for run in [parallel_for, parallel_for_two_ended] {
        for blocks in [0, 1, 2, 3, 100, 10_000] {
            let counts: Vec<AtomicUsize> = (0..blocks).map(|_| AtomicUsize::new(0)).collect();
            run(blocks, &|i| {
                counts[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
        }
        let panics = std::panic::catch_unwind(|| {
            run(100, &|i| assert!(i != 57, "block {i}"));
        });
        assert_eq!(*panics.unwrap_err().downcast::<String>().unwrap(), "block 57");
    }
}

#[cfg(unix)]
#[test]
fn a_child_of_fork_builds_its_own_pool() {
    enough_threads();
    parallel_for(64, &|_| thread::sleep(Duration::from_micros(50)));
    // SAFETY: the child calls only what is fork-safe by design here and leaves by `_exit`.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let sum = AtomicUsize::new(0);
            parallel_for(64, &|i| {
                thread::sleep(Duration::from_micros(50));
                sum.fetch_add(i, Ordering::Relaxed);
            });
            libc::_exit(i32::from(sum.into_inner() != 63 * 32));
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0);
}

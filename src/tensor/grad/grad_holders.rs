//! Which threads may hold handles of a leaf's gradient, so that a pass knows whether it may add to it in place.
//!
//! Invariant: a pass of one thread never writes to a gradient that another thread may be reading.

use crate::threads::{InitiatingThread, has_host_lock};

/// The threads that were given a gradient. Handles of a thread see what passes of that thread add in place, as in PyTorch.
/// Without a host's lock, nothing tells which thread has a handle.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Holders {
    /// None: a pass made the gradient.
    #[default]
    Nobody,
    /// One thread.
    Thread(InitiatingThread),
    /// Several threads, or an unknown one.
    Unknown,
}

impl Holders {
    /// The current thread.
    #[inline]
    pub(crate) fn current_thread() -> Holders {
        if has_host_lock() {
            Holders::Thread(InitiatingThread::current())
        } else {
            Holders::Unknown
        }
    }

    /// These, and the current thread.
    #[inline]
    pub(crate) fn with_current_thread(self) -> Holders {
        match (self, Holders::current_thread()) {
            (Holders::Nobody, here) => here,
            (now, here) if now == here => now,
            _ => Holders::Unknown,
        }
    }

    /// Whether another thread than that of the running pass may hold it.
    pub(crate) fn includes_other_threads(self) -> bool {
        self != Holders::Nobody && (self == Holders::Unknown || self != Holders::current_thread())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_host_whatever_was_given_is_abroad() {
        assert!(!Holders::Nobody.includes_other_threads());
        assert_eq!(Holders::current_thread(), Holders::Unknown);
        assert!(Holders::Nobody.with_current_thread().includes_other_threads());
    }

    #[test]
    fn what_another_thread_was_given_is_abroad() {
        let other = Holders::Thread(std::thread::spawn(InitiatingThread::current).join().unwrap());
        assert!(other.includes_other_threads());
        assert_eq!(other.with_current_thread(), Holders::Unknown);
    }
}

//! Which threads may hold handles of a leaf's gradient, so that a pass knows whether it may add to it in place.
//!
//! Invariant: a pass of one thread never writes to a gradient that another thread may be reading.

use crate::threads::{OriginThread, has_host_lock};

/// The threads that were given a gradient. Handles of a thread see what passes of that thread add in place, as in PyTorch.
/// Without a host's lock, nothing tells which thread has a handle.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Holders {
    /// None: a pass made the gradient.
    #[default]
    Not,
    /// One thread.
    To(OriginThread),
    /// Several threads, or an unknown one.
    Abroad,
}

impl Holders {
    /// The current thread.
    #[inline]
    pub(crate) fn here() -> Holders {
        if has_host_lock() { Holders::To(OriginThread::current()) } else { Holders::Abroad }
    }

    /// These, and the current thread.
    #[inline]
    pub(crate) fn also_here(self) -> Holders {
        match (self, Holders::here()) {
            (Holders::Not, here) => here,
            (now, here) if now == here => now,
            _ => Holders::Abroad,
        }
    }

    /// Whether another thread than that of the running pass may hold it.
    pub(crate) fn is_abroad(self) -> bool {
        self != Holders::Not && (self == Holders::Abroad || self != Holders::here())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_host_whatever_was_given_is_abroad() {
        assert!(!Holders::Not.is_abroad());
        assert_eq!(Holders::here(), Holders::Abroad);
        assert!(Holders::Not.also_here().is_abroad());
    }

    #[test]
    fn what_another_thread_was_given_is_abroad() {
        let other = Holders::To(std::thread::spawn(OriginThread::current).join().unwrap());
        assert!(other.is_abroad());
        assert_eq!(other.also_here(), Holders::Abroad);
    }
}

//! Who may have handles of a gradient beside its leaf.
//!
//! Owns: that note, and with it the decision whether a pass may add to a gradient in place. Never counts handles: their
//! memory does. Invariant: what a thread that runs no pass reads of a gradient it took is not written by one.

use crate::threads::{Caller, hosted};

/// Whom a gradient was given to. What one thread has of a gradient sees what passes of that thread add to it, as in
/// PyTorch. Without a host whose lock orders threads, nothing tells which thread reads what it was given, or it gave.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Holders {
    /// Nobody: a pass made it.
    #[default]
    Not,
    /// One thread.
    To(Caller),
    /// Several threads, or one that is not known.
    Abroad,
}

impl Holders {
    /// To whoever asks now.
    #[inline]
    pub(crate) fn here() -> Holders {
        if hosted() { Holders::To(Caller::current()) } else { Holders::Abroad }
    }

    /// To these and whoever asks now.
    #[inline]
    pub(crate) fn also_here(self) -> Holders {
        match (self, Holders::here()) {
            (Holders::Not, here) => here,
            (now, here) if now == here => now,
            _ => Holders::Abroad,
        }
    }

    /// Whether another thread than that of the running pass may read it.
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
        let other = Holders::To(std::thread::spawn(Caller::current).join().unwrap());
        assert!(other.is_abroad());
        assert_eq!(other.also_here(), Holders::Abroad);
    }
}

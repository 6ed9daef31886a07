//! What the engine needs from the language that hosts it.

/// The host's lock (Python's GIL) and its signals.
pub trait Host: Sync {
    /// Runs `batch` attached to the host. Called on the thread that started the pass only.
    fn attached(&self, batch: &mut dyn FnMut());

    /// Whether the user asked to stop (Ctrl-C). Polled about every 20 ms on the thread that started the pass.
    fn interrupted(&self) -> bool;
}

/// No host: Rust alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn attached(&self, batch: &mut dyn FnMut()) {
        batch();
    }

    fn interrupted(&self) -> bool {
        false
    }
}

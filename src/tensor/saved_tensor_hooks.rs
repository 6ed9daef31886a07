//! The saved-tensor hooks of each thread.
//!
//! Owns: the stack of open blocks; of their packers only the innermost applies. Never packs by itself.
//! Invariant: the mode `PACKING` is on exactly where an open block packs.

#![cfg_attr(not(feature = "python"), allow(dead_code))]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::graph::{Mode, ModeGuard, PACKING, Pack};
use crate::tensor::Tensor;

type Packer = Arc<dyn Pack<Tensor>>;

/// One open block and those around it.
struct Block {
    /// By which it is ended.
    key: u64,
    /// What packs inside; a block that only forbids hooks has none.
    packer: Option<Packer>,
    /// Why no hooks may be set inside.
    forbids: Option<Arc<str>>,
    /// Whether a program opened it, rather than a checkpoint.
    hooks: bool,
    outer: Blocks,
}

type Blocks = Option<Arc<Block>>;

thread_local! {
    static BLOCKS: RefCell<Blocks> = const { RefCell::new(None) };
}

fn now() -> Blocks {
    BLOCKS.with_borrow(Clone::clone)
}

fn set(blocks: Blocks) {
    let before = BLOCKS.replace(blocks);
    drop(before);
}

/// The blocks from the innermost outwards.
fn each(innermost: &Blocks) -> impl Iterator<Item = &Block> {
    std::iter::successors(innermost.as_deref(), |block| block.outer.as_deref())
}

impl Block {
    /// A block that does nothing, inside those that are open.
    fn new() -> Block {
        static KEYS: AtomicU64 = AtomicU64::new(1);
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        Block { key, packer: None, forbids: None, hooks: false, outer: now() }
    }

    /// Makes it the innermost and returns its key.
    fn open(self) -> u64 {
        let key = self.key;
        enter(Some(Arc::new(self)));
        key
    }
}

/// Makes these the open blocks, in the mode that belongs to them.
fn enter(blocks: Blocks) {
    let packs = packer_of(&blocks).is_some();
    set(blocks);
    Mode::current().with(PACKING, packs).set();
}

fn packer_of(blocks: &Blocks) -> Option<Packer> {
    each(blocks).find_map(|block| block.packer.clone())
}

/// The packer that applies on this thread.
pub(crate) fn packer() -> Option<Packer> {
    packer_of(&now())
}

/// Puts the open blocks back as they were; the mode is another guard's.
#[must_use = "the blocks are put back when the guard is dropped"]
pub(crate) struct BlocksGuard(Blocks);

/// Keeps the open blocks of this thread until the guard is dropped.
pub(crate) fn keep() -> BlocksGuard {
    BlocksGuard(now())
}

impl Drop for BlocksGuard {
    fn drop(&mut self) {
        set(self.0.take());
    }
}

/// Runs `body` under a packer.
pub(crate) fn with_packer<R>(packer: Packer, body: impl FnOnce() -> R) -> R {
    let (_mode, _kept) = (ModeGuard::new(Mode::current()), keep());
    Block { packer: Some(packer), ..Block::new() }.open();
    body()
}

/// Makes `packer` the one that applies and returns the key of its block.
///
/// # Errors
/// The message of a block that forbids hooks.
pub(crate) fn push(packer: Packer) -> std::result::Result<u64, Arc<str>> {
    match each(&now()).find_map(|block| block.forbids.clone()) {
        Some(message) => Err(message),
        None => Ok(Block { packer: Some(packer), hooks: true, ..Block::new() }.open()),
    }
}

/// Forbids hooks and returns the key of the block; `None` inside hooks.
pub(crate) fn forbid(message: &str) -> Option<u64> {
    let inside = each(&now()).any(|block| block.hooks);
    (!inside).then(|| Block { forbids: Some(message.into()), ..Block::new() }.open())
}

/// Ends the innermost of the blocks with these keys, with all inside it; returns its key, `None` if none of them is open
/// on this thread.
pub(crate) fn end(keys: &[u64]) -> Option<u64> {
    let open = now();
    let (key, outer) = {
        let block = each(&open).find(|block| keys.contains(&block.key))?;
        (block.key, block.outer.clone())
    };
    enter(outer);
    Some(key)
}

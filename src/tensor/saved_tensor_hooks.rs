//! Saved-tensor hooks: the thread's stack of open blocks. The packer of the innermost block applies.
//!
//! Invariant: the mode `PACKING` is set exactly while an open block has a packer.

#![cfg_attr(not(feature = "python"), allow(dead_code))]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::graph::{Mode, ModeGuard, PACKING, Pack};
use crate::tensor::Tensor;

type Packer = Arc<dyn Pack<Tensor>>;

/// An open block, linked to the enclosing ones.
struct Block {
    /// Identifies the block for `end`.
    key: u64,
    /// The packer; a block that only forbids hooks has none.
    packer: Option<Packer>,
    /// The message of a block in which hooks are forbidden.
    forbids: Option<Arc<str>>,
    /// Whether the program opened it, not a checkpoint.
    hooks: bool,
    outer: Blocks,
}

type Blocks = Option<Arc<Block>>;

thread_local! {
    static BLOCKS: RefCell<Blocks> = const { RefCell::new(None) };
}

fn current_blocks() -> Blocks {
    BLOCKS.with_borrow(Clone::clone)
}

fn set_blocks(blocks: Blocks) {
    let before = BLOCKS.replace(blocks);
    drop(before);
}

/// The blocks from the innermost outwards.
fn iter(innermost: &Blocks) -> impl Iterator<Item = &Block> {
    std::iter::successors(innermost.as_deref(), |block| block.outer.as_deref())
}

impl Block {
    /// An empty block inside the open ones.
    fn new() -> Block {
        static KEYS: AtomicU64 = AtomicU64::new(1);
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        Block { key, packer: None, forbids: None, hooks: false, outer: current_blocks() }
    }

    /// Opens the block and returns its key.
    fn open(self) -> u64 {
        let key = self.key;
        enter(Some(Arc::new(self)));
        key
    }
}

/// Sets the open blocks, and the mode that goes with them.
fn enter(blocks: Blocks) {
    let packs = packer_of(&blocks).is_some();
    set_blocks(blocks);
    Mode::current().with(PACKING, packs).set();
}

fn packer_of(blocks: &Blocks) -> Option<Packer> {
    iter(blocks).find_map(|block| block.packer.clone())
}

/// The current packer of this thread.
pub(crate) fn packer() -> Option<Packer> {
    packer_of(&current_blocks())
}

/// Restores the open blocks when dropped, but not the mode.
#[must_use = "the blocks are put back when the guard is dropped"]
pub(crate) struct BlocksGuard(Blocks);

/// Saves the open blocks of this thread, to be restored when the guard is dropped.
pub(crate) fn save_blocks() -> BlocksGuard {
    BlocksGuard(current_blocks())
}

impl Drop for BlocksGuard {
    fn drop(&mut self) {
        set_blocks(self.0.take());
    }
}

/// Runs `body` with a packer.
pub(crate) fn with_packer<R>(packer: Packer, body: impl FnOnce() -> R) -> R {
    let (_mode, _kept) = (ModeGuard::new(Mode::current()), save_blocks());
    Block { packer: Some(packer), ..Block::new() }.open();
    body()
}

/// Opens a block with a packer and returns its key.
///
/// # Errors
/// The message of a block that forbids hooks.
pub(crate) fn push(packer: Packer) -> std::result::Result<u64, Arc<str>> {
    match iter(&current_blocks()).find_map(|block| block.forbids.clone()) {
        Some(message) => Err(message),
        None => Ok(Block { packer: Some(packer), hooks: true, ..Block::new() }.open()),
    }
}

/// Opens a block that forbids hooks and returns its key; `None` inside hooks.
pub(crate) fn forbid(message: &str) -> Option<u64> {
    let inside = iter(&current_blocks()).any(|block| block.hooks);
    (!inside).then(|| Block { forbids: Some(message.into()), ..Block::new() }.open())
}

/// Closes the innermost of the blocks with these keys, and all blocks inside it; returns its key, or `None` if none of them
/// is open on this thread.
pub(crate) fn end(keys: &[u64]) -> Option<u64> {
    let open = current_blocks();
    let (key, outer) = {
        let block = iter(&open).find(|block| keys.contains(&block.key))?;
        (block.key, block.outer.clone())
    };
    enter(outer);
    Some(key)
}

//! Gradients of leaves that a traced function reads or sets: the state of a program beside memory.
//!
//! Invariant: a gradient that a run accumulates into is the leaf's current one, in memory that nothing else
//! references; a trace that fails leaves all gradients as they were.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Elements, Layout, Storage};
use crate::compile::Executable;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::traced_grad_effects::TouchedLeaf;
use crate::tensor::{Meta, Tensor};

const OP: &str = "compile";

/// A leaf that is no argument, whose gradient the function reads or sets.
struct Leaf {
    meta: Arc<Meta>,
    expected: ExpectedGrad,
    update: GradUpdate,
}

/// What the gradient of a leaf must be before a run.
enum ExpectedGrad {
    Any,
    Absent,
    Present,
    /// The one in this memory.
    Memory(Storage),
    /// One with this specification, whose memory becomes an input of the program.
    Like(GradSpec),
}

/// The required properties of a gradient that is an input.
struct GradSpec {
    layout: Layout,
    dtype: DType,
    nbytes: usize,
    switches: u16,
    /// Whether a run accumulates into it.
    is_written: bool,
}

/// What a run does to the gradient of a leaf.
enum GradUpdate {
    /// Keeps it; its memory may have been written.
    Keep,
    Clear,
    /// Replaces it by this output of the program.
    Output(usize),
}

/// The leaves that a program reads or sets.
pub(super) struct Leaves(Vec<Leaf>);

/// The memory of gradients, which a run takes after its arguments.
#[derive(Default)]
pub(crate) struct GradMemory(SmallVec<[Storage; 2]>);

impl Leaves {
    /// The leaves that a traced function touched, with their current gradients. A gradient that the function made is
    /// an output of the program, from index `next` on.
    pub(super) fn of(
        touched_leaves: &[TouchedLeaf],
        grads: &[Option<Tensor>],
        mut next: usize,
        executable: &mut Executable,
    ) -> Leaves {
        let leaves = touched_leaves.iter().zip(grads).map(|(leaf, grad)| {
            let update = match grad {
                None => GradUpdate::Clear,
                Some(_) if is_new_gradient(leaf, grad) => {
                    next += 1;
                    GradUpdate::Output(next - 1)
                }
                Some(_) => GradUpdate::Keep,
            };
            Leaf { meta: leaf.meta.clone(), expected: ExpectedGrad::of(leaf, executable), update }
        });
        Leaves(leaves.collect())
    }

    /// The memory of the gradients that a run takes; `None` if a gradient is not what the program expects.
    #[inline]
    pub(super) fn grad_memory(&self, executable: &Executable) -> Option<GradMemory> {
        let mut memories = GradMemory::default();
        for leaf in &self.0 {
            let grad = leaf.meta.grad();
            match (&leaf.expected, &grad) {
                (ExpectedGrad::Any, _)
                | (ExpectedGrad::Absent, None)
                | (ExpectedGrad::Present, Some(_)) => {}
                (ExpectedGrad::Memory(storage), Some(grad)) if grad.storage().same(storage) => {}
                (ExpectedGrad::Like(spec), Some(grad)) if spec.matches(grad) => {
                    let memory = grad.storage();
                    if executable.uses_memory(memory)
                        || memories.0.iter().any(|other| other.same(memory))
                    {
                        return None;
                    }
                    memories.0.push(memory.clone());
                }
                _ => return None,
            }
        }
        Some(memories)
    }

    /// Whether outputs of the program become gradients.
    #[cfg(feature = "python")]
    pub(super) fn take_results(&self) -> bool {
        self.0.iter().any(|leaf| matches!(leaf.update, GradUpdate::Output(_)))
    }

    /// Copies the gradients that a run adds to, where others may be reading them.
    pub(super) fn make_grads_unique(&self) -> Result<()> {
        let is_accumulated =
            |leaf: &&Leaf| matches!(&leaf.expected, ExpectedGrad::Like(spec) if spec.is_written);
        self.0.iter().filter(is_accumulated).try_for_each(|leaf| leaf.meta.unshare_grad())
    }

    /// The memory of the gradients that a run accumulates into.
    pub(super) fn written<'a>(
        &'a self,
        gradients: &'a GradMemory,
    ) -> impl Iterator<Item = &'a Storage> {
        let is_written = self.0.iter().filter_map(|leaf| match &leaf.expected {
            ExpectedGrad::Like(spec) => Some(spec.is_written),
            _ => None,
        });
        is_written.zip(&gradients.0).filter_map(|(is_written, memory)| is_written.then_some(memory))
    }

    /// Copies saved values in the memory of gradients that a run writes.
    pub(super) fn copy_saved_gradients(&self, gradients: &GradMemory) -> Result<()> {
        for memory in &gradients.0 {
            let grad = self.0.iter().find_map(|leaf| match (&leaf.expected, leaf.meta.grad()) {
                (ExpectedGrad::Like(spec), Some(grad)) if spec.is_written => {
                    grad.storage().same(memory).then_some(grad)
                }
                _ => None,
            });
            grad.map_or(Ok(()), |grad| grad.keep_saved())?;
        }
        Ok(())
    }

    /// Sets the gradients of leaves after a run; `result` makes the tensor of an output.
    pub(super) fn set_gradients(
        &self,
        gradients: &GradMemory,
        result: impl Fn(usize) -> Result<Tensor>,
    ) -> Result<()> {
        let mut memories = gradients.0.iter();
        for leaf in &self.0 {
            if let ExpectedGrad::Like(spec) = &leaf.expected
                && let Some(memory) = memories.next()
                && spec.is_written
            {
                memory.bump_version(OP);
            }
            match leaf.update {
                GradUpdate::Keep => {}
                GradUpdate::Clear => leaf.meta.set_grad(None),
                GradUpdate::Output(number) => leaf.meta.set_grad(Some(result(number)?)),
            }
        }
        Ok(())
    }
}

impl GradMemory {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Elements<'_>> {
        self.0.iter().map(|memory| Elements::of(memory, 0))
    }

    /// Their memory.
    pub(super) fn memory(&self) -> &[Storage] {
        &self.0
    }

    /// Whether these are the same storages.
    pub(super) fn is_same_as(&self, others: &GradMemory) -> bool {
        self.0.iter().zip(&others.0).all(|(one, other)| one.same(other))
    }

    /// Whether they share no byte with these elements.
    pub(super) fn is_disjoint_from(&self, elements: &Elements<'_>, nbytes: usize) -> bool {
        let first = elements.ptr().addr();
        self.0.iter().all(|memory| {
            let start = memory.ptr().addr();
            first + nbytes <= start || start + memory.nbytes() <= first
        })
    }
}

impl ExpectedGrad {
    fn of(leaf: &TouchedLeaf, executable: &mut Executable) -> ExpectedGrad {
        let grad = match &leaf.before {
            _ if !leaf.read => return ExpectedGrad::Any,
            None => return ExpectedGrad::Absent,
            Some(grad) if !executable.uses_memory(grad.storage()) => return ExpectedGrad::Present,
            Some(grad) => grad,
        };
        let memory = grad.storage();
        // A gradient that is referenced elsewhere may change by other means: it is no input.
        let promoted = if leaf.shared { None } else { executable.promote_to_input(memory) };
        match promoted {
            Some(is_written) => ExpectedGrad::Like(GradSpec {
                layout: grad.layout().clone(),
                dtype: grad.dtype(),
                nbytes: memory.nbytes(),
                switches: memory.requires_grad_switches(),
                is_written,
            }),
            None => ExpectedGrad::Memory(memory.data_handle()),
        }
    }
}

impl GradSpec {
    fn matches(&self, grad: &Tensor) -> bool {
        let memory = grad.storage();
        let (now, before) = (grad.layout(), &self.layout);
        (now.offset(), now.dims(), now.strides())
            == (before.offset(), before.dims(), before.strides())
            && grad.dtype() == self.dtype
            && memory.nbytes() == self.nbytes
            && memory.requires_grad_switches() == self.switches
            && memory.owns_memory()
            && !grad.is_read_only()
            && !grad.requires_grad()
    }
}

/// Whether the function gave the leaf a new gradient, in memory of its own.
pub(super) fn is_new_gradient(leaf: &TouchedLeaf, grad: &Option<Tensor>) -> bool {
    let same =
        |grad: &Tensor| leaf.before.as_ref().is_some_and(|b| b.storage().same(grad.storage()));
    grad.as_ref().is_some_and(|grad| !same(grad))
}

/// Refuses gradients of arguments: arguments are copies, so that the caller's tensors would not see them.
pub(super) fn refuse_own_gradients(
    touched_leaves: &[TouchedLeaf],
    copies: &[Tensor],
) -> Result<()> {
    let is_own = |leaf: &TouchedLeaf| {
        copies.iter().any(|x| x.meta().is_some_and(|meta| Arc::ptr_eq(meta, &leaf.meta)))
    };
    if !touched_leaves.iter().any(is_own) {
        return Ok(());
    }
    restore_grads(touched_leaves);
    Err(uses_gradient_of_argument())
}

#[cold]
fn uses_gradient_of_argument() -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: "the function reads or sets the gradient of an argument, of which it gets a copy"
            .into(),
        remedy: "close over that tensor, or compute the gradient with fg.autograd.grad",
    })
}

/// Restores the gradients that leaves had before a failed trace.
pub(crate) fn restore_grads(touched_leaves: &[TouchedLeaf]) {
    touched_leaves.iter().for_each(|leaf| leaf.meta.restore_grad(leaf.before.clone()));
}

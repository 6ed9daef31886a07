//! Gradients of leaves that a traced function reads or sets: the state of a program beside memory.
//!
//! Invariant: a gradient that a run accumulates into is the leaf's current one, in memory that nothing else
//! references; a trace that fails leaves all gradients as they were.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Elements, Layout, Storage};
use crate::compile::Program;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::effects::TouchedLeaf;
use crate::tensor::{Meta, Tensor};

const OP: &str = "compile";

/// A leaf that is no argument, whose gradient the function reads or sets.
struct Leaf {
    meta: Arc<Meta>,
    expects: Expected,
    sets: Set,
}

/// What the gradient of a leaf must be before a run.
enum Expected {
    Any,
    Nothing,
    Something,
    /// The one in this memory.
    Memory(Storage),
    /// One with this specification, whose memory becomes an input of the program.
    Like(Form),
}

/// The required properties of a gradient that is an input.
struct Form {
    layout: Layout,
    dtype: DType,
    nbytes: usize,
    switches: u16,
    /// Whether a run accumulates into it.
    written: bool,
}

/// What a run does to the gradient of a leaf.
enum Set {
    /// Keeps it; its memory may have been written.
    Kept,
    Nothing,
    /// Replaces it by this output of the program.
    Output(usize),
}

/// The leaves that a program reads or sets.
pub(super) struct Leaves(Vec<Leaf>);

/// The memory of gradients, which a run takes after its arguments.
#[derive(Default)]
pub(crate) struct Gradients(SmallVec<[Storage; 2]>);

impl Leaves {
    /// The leaves that a traced function touched, with their current gradients. A gradient that the function made is
    /// an output of the program, from index `next` on.
    pub(super) fn of(
        touched: &[TouchedLeaf],
        grads: &[Option<Tensor>],
        mut next: usize,
        program: &mut Program,
    ) -> Leaves {
        let leaves = touched.iter().zip(grads).map(|(leaf, grad)| {
            let sets = match grad {
                None => Set::Nothing,
                Some(_) if is_made(leaf, grad) => {
                    next += 1;
                    Set::Output(next - 1)
                }
                Some(_) => Set::Kept,
            };
            Leaf { meta: leaf.meta.clone(), expects: Expected::of(leaf, program), sets }
        });
        Leaves(leaves.collect())
    }

    /// The memory of the gradients that a run takes; `None` if a gradient is not what the program expects.
    #[inline]
    pub(super) fn gradients(&self, program: &Program) -> Option<Gradients> {
        let mut found = Gradients::default();
        for leaf in &self.0 {
            let grad = leaf.meta.grad();
            match (&leaf.expects, &grad) {
                (Expected::Any, _) | (Expected::Nothing, None) | (Expected::Something, Some(_)) => {
                }
                (Expected::Memory(storage), Some(grad)) if grad.storage().same(storage) => {}
                (Expected::Like(form), Some(grad)) if form.fits(grad) => {
                    let memory = grad.storage();
                    if program.touches(memory) || found.0.iter().any(|other| other.same(memory)) {
                        return None;
                    }
                    found.0.push(memory.clone());
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// Whether outputs of the program become gradients.
    #[cfg(feature = "python")]
    pub(super) fn are_results(&self) -> bool {
        self.0.iter().any(|leaf| matches!(leaf.sets, Set::Output(_)))
    }

    /// Makes gradients that a run accumulates into unique: copies them if their memory is shared.
    pub(super) fn own(&self) -> Result<()> {
        let added = |leaf: &&Leaf| matches!(&leaf.expects, Expected::Like(form) if form.written);
        self.0.iter().filter(added).try_for_each(|leaf| leaf.meta.own_grad())
    }

    /// The memory of the gradients that a run accumulates into.
    pub(super) fn written<'a>(
        &'a self,
        gradients: &'a Gradients,
    ) -> impl Iterator<Item = &'a Storage> {
        let taken = self.0.iter().filter_map(|leaf| match &leaf.expects {
            Expected::Like(form) => Some(form.written),
            _ => None,
        });
        taken.zip(&gradients.0).filter_map(|(written, memory)| written.then_some(memory))
    }

    /// Copies saved values in the memory of gradients that a run writes.
    pub(super) fn before_run(&self, gradients: &Gradients) -> Result<()> {
        for memory in &gradients.0 {
            let written = self.0.iter().find_map(|leaf| match (&leaf.expects, leaf.meta.grad()) {
                (Expected::Like(form), Some(grad)) if form.written => {
                    grad.storage().same(memory).then_some(grad)
                }
                _ => None,
            });
            written.map_or(Ok(()), |grad| grad.keep_saved())?;
        }
        Ok(())
    }

    /// Sets the gradients of leaves after a run; `result` makes the tensor of an output.
    pub(super) fn set(
        &self,
        gradients: &Gradients,
        result: impl Fn(usize) -> Result<Tensor>,
    ) -> Result<()> {
        let mut taken = gradients.0.iter();
        for leaf in &self.0 {
            if let Expected::Like(form) = &leaf.expects
                && let Some(memory) = taken.next()
                && form.written
            {
                memory.bump_version(OP);
            }
            match leaf.sets {
                Set::Kept => {}
                Set::Nothing => leaf.meta.set_grad(None),
                Set::Output(number) => leaf.meta.set_grad(Some(result(number)?)),
            }
        }
        Ok(())
    }
}

impl Gradients {
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
    pub(super) fn are(&self, others: &Gradients) -> bool {
        self.0.iter().zip(&others.0).all(|(one, other)| one.same(other))
    }

    /// Whether they share no byte with these elements.
    pub(super) fn are_apart(&self, elements: &Elements<'_>, nbytes: usize) -> bool {
        let first = elements.ptr().addr();
        self.0.iter().all(|memory| {
            let start = memory.ptr().addr();
            first + nbytes <= start || start + memory.nbytes() <= first
        })
    }
}

impl Expected {
    fn of(leaf: &TouchedLeaf, program: &mut Program) -> Expected {
        let grad = match &leaf.before {
            _ if !leaf.read => return Expected::Any,
            None => return Expected::Nothing,
            Some(grad) if !program.touches(grad.storage()) => return Expected::Something,
            Some(grad) => grad,
        };
        let memory = grad.storage();
        // A gradient that is referenced elsewhere may change by other means: it is no input.
        let taken = if leaf.shared { None } else { program.take_as_input(memory) };
        match taken {
            Some(written) => Expected::Like(Form {
                layout: grad.layout().clone(),
                dtype: grad.dtype(),
                nbytes: memory.nbytes(),
                switches: memory.switches(),
                written,
            }),
            None => Expected::Memory(memory.data_handle()),
        }
    }
}

impl Form {
    fn fits(&self, grad: &Tensor) -> bool {
        let memory = grad.storage();
        let (now, before) = (grad.layout(), &self.layout);
        (now.offset(), now.dims(), now.strides())
            == (before.offset(), before.dims(), before.strides())
            && grad.dtype() == self.dtype
            && memory.nbytes() == self.nbytes
            && memory.switches() == self.switches
            && memory.is_own()
            && !grad.is_read_only()
            && !grad.requires_grad()
    }
}

/// Whether the function gave the leaf a new gradient, in memory of its own.
pub(super) fn is_made(leaf: &TouchedLeaf, grad: &Option<Tensor>) -> bool {
    let same =
        |grad: &Tensor| leaf.before.as_ref().is_some_and(|b| b.storage().same(grad.storage()));
    grad.as_ref().is_some_and(|grad| !same(grad))
}

/// Refuses gradients of arguments: arguments are copies, so that the caller's tensors would not see them.
pub(super) fn refuse_own_gradients(touched: &[TouchedLeaf], copies: &[Tensor]) -> Result<()> {
    let is_own = |leaf: &TouchedLeaf| {
        copies.iter().any(|x| x.meta().is_some_and(|meta| Arc::ptr_eq(meta, &leaf.meta)))
    };
    if !touched.iter().any(is_own) {
        return Ok(());
    }
    restore_grads(touched);
    Err(uses_gradient_of_argument())
}

#[cold]
fn uses_gradient_of_argument() -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: "the function reads or sets the gradient of an argument, of which it gets a copy"
            .into(),
        remedy: "close over that tensor, or compute the gradient with fg.autograd.grad",
    })
}

/// Restores the gradients that leaves had before a failed trace.
pub(crate) fn restore_grads(touched: &[TouchedLeaf]) {
    touched.iter().for_each(|leaf| leaf.meta.restore_grad(leaf.before.clone()));
}

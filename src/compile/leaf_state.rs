//! The gradients of leaves that a traced function reads or sets: state of a program beside memory.
//!
//! Invariant: a gradient that a run adds to is the one that the leaf has then, in memory of its own; a refusal leaves the
//! gradients that were there.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Elements, Layout, Storage};
use crate::compile::Program;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::effects::TouchedLeaf;
use crate::tensor::{Meta, Tensor};

const OP: &str = "compile";

/// A leaf outside whose gradient the function reads or sets.
struct Leaf {
    meta: Arc<Meta>,
    expects: Expected,
    sets: Set,
}

/// What gradient a leaf must have before a run.
enum Expected {
    Any,
    Nothing,
    Something,
    /// The one in this memory.
    Memory(Storage),
    /// One like this, whose memory the program takes anew.
    Like(Form),
}

/// What a gradient that a program takes is like.
struct Form {
    layout: Layout,
    dtype: DType,
    nbytes: usize,
    switches: u16,
    /// Whether a run adds to it.
    written: bool,
}

/// What becomes of the gradient of a leaf.
enum Set {
    /// It stays; its memory may have been written.
    Kept,
    Nothing,
    /// Another output of the program.
    Output(usize),
}

/// The leaves of a program.
pub(super) struct Leaves(Vec<Leaf>);

/// Memory of gradients that a run takes after its arguments.
#[derive(Default)]
pub(crate) struct Gradients(SmallVec<[Storage; 2]>);

impl Leaves {
    /// Those that a recorded function touched, with the gradients that they have now; what it made is an output of the
    /// program, from this number on.
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

    /// The memory of gradients that a run takes; `None` where a gradient is not what the program expects.
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

    /// Whether results of the program become gradients.
    #[cfg(feature = "python")]
    pub(super) fn are_results(&self) -> bool {
        self.0.iter().any(|leaf| matches!(leaf.sets, Set::Output(_)))
    }

    /// Copies the gradients that a run adds to, where others may be reading them.
    pub(super) fn own(&self) -> Result<()> {
        let added = |leaf: &&Leaf| matches!(&leaf.expects, Expected::Like(form) if form.written);
        self.0.iter().filter(added).try_for_each(|leaf| leaf.meta.unshare_grad())
    }

    /// Those of the gradients that a run adds to.
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

    /// Copies what saved values need of the gradients that a run writes.
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

    /// Gives leaves what a run leaves them, after it took these gradients; `result` makes a tensor of an output.
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

    /// Where they lie.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Elements<'_>> {
        self.0.iter().map(|memory| Elements::of(memory, 0))
    }

    /// Their memory.
    pub(super) fn memory(&self) -> &[Storage] {
        &self.0
    }

    /// Whether these are the same.
    pub(super) fn are(&self, others: &Gradients) -> bool {
        self.0.iter().zip(&others.0).all(|(one, other)| one.same(other))
    }

    /// Whether they have no byte in common with these elements.
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
        // What somebody else holds may be read as what it is, and not as this leaf's gradient.
        let taken = if leaf.shared { None } else { program.take_as_input(memory) };
        match taken {
            Some(written) => Expected::Like(Form {
                layout: grad.layout().clone(),
                dtype: grad.dtype(),
                nbytes: memory.nbytes(),
                switches: memory.requires_grad_switches(),
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
            && memory.requires_grad_switches() == self.switches
            && memory.owns_memory()
            && !grad.is_read_only()
            && !grad.requires_grad()
    }
}

/// Whether a leaf has a gradient that the function made, in memory of its own.
pub(super) fn is_made(leaf: &TouchedLeaf, grad: &Option<Tensor>) -> bool {
    let same =
        |grad: &Tensor| leaf.before.as_ref().is_some_and(|b| b.storage().same(grad.storage()));
    grad.as_ref().is_some_and(|grad| !same(grad))
}

/// Arguments are copies: what happens to a gradient of one does not reach the caller's tensor.
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

/// Gives leaves the gradients that they had before a trace that failed.
pub(crate) fn restore_grads(touched: &[TouchedLeaf]) {
    touched.iter().for_each(|leaf| leaf.meta.restore_grad(leaf.before.clone()));
}

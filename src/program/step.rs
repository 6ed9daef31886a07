//! The steps of a program: launches whose operands are buffers by number.
//!
//! Owns: `Step` and what it is made of. Never an address: those are the frame's.
//! Invariant: an operand lies inside its buffer.

use std::sync::Arc;

use smallvec::SmallVec;

use super::chain::Chain;
use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::kernels::elementwise::Loop;
use crate::kernels::host::Host;
use crate::kernels::launch::{Operand, Run, Work};

/// The number of a buffer.
pub type Id = u32;

/// Where the memory of a buffer comes from.
#[derive(Clone)]
pub enum Source {
    /// An argument.
    Input(usize),
    /// Memory outside: read, and written, where it lies.
    Outside(Storage),
    /// Values of the program.
    Constant(Storage),
    /// A result, allocated anew by every run.
    Output,
    /// Memory of the run that nobody else sees.
    Temporary,
    /// Nothing uses it.
    Unused,
}

/// A buffer of a program.
#[derive(Clone)]
pub struct Buffer {
    /// Where its memory comes from.
    pub source: Source,
    /// Its length.
    pub nbytes: usize,
}

/// Elements of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The buffer.
    pub buffer: Id,
    /// Where element (0, 0, …) lies, in bytes.
    pub offset: isize,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The size of each axis.
    pub dims: SmallVec<[usize; 4]>,
    /// The stride of each axis, in elements.
    pub strides: SmallVec<[isize; 4]>,
}

impl Slice {
    /// The elements of an operand, in the buffer of this number.
    pub fn new(buffer: Id, operand: Operand) -> Slice {
        let Operand { dtype, offset, dims, strides, .. } = operand;
        Slice { buffer, offset, dtype, dims, strides }
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the elements lie in C order without gaps.
    pub fn is_contiguous(&self) -> bool {
        crate::kernels::view::is_c_order(&self.dims, &self.strides)
    }
}

/// An element-wise loop over operands.
#[derive(Clone)]
pub struct Map {
    /// The loop.
    pub table: Loop,
    /// The operands: slices, or the bytes of a number.
    pub ins: SmallVec<[Argument; 4]>,
    /// The result.
    pub out: Slice,
    /// Parameters of the loop.
    pub params: SmallVec<[f64; 2]>,
    /// Nanoseconds per element.
    pub cost: f32,
    /// The number of elements, if operands and result are contiguous, or one element.
    pub flat: Option<usize>,
}

/// An operand of an element-wise loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Elements.
    Slice(Slice),
    /// One number for all elements.
    Number(u64),
}

/// What a step does.
#[derive(Clone)]
pub enum Action {
    /// An element-wise loop.
    Map(Box<Map>),
    /// Several of them over the same elements.
    Chain(Box<Chain>),
    /// Steps one after the other.
    Sequence(Vec<Step>),
    /// Another kernel.
    Kernel(Run),
    /// A check that values decide as they did when the program was recorded.
    Decision(Run),
    /// Code of the host language: runs on the calling thread, in its place, and whether or not its results are read.
    Foreign(Arc<dyn Host>),
}

/// One step of a program.
#[derive(Clone)]
pub struct Step {
    /// The kernel's name.
    pub name: &'static str,
    /// What is read.
    pub reads: SmallVec<[Slice; 3]>,
    /// What is written.
    pub writes: SmallVec<[Slice; 2]>,
    /// What is done.
    pub action: Action,
}

impl Step {
    /// The step of a launch.
    pub fn new(
        name: &'static str,
        reads: SmallVec<[Slice; 3]>,
        writes: SmallVec<[Slice; 2]>,
        work: Work,
    ) -> Step {
        let action = match work {
            Work::Kernel(run) => Action::Kernel(run),
            Work::Decision(run) => Action::Decision(run),
            Work::Foreign(host) => Action::Foreign(host),
            Work::Map { table, numbers, params, cost } => {
                let mut slices = reads.iter();
                let ins: SmallVec<[Argument; 4]> = numbers
                    .iter()
                    .filter_map(|number| match number {
                        Some(bits) => Some(Argument::Number(*bits)),
                        None => slices.next().cloned().map(Argument::Slice),
                    })
                    .collect();
                let out = writes[0].clone();
                let flat = flat(&ins, &out);
                Action::Map(Box::new(Map { table, ins, out, params, cost, flat }))
            }
        };
        Step { name, reads, writes, action }
    }

    /// Its element-wise loop, if it is one.
    pub(super) fn map(&self) -> Option<&Map> {
        match &self.action {
            Action::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Gives its buffers other numbers.
    pub(super) fn rename(&mut self, name: impl Fn(Id) -> Id) {
        for slice in self.reads.iter_mut().chain(&mut self.writes) {
            slice.buffer = name(slice.buffer);
        }
        if let Action::Map(map) = &mut self.action {
            map.out.buffer = name(map.out.buffer);
            for argument in &mut map.ins {
                if let Argument::Slice(slice) = argument {
                    slice.buffer = name(slice.buffer);
                }
            }
        }
    }

    /// Whether it calls the host language.
    pub fn is_foreign(&self) -> bool {
        matches!(self.action, Action::Foreign(_))
    }

    /// The buffers that it touches.
    pub fn buffers(&self) -> impl Iterator<Item = Id> + '_ {
        self.reads.iter().chain(&self.writes).map(|slice| slice.buffer)
    }
}

/// The number of elements of a loop that needs no walk: everything is contiguous, and numbers stand for one element.
fn flat(ins: &[Argument], out: &Slice) -> Option<usize> {
    let n = out.numel();
    let direct = |argument: &Argument| match argument {
        Argument::Slice(slice) => n == 1 || slice.is_contiguous(),
        Argument::Number(_) => n == 1,
    };
    ((n == 1 || out.is_contiguous()) && ins.iter().all(direct)).then_some(n)
}

/// A result of a program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The buffer.
    pub buffer: Id,
    /// The elements in it.
    pub layout: Layout,
    /// Their dtype.
    pub dtype: DType,
}

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(ToString::to_string).collect();
        write!(f, "%{} {}[{}]", self.buffer, self.dtype, dims.join("×"))
    }
}

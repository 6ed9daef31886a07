//! The steps of a program: launches whose operands are buffers by number.
//!
//! Owns: `Step` and what it is made of. Never an address: those are the frame's.
//! Invariant: an operand lies inside its buffer.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::kernels::Reduction;
use crate::kernels::elementwise::Loop;
use crate::kernels::fused::chain::Chain;
pub use crate::kernels::fused::chain_op::BufferId as Id;
use crate::kernels::host_call::Host;
use crate::kernels::launch::{Operand, Run, Work};

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

impl Source {
    /// The number of the argument that it is.
    pub fn input(&self) -> Option<usize> {
        match self {
            Source::Input(number) => Some(*number),
            _ => None,
        }
    }

    /// The memory outside that it is.
    pub fn outside(&self) -> Option<&Storage> {
        match self {
            Source::Outside(storage) => Some(storage),
            _ => None,
        }
    }
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
pub type Slice = Operand<Id>;

/// An element-wise loop over operands.
#[derive(Clone)]
pub struct Map {
    /// The loop.
    pub table: Loop,
    /// What it computes: its operands, a bar, a formula.
    pub text: &'static str,
    /// The operands: slices, or the bytes of a number.
    pub ins: SmallVec<[Argument; 2]>,
    /// The result.
    pub out: Slice,
    /// Parameters of the loop.
    pub params: SmallVec<[f64; 2]>,
    /// Nanoseconds per element.
    pub cost: f32,
}

impl Map {
    /// The names of the operands, and what is computed of them.
    pub(in crate::compile) fn formula(&self) -> (&'static str, &'static str) {
        self.text.split_once(" | ").unwrap_or(("", self.text))
    }
}

/// An operand of an element-wise loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Elements.
    Slice(Slice),
    /// One number for all elements: its bytes, and the dtype that they are of.
    Number(u64, DType),
}

impl Argument {
    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        match self {
            Argument::Slice(slice) => slice.dtype,
            Argument::Number(_, dtype) => *dtype,
        }
    }

    /// The elements; none where one number stands for all.
    pub fn slice(&self) -> Option<&Slice> {
        match self {
            Argument::Slice(slice) => Some(slice),
            Argument::Number(..) => None,
        }
    }
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
    /// The bytes of a number, for every element.
    Fill(u64),
    /// What is read.
    Copy,
    /// A reduction over these axes.
    Reduce(Reduction, SmallVec<[usize; 4]>),
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
    pub reads: SmallVec<[Slice; 2]>,
    /// What is written.
    pub writes: SmallVec<[Slice; 1]>,
    /// What is done.
    pub action: Action,
}

impl Step {
    /// The step of a launch.
    pub fn new(
        name: &'static str,
        reads: SmallVec<[Slice; 2]>,
        writes: SmallVec<[Slice; 1]>,
        work: Work,
    ) -> Step {
        let action = match work {
            Work::Kernel(run) => Action::Kernel(run),
            Work::Decision(run) => Action::Decision(run),
            Work::Foreign(host) => Action::Foreign(host),
            Work::Fill(bits) => Action::Fill(bits),
            Work::Copy => Action::Copy,
            Work::Reduce(op, axes) => Action::Reduce(op, axes),
            Work::Map { table, text, numbers, params, cost } => {
                // Numbers are of the dtype of the elements beside them.
                let dtype = reads.first().unwrap_or(&writes[0]).dtype;
                let mut slices = reads.iter();
                let ins: SmallVec<[Argument; 2]> = numbers
                    .iter()
                    .filter_map(|number| match number {
                        Some(bits) => Some(Argument::Number(*bits, dtype)),
                        None => slices.next().cloned().map(Argument::Slice),
                    })
                    .collect();
                let out = writes[0].clone();
                Action::Map(Box::new(Map { table, text, ins, out, params, cost }))
            }
        };
        Step { name, reads, writes, action }
    }

    /// The step of an element-wise loop.
    pub(in crate::compile) fn of_map(name: &'static str, map: Map) -> Step {
        let reads = map.ins.iter().filter_map(|argument| match argument {
            Argument::Slice(slice) => Some(slice.clone()),
            Argument::Number(..) => None,
        });
        let (reads, writes) = (reads.collect(), smallvec![map.out.clone()]);
        Step { name, reads, writes, action: Action::Map(Box::new(map)) }
    }

    /// Its element-wise loop, if it is one.
    pub(in crate::compile) fn map(&self) -> Option<&Map> {
        match &self.action {
            Action::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Lets it read from other places.
    pub(in crate::compile) fn move_reads(&mut self, mut place: impl FnMut(&mut Slice)) {
        self.reads.iter_mut().for_each(&mut place);
        if let Action::Map(map) = &mut self.action {
            for argument in &mut map.ins {
                if let Argument::Slice(slice) = argument {
                    place(slice);
                }
            }
        }
    }

    /// Gives its buffers other numbers.
    pub(in crate::compile) fn rename(&mut self, name: impl Fn(Id) -> Id) {
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

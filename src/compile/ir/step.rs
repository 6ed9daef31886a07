//! The steps of an executable: kernel launches whose operands are slices of numbered buffers.
//!
//! Invariant: a slice lies inside its buffer.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::kernels::Reduction;
use crate::kernels::elementwise::Loop;
use crate::kernels::fused::chain::Chain;
pub use crate::kernels::fused::chain_op::BufferId;
use crate::kernels::launch::HostFunction;
use crate::kernels::launch::{KernelFn, LaunchKind, Operand};

/// The source of a buffer's memory.
#[derive(Clone)]
pub enum Source {
    /// An argument.
    Input(usize),
    /// External memory, read and written directly.
    External(Storage),
    /// A constant of the program.
    Constant(Storage),
    /// A result, allocated by every run.
    Output,
    /// Scratch memory of a run.
    Temporary,
    /// Not used.
    Unused,
}

impl Source {
    /// The index of the input, if it is one.
    pub fn input(&self) -> Option<usize> {
        match self {
            Source::Input(number) => Some(*number),
            _ => None,
        }
    }

    /// The external memory, if it is such.
    pub fn external(&self) -> Option<&Storage> {
        match self {
            Source::External(storage) => Some(storage),
            _ => None,
        }
    }
}

/// A buffer of a program.
#[derive(Clone)]
pub struct Buffer {
    /// The source of its memory.
    pub source: Source,
    /// Its length in bytes.
    pub nbytes: usize,
}

/// A strided view of a buffer.
pub type BufferView = Operand<BufferId>;

/// An element-wise loop over operands.
#[derive(Clone)]
pub struct Map {
    /// The loop.
    pub table: Loop,
    /// Its text: the names of the operands, a bar, the formula.
    pub text: &'static str,
    /// The operands: slices or scalars.
    pub ins: SmallVec<[MapOperand; 2]>,
    /// The output.
    pub out: BufferView,
    /// Parameters of the loop.
    pub params: SmallVec<[f64; 2]>,
    /// The cost in nanoseconds per element.
    pub cost: f32,
}

impl Map {
    /// The names of the operands, and the formula.
    pub(in crate::compile) fn formula(&self) -> (&'static str, &'static str) {
        self.text.split_once(" | ").unwrap_or(("", self.text))
    }
}

/// An operand of an element-wise loop.
#[derive(Clone, Debug, PartialEq)]
pub enum MapOperand {
    /// An array.
    BufferView(BufferView),
    /// A scalar, broadcast to all elements: its bytes and dtype.
    Number(u64, DType),
}

impl MapOperand {
    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        match self {
            MapOperand::BufferView(slice) => slice.dtype,
            MapOperand::Number(_, dtype) => *dtype,
        }
    }

    /// The slice; `None` for a scalar.
    pub fn slice(&self) -> Option<&BufferView> {
        match self {
            MapOperand::BufferView(slice) => Some(slice),
            MapOperand::Number(..) => None,
        }
    }
}

/// The action of a step.
#[derive(Clone)]
pub enum Action {
    /// An element-wise loop.
    Map(Box<Map>),
    /// Several fused loops over the same elements.
    Chain(Box<Chain>),
    /// Steps in order.
    Sequence(Vec<Step>),
    /// Writes these bytes to every element.
    Fill(u64),
    /// Copies the operand.
    Copy,
    /// A reduction over these axes.
    Reduce(Reduction, SmallVec<[usize; 4]>),
    /// Any other kernel.
    Kernel(KernelFn),
    /// A guard: checks that values lead to the same decision as at trace time.
    Decision(KernelFn),
    /// Calls host code on the calling thread. It has side effects: it is neither moved nor eliminated.
    HostCall(Arc<dyn HostFunction>),
}

/// One step of a program.
#[derive(Clone)]
pub struct Step {
    /// The kernel's name.
    pub name: &'static str,
    /// The operands read.
    pub reads: SmallVec<[BufferView; 2]>,
    /// The operands written.
    pub writes: SmallVec<[BufferView; 1]>,
    /// What it does.
    pub action: Action,
}

impl Step {
    /// The step of a launch.
    pub fn new(
        name: &'static str,
        reads: SmallVec<[BufferView; 2]>,
        writes: SmallVec<[BufferView; 1]>,
        work: LaunchKind,
    ) -> Step {
        let action = match work {
            LaunchKind::Kernel(run) => Action::Kernel(run),
            LaunchKind::Decision(run) => Action::Decision(run),
            LaunchKind::Host(host) => Action::HostCall(host),
            LaunchKind::Fill(bits) => Action::Fill(bits),
            LaunchKind::Copy => Action::Copy,
            LaunchKind::Reduce(op, axes) => Action::Reduce(op, axes),
            LaunchKind::Map { table, text, numbers, params, cost } => {
                // Scalars have the dtype of the array operands.
                let dtype = reads.first().unwrap_or(&writes[0]).dtype;
                let mut slices = reads.iter();
                let ins: SmallVec<[MapOperand; 2]> = numbers
                    .iter()
                    .filter_map(|number| match number {
                        Some(bits) => Some(MapOperand::Number(*bits, dtype)),
                        None => slices.next().cloned().map(MapOperand::BufferView),
                    })
                    .collect();
                let out = writes[0].clone();
                Action::Map(Box::new(Map { table, text, ins, out, params, cost }))
            }
        };
        Step { name, reads, writes, action }
    }

    /// The step of an element-wise loop.
    pub(in crate::compile) fn from_map(name: &'static str, map: Map) -> Step {
        let reads = map.ins.iter().filter_map(|argument| match argument {
            MapOperand::BufferView(slice) => Some(slice.clone()),
            MapOperand::Number(..) => None,
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

    /// Changes the slices that it reads.
    pub(in crate::compile) fn map_reads(&mut self, mut visit: impl FnMut(&mut BufferView)) {
        self.reads.iter_mut().for_each(&mut visit);
        if let Action::Map(map) = &mut self.action {
            for argument in &mut map.ins {
                if let MapOperand::BufferView(slice) = argument {
                    visit(slice);
                }
            }
        }
    }

    /// Renumbers its buffers.
    pub(in crate::compile) fn rename_buffers(&mut self, renumber: impl Fn(BufferId) -> BufferId) {
        for slice in self.reads.iter_mut().chain(&mut self.writes) {
            slice.buffer = renumber(slice.buffer);
        }
        if let Action::Map(map) = &mut self.action {
            map.out.buffer = renumber(map.out.buffer);
            for argument in &mut map.ins {
                if let MapOperand::BufferView(slice) = argument {
                    slice.buffer = renumber(slice.buffer);
                }
            }
        }
    }

    /// Whether it calls host code.
    pub fn calls_host(&self) -> bool {
        matches!(self.action, Action::HostCall(_))
    }

    /// The buffers that it reads or writes.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.reads.iter().chain(&self.writes).map(|slice| slice.buffer)
    }
}

/// A result of the traced function.
#[derive(Clone, Debug)]
pub struct Output {
    /// The buffer that holds it.
    pub buffer: BufferId,
    /// The layout of its elements.
    pub layout: Layout,
    /// Their dtype.
    pub dtype: DType,
}

impl std::fmt::Display for BufferView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(ToString::to_string).collect();
        write!(f, "%{} {}[{}]", self.buffer, self.dtype, dims.join("×"))
    }
}

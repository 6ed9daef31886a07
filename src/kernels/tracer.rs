//! Launches: a kernel call as data, its operands, and the receiver of the launches of a thread.
//!
//! Kernels and the layer that traces them share these types.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::elementwise::Loop;
use super::reduce::Reduction;
use super::view::{View, ViewMut, is_c_order};
use crate::array::observer;
use crate::dtype::DType;
use crate::error::Result;

/// The size of each axis of an operand. Programs have many operands of few axes.
pub type Dims = SmallVec<[usize; 2]>;
/// The stride of each axis, in elements.
pub type Strides = SmallVec<[isize; 2]>;

/// An operand of a launch: elements of a buffer. A launch names a buffer by the address of its first byte, 0
/// if there are no elements; a program by its number.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Operand<B = usize> {
    /// The buffer.
    pub buffer: B,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The byte offset of element (0, 0, …) in the buffer.
    pub offset: isize,
    /// The size of each axis.
    pub dims: Dims,
    /// The stride of each axis, in elements.
    pub strides: Strides,
}

impl<B: Clone> Clone for Operand<B> {
    fn clone(&self) -> Operand<B> {
        // `SmallVec::clone` copies element by element, and programs have many operands.
        let (dims, strides) = (Dims::from_slice(&self.dims), Strides::from_slice(&self.strides));
        let (dtype, offset) = (self.dtype, self.offset);
        Operand { buffer: self.buffer.clone(), dtype, offset, dims, strides }
    }
}

/// The strides of C order.
pub(super) fn c_strides(dims: &[usize]) -> Strides {
    let mut strides: Strides = dims.iter().map(|_| 1).collect();
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis].max(1) as isize;
    }
    strides
}

impl<B> Operand<B> {
    /// The first elements of a buffer, in C order.
    pub fn contiguous(buffer: B, dtype: DType, dims: &[usize]) -> Operand<B> {
        Operand { buffer, dtype, offset: 0, dims: dims.into(), strides: c_strides(dims) }
    }

    /// The same operand in a buffer of another name.
    pub fn within<C>(self, buffer: C) -> Operand<C> {
        let Operand { dtype, offset, dims, strides, .. } = self;
        Operand { buffer, dtype, offset, dims, strides }
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the elements are contiguous in C order.
    pub fn is_contiguous(&self) -> bool {
        is_c_order(&self.dims, &self.strides)
    }

    /// Whether one element stands for all: every stride is 0.
    pub fn is_value(&self) -> bool {
        self.strides.iter().zip(&self.dims).all(|(&stride, &dim)| stride == 0 || dim == 1)
    }
}

impl Operand {
    pub(super) fn of(dtype: DType, ptr: *const u8, dims: &[usize], strides: &[isize]) -> Operand {
        // Foreign memory may be known as several buffers: the operand is in the one with its lowest element.
        let reach = |(&dim, &stride): (&usize, &isize)| stride * dim.saturating_sub(1) as isize;
        let below: isize = dims.iter().zip(strides).map(reach).filter(|&reach| reach < 0).sum();
        let lowest = ptr.addr().wrapping_add_signed(below * dtype.size() as isize);
        let buffer = if dims.contains(&0) { None } else { observer::buffer_of(lowest) };
        let buffer = buffer.unwrap_or(0);
        let offset = if buffer == 0 { 0 } else { ptr.addr() as isize - buffer as isize };
        let (dims, strides) = (Dims::from_slice(dims), Strides::from_slice(strides));
        Operand { buffer, dtype, offset, dims, strides }
    }
}

impl From<&View<'_>> for Operand {
    fn from(view: &View<'_>) -> Operand {
        Operand::of(view.dtype, view.ptr, view.dims, view.strides)
    }
}

impl From<&ViewMut<'_>> for Operand {
    fn from(view: &ViewMut<'_>) -> Operand {
        Operand::from(&view.as_view())
    }
}

impl From<&&ViewMut<'_>> for Operand {
    fn from(view: &&ViewMut<'_>) -> Operand {
        Operand::from(&view.as_view())
    }
}

/// A value that kernels pass to each other in addition to elements: offsets computed from indices.
pub type Object = Arc<dyn Any + Send + Sync>;
/// The objects of one run of a program; the first belongs to host code.
pub type Objects = Vec<Option<Object>>;
/// The object with which host code of one run passes on values that are not tensors.
pub const HOST_OBJECT: usize = 0;
/// A kernel with its parameters: a function of inputs, outputs and objects.
pub type KernelFn =
    Arc<dyn Fn(&[View<'_>], &mut [ViewMut<'_>], &mut Objects) -> Result<()> + Send + Sync>;

/// A function of the host language.
pub trait HostFunction: Send + Sync {
    /// Computes the outputs from the inputs, on the calling thread.
    ///
    /// # Errors
    /// What the code raises.
    fn run(
        &self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &mut Objects,
    ) -> Result<()>;

    /// Saves the state that it changes in addition to its results (a random generator).
    ///
    /// # Errors
    /// What the host raises.
    fn save_state(&self) -> Result<Option<Object>>;

    /// Restores that state: tracing failed, and the function itself will be called.
    fn restore_state(&self, state: &Object);

    /// For a downcast by the layer that made it.
    fn as_any(&self) -> &dyn Any;
}

/// What a launch does with its operands.
pub enum LaunchKind {
    /// An element-wise loop; scalar operands are given as the bytes of an element.
    Map {
        /// The loop.
        table: Loop,
        /// Its operands, a bar, and the formula.
        text: &'static str,
        /// The scalars, at the positions of operands that are not among `reads`.
        numbers: SmallVec<[Option<u64>; 4]>,
        /// Its parameters.
        params: SmallVec<[f64; 2]>,
        /// Nanoseconds per element.
        cost: f32,
    },
    /// Writes these bytes to every element.
    Fill(u64),
    /// Copies the input to the output.
    Copy,
    /// Reduces over these axes.
    Reduce(Reduction, SmallVec<[usize; 4]>),
    /// Any other kernel, opaque to programs.
    Kernel(KernelFn),
    /// A check that values lead to the same decision as in the trace; it fails with `Diverged`.
    Decision(KernelFn),
    /// A call of host code. It may have side effects: it is never eliminated, duplicated or moved.
    Host(Arc<dyn HostFunction>),
}

/// Whether programs look into steps on elements of this dtype: one number of one, four or eight bytes.
#[inline]
pub fn known_to_programs(dtype: DType) -> bool {
    matches!(dtype.size(), 1 | 4 | 8) && !dtype.is_complex()
}

/// A kernel call.
pub struct Launch {
    /// The kernel's name.
    pub name: &'static str,
    /// The inputs.
    pub reads: SmallVec<[Operand; 2]>,
    /// The outputs; an in-place operand is in both lists.
    pub writes: SmallVec<[Operand; 1]>,
    /// What is done.
    pub work: LaunchKind,
}

/// The receiver of the launches of a thread.
pub trait Tracer: Sync {
    /// Takes a launch, before it runs.
    fn launch(&self, launch: Launch);
    /// The number of a new object.
    fn new_object(&self) -> usize;
    /// The identity of this trace among those in progress; never 0.
    fn identity(&self) -> usize;
    /// Notes that an operation may depend on which number an argument is.
    fn refuse_number(&self, op: &'static str);
    /// Notes that the traced backward treats missing gradients as zeros, or tests for them.
    fn require_all_gradients(&self);
}

thread_local! {
    static TRACER: Cell<Option<&'static dyn Tracer>> = const { Cell::new(None) };
}

/// Sets the tracer of this thread.
pub fn set_tracer(tracer: Option<&'static dyn Tracer>) {
    TRACER.set(tracer);
}

/// The tracer of this thread.
pub fn tracer() -> Option<&'static dyn Tracer> {
    TRACER.get()
}

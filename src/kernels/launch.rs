//! Kernel launches: every kernel that reads or writes elements starts with `launch!`, so that a capture of
//! `fg.compile` can trace it.
//!
//! Invariant: outside a capture a launch is one load and a branch; inside, the kernels called by a kernel
//! belong to it and are not traced again.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::elementwise::Loop;
use super::host_call::{Host, TraceMark};
use super::reduce::Reduction;
use super::view::{View, ViewMut, is_c_order};
use crate::array::capture;
use crate::dtype::DType;
use crate::error::{Error, Result};

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
        let buffer = if dims.contains(&0) { None } else { capture::buffer_of(lowest) };
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
pub type Object = Arc<dyn std::any::Any + Send + Sync>;
/// The objects of one run of a program; the first belongs to host code.
pub type Objects = Vec<Option<Object>>;
/// The object with which host code of one run passes on values that are not tensors.
pub const HOST_OBJECT: usize = 0;
/// A kernel with its parameters: a function of inputs, outputs and objects.
pub type Run =
    Arc<dyn Fn(&[View<'_>], &mut [ViewMut<'_>], &mut Objects) -> Result<()> + Send + Sync>;

/// What a launch does with its operands.
pub enum Work {
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
    Kernel(Run),
    /// A check that values lead to the same decision as in the trace; it fails with `Diverged`.
    Decision(Run),
    /// A call of host code. It may have side effects: it is never eliminated, duplicated or moved.
    Foreign(Arc<dyn Host>),
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
    pub work: Work,
}

/// The receiver of the launches of a capture, one per thread.
pub trait Tracer {
    /// Takes a launch, before it runs.
    fn launch(&mut self, launch: Launch);
    /// The number of a new object.
    fn object(&mut self) -> usize;
    /// The identity of this trace among those in progress; never 0.
    fn identity(&self) -> usize;
    /// Notes that an operation may depend on which number an argument is.
    fn refuse_number(&mut self, op: &'static str);
    /// Notes that the traced backward treats missing gradients as zeros, or tests for them.
    fn require_all_gradients(&mut self);
    /// Stores why there can be no program.
    fn refuse(&mut self, error: Box<Error>);
    /// The current position in the trace.
    fn mark(&mut self) -> TraceMark;
    /// Drops the launches since the mark: host code made them, and a step will call it again.
    ///
    /// # Errors
    /// `Captured` if that code reads or writes what a later run would not find.
    fn drop_since(&mut self, mark: TraceMark) -> Result<()>;
    /// Saves the state that host code changes in addition to its results, in case tracing fails.
    fn hold(&mut self, host: &Arc<dyn Host>, held: Object);
    /// The object of host code in the run that is being traced.
    fn host_object(&mut self, make: &dyn Fn() -> Object) -> Object;
}

thread_local! {
    static TRACER: RefCell<Option<Box<dyn Tracer>>> = const { RefCell::new(None) };
}

/// Sets the tracer of this thread and returns the previous one.
pub fn set_tracer(tracer: Option<Box<dyn Tracer>>) -> Option<Box<dyn Tracer>> {
    TRACER.replace(tracer)
}

/// Calls `body` with the tracer of this thread, if there is one.
pub fn with_tracer<T>(body: impl FnOnce(&mut dyn Tracer) -> T) -> Option<T> {
    TRACER.with_borrow_mut(|tracer| tracer.as_mut().map(|tracer| body(tracer.as_mut())))
}

/// Passes a launch to the tracer. The capture is suspended while the kernel runs.
#[cold]
#[inline(never)]
pub(super) fn trace_launch(launch: Launch) -> capture::Pause {
    with_tracer(|tracer| tracer.launch(launch));
    capture::Pause::new()
}

/// The number of a new object of this thread's trace; any number if there is none.
pub fn new_object() -> usize {
    let number = || with_tracer(|tracer| tracer.object());
    if capture::active() { number().unwrap_or(HOST_OBJECT) } else { HOST_OBJECT }
}

/// The identity of this thread's trace; 0 if there is none.
pub fn trace_identity() -> usize {
    if capture::active() { with_tracer(|tracer| tracer.identity()).unwrap_or(0) } else { 0 }
}

/// Tells the tracer that a backward pass treats missing gradients as zeros, or tests for them: the program is
/// valid only if all gradients exist.
pub fn require_all_gradients() {
    if capture::active() {
        with_tracer(|tracer| tracer.require_all_gradients());
    }
}

/// Runs a kernel with any number of operands; a capture traces it.
///
/// # Errors
/// The kernel's error.
pub fn run_kernel(
    name: &'static str,
    reads: &[View<'_>],
    writes: &mut [ViewMut<'_>],
    run: Run,
    objects: &mut Objects,
) -> Result<()> {
    let _paused = capture::active().then(|| {
        trace_launch(Launch {
            name,
            reads: reads.iter().map(Into::into).collect(),
            writes: writes.iter().map(Into::into).collect(),
            work: Work::Kernel(run.clone()),
        })
    });
    run(reads, writes, objects)
}

/// A decision that depends on the values of the operands, as a number. In a capture, replays check it: if it
/// differs, they fail with `Diverged`.
pub fn decide(
    name: &'static str,
    reads: &[View<'_>],
    choose: impl Fn(&[View<'_>]) -> u64 + Send + Sync + 'static,
) -> u64 {
    let decision = choose(reads);
    if capture::active() && reads.iter().any(|read| capture::varies_at(read.ptr.addr())) {
        let run: Run = Arc::new(move |reads, _, _| {
            if choose(reads) == decision {
                return Ok(());
            }
            Err(Box::new(Error::Diverged { op: name.into() }))
        });
        let reads = reads.iter().map(Into::into).collect();
        let launch = Launch { name, reads, writes: SmallVec::new(), work: Work::Decision(run) };
        drop(trace_launch(launch));
    }
    decision
}

/// The result of a kernel, converted to that of a program step.
pub(super) trait Outcome {
    fn outcome(self, name: &'static str, reads: &[View<'_>]) -> Result<()>;
}

impl Outcome for () {
    fn outcome(self, _: &'static str, _: &[View<'_>]) -> Result<()> {
        Ok(())
    }
}

impl Outcome for Result<()> {
    fn outcome(self, _: &'static str, _: &[View<'_>]) -> Result<()> {
        self
    }
}

/// A kernel whose error is the index of the matrix of a stack for which it failed.
impl Outcome for Result<(), usize> {
    fn outcome(self, name: &'static str, reads: &[View<'_>]) -> Result<()> {
        self.map_err(|index| {
            let singular = ("is singular", "use pinv or lstsq, or add a multiple of the identity");
            let (op, (is, remedy)) = match name {
                "inverse" => ("inv", singular),
                "solve" => (name, singular),
                "cholesky" => (
                    name,
                    (
                        "is not positive definite",
                        "check its symmetry, or add a multiple of the identity",
                    ),
                ),
                _ => (
                    name,
                    (
                        "has no answer: it holds NaN or infinity, or an iteration did not converge",
                        "check where the values come from",
                    ),
                ),
            };
            let one = reads.first().is_none_or(|read| read.dims.len() <= 2);
            let which =
                if one { "the matrix".into() } else { format!("matrix {index} of the stack") };
            Box::new(Error::Matrix { op: op.into(), what: format!("{which} {is}"), remedy })
        })
    }
}

/// Starts a public kernel: `launch!("name", [reads] => [writes]; parameters; body)`. A borrowed parameter is
/// given as `p = p.to_vec()`, which is evaluated only if the launch is traced; the body sees the name in both
/// cases. The body is the kernel. A kernel that programs know has `as work` instead of its parameters.
macro_rules! launch {
    ($name:expr, [$($r:ident),*] => [$($w:ident),*] as $work:expr; $body:expr) => {{
        let paused = $crate::array::capture::active().then(|| {
            $crate::kernels::launch::trace_launch($crate::kernels::launch::Launch {
                name: $name,
                reads: smallvec::smallvec![$((&$r).into()),*],
                writes: smallvec::smallvec![$((&$w).into()),*],
                work: $work,
            })
        });
        let result = $body;
        drop(paused);
        result
    }};
    ($name:expr, [$($r:ident),*] => [$($w:ident),*]; $($p:ident = $e:expr),*; $body:expr) => {{
        let paused;
        if $crate::array::capture::active() {
            let (reads, writes) =
                (smallvec::smallvec![$((&$r).into()),*], smallvec::smallvec![$((&$w).into()),*]);
            $(let $p = $e;)*
            let run: $crate::kernels::launch::Run = std::sync::Arc::new(move |reads, writes, _| {
                let &[$($r),*] = reads else { unreachable!("the operands of {}", $name) };
                let [$($w),*] = writes else { unreachable!("the results of {}", $name) };
                $(let $w = $w.reborrow();)*
                $crate::kernels::launch::Outcome::outcome($body, $name, reads)
            });
            let work = $crate::kernels::launch::Work::Kernel(run);
            paused = Some($crate::kernels::launch::trace_launch($crate::kernels::launch::Launch {
                name: $name,
                reads,
                writes,
                work,
            }));
        } else {
            paused = None;
        }
        // Parameters are borrowed here and owned by the closure above.
        #[allow(clippy::needless_borrow)]
        let result = $body;
        drop(paused);
        result
    }};
}
pub(crate) use launch;

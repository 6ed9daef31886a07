//! The launch gate: every kernel that reads or writes elements is entered here.
//!
//! Owns: `launch!`, which stands first in every public kernel, and the recorder of the capture of this thread. Never
//! decides what a recorder does with a launch. Invariant: outside a capture a launch is one load and a branch; inside,
//! what a kernel calls belongs to that kernel and is not recorded again.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::elementwise::Loop;
use super::host_call::{Host, Mark};
use super::reduce::Reduction;
use super::view::{View, ViewMut, is_c_order};
use crate::array::capture;
use crate::dtype::DType;
use crate::error::{Error, Result};

/// The size of each axis of an operand. Programs have many operands of few axes.
pub type Dims = SmallVec<[usize; 2]>;
/// The stride of each axis, in elements.
pub type Strides = SmallVec<[isize; 2]>;

/// An operand: elements of a buffer. A launch names a buffer by the address of its first byte, 0 for no elements; a
/// program by its number.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Operand<B = usize> {
    /// The buffer.
    pub buffer: B,
    /// The dtype of the elements.
    pub dtype: DType,
    /// Where element (0, 0, …) lies in the buffer, in bytes.
    pub offset: isize,
    /// The size of each axis.
    pub dims: Dims,
    /// The stride of each axis, in elements.
    pub strides: Strides,
}

impl<B: Clone> Clone for Operand<B> {
    fn clone(&self) -> Operand<B> {
        // `SmallVec::clone` goes from element to element: programs have many operands.
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

    /// The same elements of the same buffer by another name.
    pub fn within<C>(self, buffer: C) -> Operand<C> {
        let Operand { dtype, offset, dims, strides, .. } = self;
        Operand { buffer, dtype, offset, dims, strides }
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the elements lie in C order without gaps.
    pub fn is_contiguous(&self) -> bool {
        is_c_order(&self.dims, &self.strides)
    }

    /// Whether one element stands for all.
    pub fn is_value(&self) -> bool {
        self.strides.iter().zip(&self.dims).all(|(&stride, &dim)| stride == 0 || dim == 1)
    }
}

impl Operand {
    pub(super) fn of(dtype: DType, ptr: *const u8, dims: &[usize], strides: &[isize]) -> Operand {
        // Of memory of others, several parts may be known: the operand lies in one that holds its lowest element.
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

/// What kernels hand to one another beside elements: offsets found from indices.
pub type Object = Arc<dyn std::any::Any + Send + Sync>;
/// The objects of one run of a program. The first is that of host code.
pub type Objects = Vec<Option<Object>>;
/// The object by which the host code of one run hands on what is no tensor.
pub const HOST: usize = 0;
/// A kernel with its parameters: what it reads, what it writes, objects.
pub type Run =
    Arc<dyn Fn(&[View<'_>], &mut [ViewMut<'_>], &mut Objects) -> Result<()> + Send + Sync>;

/// What a launch does with its operands.
pub enum Work {
    /// An element-wise loop. Operands that are numbers are given as the bytes of an element.
    Map {
        /// The loop.
        table: Loop,
        /// What it computes: its operands, a bar, a formula.
        text: &'static str,
        /// A number in the place of each operand that is none of `reads`.
        numbers: SmallVec<[Option<u64>; 4]>,
        /// Its parameters.
        params: SmallVec<[f64; 2]>,
        /// Nanoseconds per element.
        cost: f32,
    },
    /// Writes these bytes to every element.
    Fill(u64),
    /// Writes what is read.
    Copy,
    /// Reduces over these axes.
    Reduce(Reduction, SmallVec<[usize; 4]>),
    /// Any other kernel.
    Kernel(Run),
    /// A check that values decide as they did; it fails with `Diverged`.
    Decision(Run),
    /// Code of the host language. It may do more than to write its results: it is never left out, repeated or moved.
    Foreign(Arc<dyn Host>),
}

/// Whether the steps of programs that are no opaque kernels take elements of this dtype: those of one, four and eight
/// bytes that are one number.
#[inline]
pub fn known_to_programs(dtype: DType) -> bool {
    matches!(dtype.size(), 1 | 4 | 8) && !dtype.is_complex()
}

/// One launch.
pub struct Launch {
    /// The kernel's name.
    pub name: &'static str,
    /// What is read.
    pub reads: SmallVec<[Operand; 2]>,
    /// What is written; in place, a buffer is in both lists.
    pub writes: SmallVec<[Operand; 1]>,
    /// What is done.
    pub work: Work,
}

/// What a capture does with the launches of its thread.
pub trait Recorder {
    /// Takes a launch, before it runs.
    fn launch(&mut self, launch: Launch);
    /// The number of a new object.
    fn object(&mut self) -> usize;
    /// What tells it from every other recording that is going on; never 0.
    fn identity(&self) -> usize;
    /// Takes note that an operation may depend on which number an argument is.
    fn refuse_number(&mut self, op: &'static str);
    /// Remembers that what is recorded takes zeros for gradients that are missing, or asks whether they are.
    fn keep_whole(&mut self);
    /// Remembers why there can be no program.
    fn refuse(&mut self, error: Box<Error>);
    /// Where the program stands.
    fn mark(&mut self) -> Mark;
    /// Drops what was recorded since, which host code did that a step will call again.
    ///
    /// # Errors
    /// `Captured` when that code reads or writes what it would not find again.
    fn drop_since(&mut self, mark: Mark) -> Result<()>;
    /// Keeps what host code changes besides, in case the recording fails.
    fn hold(&mut self, host: &Arc<dyn Host>, held: Object);
    /// The object of host code in the run that is being recorded.
    fn host_object(&mut self, make: &dyn Fn() -> Object) -> Object;
}

thread_local! {
    static RECORDER: RefCell<Option<Box<dyn Recorder>>> = const { RefCell::new(None) };
}

/// Sets the recorder of this thread and gives the one before.
pub fn set_recorder(recorder: Option<Box<dyn Recorder>>) -> Option<Box<dyn Recorder>> {
    RECORDER.replace(recorder)
}

/// Calls `body` with the recorder of this thread, if there is one.
pub fn with_recorder<T>(body: impl FnOnce(&mut dyn Recorder) -> T) -> Option<T> {
    RECORDER.with_borrow_mut(|recorder| recorder.as_mut().map(|recorder| body(recorder.as_mut())))
}

/// Hands a launch to the recorder. The kernel runs while the capture is suspended.
#[cold]
#[inline(never)]
pub(super) fn record(launch: Launch) -> capture::Pause {
    with_recorder(|recorder| recorder.launch(launch));
    capture::Pause::new()
}

/// The number of a new object of the recording of this thread; any number where there is none.
pub fn new_object() -> usize {
    let number = || with_recorder(|recorder| recorder.object());
    if capture::active() { number().unwrap_or(HOST) } else { HOST }
}

/// What tells the recording of this thread from others that are going on; 0 where there is none.
pub fn recording() -> usize {
    if capture::active() { with_recorder(|recorder| recorder.identity()).unwrap_or(0) } else { 0 }
}

/// Says to a recording that a backward pass takes zeros for gradients that are missing, or asks whether they are: what is
/// recorded serves only where all of them are there.
pub fn keep_whole() {
    if capture::active() {
        with_recorder(|recorder| recorder.keep_whole());
    }
}

/// Runs a kernel of any number of operands; in a capture, it is recorded.
///
/// # Errors
/// What the kernel reports.
pub fn run_kernel(
    name: &'static str,
    reads: &[View<'_>],
    writes: &mut [ViewMut<'_>],
    run: Run,
    objects: &mut Objects,
) -> Result<()> {
    let _paused = capture::active().then(|| {
        record(Launch {
            name,
            reads: reads.iter().map(Into::into).collect(),
            writes: writes.iter().map(Into::into).collect(),
            work: Work::Kernel(run.clone()),
        })
    });
    run(reads, writes, objects)
}

/// What follows from the values of the operands, as a number. In a capture, replays hold their values to it: where they
/// would decide otherwise, they end with `Diverged`.
pub fn decide(
    name: &'static str,
    reads: &[View<'_>],
    choose: impl Fn(&[View<'_>]) -> u64 + Send + Sync + 'static,
) -> u64 {
    let taken = choose(reads);
    if capture::active() && reads.iter().any(|read| capture::varies_at(read.ptr.addr())) {
        let run: Run = Arc::new(move |reads, _, _| {
            if choose(reads) == taken {
                return Ok(());
            }
            Err(Box::new(Error::Diverged { op: name.into() }))
        });
        let reads = reads.iter().map(Into::into).collect();
        let launch = Launch { name, reads, writes: SmallVec::new(), work: Work::Decision(run) };
        drop(record(launch));
    }
    taken
}

/// Whether a kernel succeeded, as a program asks.
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

/// A kernel that names the matrix of a stack for which it has no answer.
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

/// Stands first in a public kernel: `launch!("name", [reads] => [writes]; parameters; body)`. A parameter that is
/// borrowed is given as `p = p.to_vec()`, which is only computed when the launch is recorded; the body sees the name in
/// both cases. The body is the kernel. A kernel that programs know has `as work` in the place of its parameters.
macro_rules! launch {
    ($name:expr, [$($r:ident),*] => [$($w:ident),*] as $work:expr; $body:expr) => {{
        let paused = $crate::array::capture::active().then(|| {
            $crate::kernels::launch::record($crate::kernels::launch::Launch {
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
            paused = Some($crate::kernels::launch::record($crate::kernels::launch::Launch {
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

//! Errors: one enum with the message and the Python class of every variant, and the warnings of conversions.
//!
//! A message reads `operation: what happened, with the values; what to do`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use crate::dtype::DType;

/// Results of the crate; the error is boxed so that success moves one word.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// An exception of the host language (Python), passed through Rust unchanged.
pub struct HostError {
    /// The host's exception object.
    pub payload: Box<dyn Any + Send + Sync>,
    /// The operation during which it was raised; the host attaches it as a note.
    pub during: String,
}

impl fmt::Debug for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostError(during {:?})", self.during)
    }
}

/// A shape as printed in messages: `(2, 3)`, `(4,)`, `()`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dims(pub Vec<usize>);

impl From<&[usize]> for Dims {
    fn from(dims: &[usize]) -> Dims {
        Dims(dims.to_vec())
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "({one},)"),
            many => {
                let parts: Vec<String> = many.iter().map(|d| d.to_string()).collect();
                write!(f, "({})", parts.join(", "))
            }
        }
    }
}

/// The call site of an operation in a message; prints nothing when it is not known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CalledAt(pub Option<String>);

impl fmt::Display for CalledAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |site| write!(f, " (called at {site})"))
    }
}

/// The name of an operation in a message.
pub type Op = Cow<'static, str>;

/// The valid axes.
fn axis_remedy(ndim: usize) -> String {
    match ndim.checked_sub(1) {
        Some(last) => format!("use an axis from -{ndim} to {last}"),
        None => "leave the axis out".to_owned(),
    }
}

/// How to store an integer that is out of the dtype's range.
fn integer_remedy(dtype: DType) -> &'static str {
    match dtype {
        DType::I64 | DType::U64 => "give a float",
        _ => "convert the tensor with astype(fg.int64) first, or give a float",
    }
}

/// The valid indices.
fn index_remedy(size: usize) -> String {
    match size.checked_sub(1) {
        Some(last) => format!("use an index from -{size} to {last}"),
        None => "the axis is empty".to_owned(),
    }
}

/// A lossy conversion that does not fail. The host reports it; without a host nothing is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warning {
    /// Complex numbers become real and lose their imaginary part.
    Imaginary,
    /// A float is out of range for the integer dtype, or NaN.
    InvalidCast,
}

impl Warning {
    /// NumPy's text.
    pub fn text(self) -> &'static str {
        match self {
            Warning::Imaginary => "Casting complex values to real discards the imaginary part",
            Warning::InvalidCast => "invalid value encountered in cast",
        }
    }
}

/// Reports a warning; an error where the host turns warnings into errors.
type WarningHandler = fn(Warning) -> Result<()>;

static WARNING_HANDLER: OnceLock<WarningHandler> = OnceLock::new();

/// Sets the host's handler; the first one stays.
pub fn set_warn(handler: WarningHandler) {
    let _ = WARNING_HANDLER.set(handler);
}

/// Reports a warning.
#[cold]
pub(crate) fn warn(warning: Warning) -> Result<()> {
    WARNING_HANDLER.get().map_or(Ok(()), |handler| handler(warning))
}

macro_rules! errors {
    ($( $(#[doc = $doc:literal])* $variant:ident { $($field:ident : $ty:ty),* } => $class:ident, $msg:literal $(, $call:ident(*.$part:ident))?; )*) => {
        /// What went wrong. Each variant is one row of `tests/operations/test_errors.py`.
        #[derive(Debug, thiserror::Error)]
        #[allow(missing_docs)]
        pub enum Error {
            $( $(#[doc = $doc])* #[error($msg $(, $call(*.$part))?)] $variant { $($field: $ty),* }, )*
            /// An exception of the host language.
            #[error("{}: the host raised an exception", .0.during)]
            Host(HostError),
            /// Another error, with what helps to find its cause.
            #[error("{error}\n{note}")]
            Noted { error: Box<Error>, note: String },
        }

        impl Error {
            /// The Python exception class of this variant.
            pub fn class(&self) -> &'static str {
                match self {
                    $( Error::$variant { .. } => stringify!($class), )*
                    Error::Host(_) => "Exception",
                    Error::Noted { error, .. } => error.class(),
                }
            }

            /// The variant's name.
            pub fn variant(&self) -> &'static str {
                match self {
                    $( Error::$variant { .. } => stringify!($variant), )*
                    Error::Host(_) => "Host",
                    Error::Noted { error, .. } => error.variant(),
                }
            }

            /// Every variant's name, for the test that demands a row for each.
            pub const VARIANTS: &'static [&'static str] = &[$( stringify!($variant) ),*];
        }
    };
}

errors! {
    /// Two shapes that no broadcasting unites.
    Broadcast { op: Op, a: Dims, b: Dims } => ShapeError,
        "{op}: shapes {a} and {b} do not broadcast together; reshape or expand one of them";
    /// A shape that the operation cannot take.
    Shape { op: Op, what: String, remedy: &'static str } => ShapeError,
        "{op}: {what}; {remedy}";
    /// Matrix operands whose inner dimensions differ.
    MatmulShapes { a: Dims, b: Dims } => ShapeError,
        "matmul: shapes {a} and {b} do not multiply: the last dimension of the first must equal the second-last of the second (or its only one); transpose or reshape one of them";
    /// A reshape that changes the number of elements.
    Reshape { from: Dims, to: String } => ShapeError,
        "reshape: cannot reshape {from} into {to}; the number of elements must stay the same";
    /// More elements than an array can address.
    TooLarge { op: Op, dims: Dims } => ShapeError,
        "{op}: an array of shape {dims} has more elements than memory can address; use a smaller shape";
    /// The allocator refused.
    Memory { bytes: usize } => OutOfMemoryError,
        "allocation: {bytes} bytes could not be allocated; free some tensors or use smaller ones";
    /// An axis outside the array.
    Axis { op: Op, axis: isize, ndim: usize } => AxisError,
        "{op}: axis {axis} is out of bounds for an array of {ndim} dimensions; {}", axis_remedy(*.ndim);
    /// The same axis named twice.
    RepeatedAxis { op: Op, axis: isize } => AxisError,
        "{op}: axis {axis} is named more than once; name each axis once";
    /// An index outside its axis.
    IndexRange { op: Op, index: i64, axis: usize, size: usize } => IndexOutOfRangeError,
        "{op}: index {index} is out of range for axis {axis} of size {size}; {}", index_remedy(*.size);
    /// An index of a kind that does not index.
    BadIndex { op: Op, what: String, remedy: &'static str } => IndexOutOfRangeError,
        "{op}: {what}; {remedy}";
    /// A dtype that the operation does not take.
    DType { op: Op, got: DType, remedy: &'static str } => DTypeError,
        "{op}: dtype {got} is not supported; {remedy}";
    /// Data that no tensor can hold.
    Unsupported { op: Op, what: String, remedy: &'static str } => DTypeError,
        "{op}: {what}; {remedy}";
    /// An argument of the wrong type.
    ArgumentType { op: Op, what: String, remedy: String } => ArgumentTypeError,
        "{op}: {what}; {remedy}";
    /// An argument of the right type and a value that makes no sense.
    Argument { op: Op, what: String, remedy: String } => ArgumentError,
        "{op}: {what}; {remedy}";
    /// A Python integer that is no value of the dtype it meets.
    IntegerRange { op: Op, value: String, dtype: DType } => IntegerRangeError,
        "{op}: the Python integer {value} does not fit {dtype}; {}", integer_remedy(*.dtype);
    /// A float that is to become an integer and is none.
    NoInteger { op: Op, value: f64, dtype: DType } => IntegerRangeError,
        "{op}: {value} cannot become an element of {dtype}; give a finite number, or use a float dtype";
    /// A matrix for which the operation has no answer.
    Matrix { op: Op, what: String, remedy: &'static str } => MatrixError,
        "{op}: {what}; {remedy}";
    /// Only floating-point tensors have gradients.
    NotFloat { op: Op, got: DType } => DTypeError,
        "{op}: only floating-point tensors can require gradients, and this one is {got}; convert it with .astype(fg.float64)";
    /// `backward` on something that no operation recorded.
    NoGraph { op: Op, why: String } => GradientError,
        "{op}: Tensor is not in the computational graph or graph is disabled: the tensor does not require grad{why}";
    /// A root that is not one element needs an explicit gradient.
    NotScalar { op: Op, dims: Dims, argument: &'static str } => GradientError,
        "{op}: Gradient must be provided for non-scalar tensors: the shape is {dims}; pass {argument}= or reduce with .sum()";
    /// A gradient whose shape is not its tensor's.
    GradientShape { op: Op, got: Dims, want: Dims } => ShapeError,
        "{op}: the gradient has shape {got} but its tensor has shape {want}; give a gradient of the tensor's shape";
    /// A wanted input that the outputs do not depend on.
    Unreachable { op: Op, index: usize } => GradientError,
        "{op}: input {index} was not used to compute the outputs; pass allow_unused=True to get None, or materialize_grads=True to get zeros";
    /// The saved values of a node are gone.
    GraphFreed { op: Op } => GraphFreedError,
        "backward: the saved values of \"{op}\" were freed by an earlier backward; pass retain_graph=True to the first call, or, where a tensor holds what an earlier step wrote into it, begin with b[:] = 0 or b.detach_()";
    /// A saved value was changed in place before its use.
    Modified { saved_by: Op, saved_at: CalledAt, changed_by: Op, changed_at: CalledAt, saved: u32, now: u32 } => InPlaceError,
        "backward: a value saved by \"{saved_by}\"{saved_at} was changed in place by \"{changed_by}\"{changed_at} (version {saved} became {now}); change a clone() instead, or call backward first; see docs/when_it_goes_wrong.md";
    /// An in-place operation that autograd must refuse.
    InPlace { op: Op, what: String, remedy: &'static str } => InPlaceError,
        "{op}: {what}; {remedy}";
    /// A tensor of inference mode where autograd needs a normal one.
    Inference { op: Op, what: &'static str, remedy: &'static str } => InferenceError,
        "{op}: {what}; {remedy}";
    /// A tensor with a tangent of forward mode that was kept from a call that has ended.
    KeptTangent { op: Op, what: String } => GradientError,
        "{op}: used {what} in an earlier call of a transform, which has ended, so that the derivative through it would be missing; compute it in this call, or keep x.detach() or an array where a constant is meant; begin a workspace that is used again with b[:] = 0 (fg.record_call_sites() tells the line that made it); see docs/when_it_goes_wrong.md";
    /// An operation has no derivative rule.
    NotDifferentiable { op: Op, what: String, remedy: String } => NotDifferentiableError,
        "{op}: {what}; {remedy}";
    /// Leaving the graph without saying so.
    GraphCut { op: Op, remedy: &'static str } => GraphCutError,
        "{op}: the result would silently leave the graph of a tensor that requires grad; {remedy}";
    /// Memory that cannot be exchanged with another library as asked.
    Exchange { op: Op, what: String, remedy: &'static str } => ExchangeError,
        "{op}: {what}; {remedy}";
    /// A graph that would contain itself.
    Cycle { op: Op, consumer: String, producer: String } => CycleError,
        "{op}: an edge from \"{consumer}\" to \"{producer}\" would close a cycle; build the output from the inputs, not the inputs from the output";
    /// A state in which the call makes no sense.
    State { op: Op, what: String, remedy: &'static str } => GradientError,
        "{op}: {what}; {remedy}";
    /// What a traced function must not do.
    NotTraceable { op: Op, what: String, remedy: &'static str } => CompileError,
        "{op}: {what}; {remedy}";
    /// A message that a source document fixes word for word.
    Contract { what: String } => ContractError,
        "{what}";
    /// Gradients of a custom function: their number or their shapes.
    Gradients { what: String } => ShapeError, "{what}";
    /// A saved tensor that a custom function never saved.
    SavedIndex { what: String } => IndexOutOfRangeError, "{what}";
    /// A bug of ours, never of the user.
    Internal { op: Op, what: String } => InternalError,
        "{op}: internal error: {what}; please report it";
    /// A replay met values for which the recorded function decided otherwise: the function itself is called.
    Diverged { op: Op } => BaseException,
        "{op}: these values take another way than the recorded ones";
    /// A computation that is being repeated has yielded what was asked for: ends it, never reaches the user.
    Enough { op: Op } => BaseException,
        "{op}: all saved values are computed again";
    /// The user pressed Ctrl-C.
    Interrupted { op: Op } => KeyboardInterrupt,
        "{op}: interrupted; no gradient was changed";
}

/// The exception classes: name, Python bases (builtins, others with their module), documentation.
pub const CLASSES: &[(&str, &[&str], &str)] = &[
    ("ShapeError", &["ValueError"], "Shapes that do not fit the operation or each other."),
    ("AxisError", &["ValueError", "IndexError"], "An axis that the array does not have."),
    ("DTypeError", &["TypeError"], "An element type that the operation does not take."),
    ("ArgumentError", &["ValueError"], "An argument whose value makes no sense."),
    (
        "IntegerRangeError",
        &["OverflowError", "ValueError"],
        "A Python integer that the dtype it meets does not hold.",
    ),
    ("ArgumentTypeError", &["TypeError"], "An argument of the wrong type."),
    (
        "IndexOutOfRangeError",
        &["IndexError"],
        "An index outside its axis, or one that cannot index.",
    ),
    ("OutOfMemoryError", &["MemoryError"], "An allocation that the system refused."),
    (
        "MatrixError",
        &["numpy.linalg.LinAlgError"],
        "A matrix that is singular, not positive definite, or not finite.",
    ),
    ("GradientError", &["RuntimeError"], "A gradient that cannot be computed as asked."),
    ("GraphFreedError", &["RuntimeError"], "A backward through saved values that are gone."),
    ("InPlaceError", &["RuntimeError"], "An in-place change that would falsify a gradient."),
    (
        "InferenceError",
        &["RuntimeError"],
        "A tensor made in inference mode where autograd needs a normal one.",
    ),
    ("CycleError", &["RuntimeError"], "A graph that would contain itself."),
    ("NotDifferentiableError", &["NotImplementedError"], "An operation without a derivative rule."),
    ("GraphCutError", &["TypeError"], "A conversion that would silently cut the graph."),
    ("ExchangeError", &["BufferError"], "Memory that cannot be exchanged with another library."),
    (
        "CompileError",
        &["RuntimeError"],
        "A function that fg.compile cannot record, or a call that its programs cannot serve.",
    ),
    ("ContractError", &["RuntimeError"], "A custom function that breaks its contract."),
    ("InternalError", &["RuntimeError"], "A bug in ferrograd."),
];

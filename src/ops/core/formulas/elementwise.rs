//! Element-wise operations: dtype dispatch, promotion and broadcasting of operands, the forward loop, and recording.
//!
//! Invariant: a derivative sees operands of one dtype and of the output's shape.

use crate::array::{Layout, Storage, observer};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, DUAL, Flags, GRAD, Mode, RuleRef, Saved, forward_ad};
use crate::kernels::elementwise::{Flat, FlatOperand, LoopOperand, LoopTable, apply};
use crate::kernels::launch;
use crate::ops::core::broadcast::broadcast_to;
use crate::ops::core::int_range;
use crate::ops::core::int_range::check_int_range;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::op_facts::IntegerPromotion;
use crate::ops::core::symbolic::Symbol;
use crate::tensor;
use crate::tensor::{Edge, Tensor};

/// A borrowed operand: a tensor or a scalar.
#[derive(Clone, Copy)]
pub enum OperandRef<'a> {
    /// Elements.
    Tensor(&'a Tensor),
    /// One number for all elements, in the dtype of the tensors.
    Scalar(Scalar),
}

impl<'a> From<&'a Operand> for OperandRef<'a> {
    fn from(operand: &'a Operand) -> OperandRef<'a> {
        match operand {
            Operand::Tensor(t) => OperandRef::Tensor(t),
            Operand::Scalar(s) => OperandRef::Scalar(*s),
        }
    }
}

impl<'a> OperandRef<'a> {
    /// The number of elements.
    #[cfg(feature = "python")]
    #[inline]
    pub(crate) fn size(self) -> usize {
        self.tensor().map_or(1, Tensor::size)
    }

    pub(in crate::ops::core) fn tensor(self) -> Option<&'a Tensor> {
        match self {
            OperandRef::Tensor(t) => Some(t),
            OperandRef::Scalar(_) => None,
        }
    }

    /// The operand of a small contiguous call, if it is no strided tensor. A tensor is known to have `n` elements.
    #[inline(always)]
    pub(in crate::ops) fn flat(self, n: usize) -> Option<FlatOperand<'a>> {
        match self {
            OperandRef::Tensor(t) if t.is_contiguous() => {
                Flat::run(t.storage(), (t.layout().offset(), n), t.dtype())
                    .map(FlatOperand::Elements)
            }
            OperandRef::Tensor(t) => t.repeated().map(FlatOperand::Repeated),
            OperandRef::Scalar(Scalar::Int(i)) => Some(FlatOperand::Int(i)),
            OperandRef::Scalar(s) => Some(FlatOperand::Float(s.as_f64())),
        }
    }

    pub(in crate::ops) fn input(self) -> LoopOperand<'a> {
        match self {
            OperandRef::Tensor(t) => LoopOperand::View(t.view_of()),
            OperandRef::Scalar(Scalar::Int(i)) => LoopOperand::Int(i),
            OperandRef::Scalar(s) => LoopOperand::Float(s.as_f64()),
        }
    }
}

/// What an argument of a derivative refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The output's gradient.
    Grad,
    /// Operand `.0`.
    Input(u8),
    /// The output.
    Output,
}

/// How the gradient of one operand is computed.
pub enum Derivative {
    /// The output's gradient unchanged.
    Identity,
    /// Zero everywhere.
    Zero,
    /// A formula of the sources.
    Formula {
        /// Its arguments, in the order of the formula.
        uses: &'static [Source],
        /// The numeric interpretation: a loop.
        table: &'static LoopTable,
        /// The symbolic interpretation, of arguments and then parameters.
        symbolic: fn(&[Symbol]) -> Symbol,
    },
}

/// Checks operands beyond dtype and shape, and parameters; its error names them.
pub type OperandCheck = fn(&[OperandRef<'_>], DType, &[f64]) -> Result<()>;

/// Computes an operation on complex operands without a loop.
pub type ComplexImpl = fn(&[&Tensor]) -> Result<Tensor>;

/// One element-wise operation.
pub struct Elementwise {
    /// Its name in the graph and in error messages.
    pub name: &'static str,
    /// The forward loops.
    pub forward: &'static LoopTable,
    /// How integers are promoted when there is no integer loop.
    pub integer_promotion: IntegerPromotion,
    /// Whether it is a comparison: its result depends only on the order of two operands.
    pub compares: bool,
    /// Refuses some operands although there is a loop for their dtype.
    pub operand_check: Option<OperandCheck>,
    /// For a right operand that is this number: an equivalent unary operation, used if it supports the left operand's dtype.
    pub unary_for_scalar: Option<fn(f64) -> Option<&'static Elementwise>>,
    /// The implementation for complex operands if the operation is not holomorphic and thus has no complex loop.
    pub complex: Option<ComplexImpl>,
    /// What the derivatives read, in the order of the saved values.
    pub saves: &'static [Source],
    /// For each saved value, a bit mask of the operands whose derivatives read it.
    pub readers: [u8; 4],
    /// One derivative per operand; empty for an operation without derivatives.
    pub by: &'static [Derivative],
}

impl std::fmt::Debug for Elementwise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Elementwise({})", self.name)
    }
}

impl Elementwise {
    #[inline]
    pub(in crate::ops) fn takes(&self, dtype: DType) -> bool {
        self.forward.takes(dtype)
    }

    /// The dtype to compute in: the common dtype if there is a loop for it, else the float or integer it promotes to.
    pub(in crate::ops) fn compute_dtype(&self, common: DType) -> Result<DType> {
        let stand_in = match common {
            _ if self.takes(common) => return Ok(common),
            DType::Bool if self.integer_promotion == IntegerPromotion::NotBool => {
                return Err(self.dtype_error(common));
            }
            // Booleans compute as int8.
            DType::Bool if self.forward.float && self.takes(DType::I64) => DType::I8,
            _ if self.forward.float => self.float_for(common),
            _ => DType::I8,
        };
        if self.takes(stand_in) && !common.is_inexact() {
            return Ok(stand_in);
        }
        Err(self.dtype_error(common))
    }

    /// The float dtype that a dtype without a loop promotes to.
    fn float_for(&self, dtype: DType) -> DType {
        match self.integer_promotion {
            IntegerPromotion::SmallestFloat => dtype.to_ufunc_float(),
            _ => dtype.to_float(),
        }
    }

    /// [`compute_dtype`](Self::compute_dtype) for several dtypes: each is promoted to a float first, which may give a
    /// narrower dtype than promoting their common one.
    fn compute_dtype_of(&self, dtypes: &[DType]) -> Result<DType> {
        let promoted = |all: &mut dyn Iterator<Item = DType>| all.reduce(DType::promote);
        let common = promoted(&mut dtypes.iter().copied()).unwrap_or(DType::F64);
        let whole = !common.is_inexact() && common != DType::Bool && !self.takes(common);
        if whole && self.forward.float && self.takes(DType::F64) {
            let each = promoted(&mut dtypes.iter().map(|&dtype| self.float_for(dtype)));
            return Ok(each.unwrap_or(DType::F64));
        }
        self.compute_dtype(common)
    }

    #[cold]
    fn dtype_error(&self, got: DType) -> Box<Error> {
        let remedy = match got {
            DType::Bool => "convert it with astype(fg.int64), or use a logical operation",
            DType::C64 | DType::C128 => "compute with x.real, x.imag or abs(x)",
            _ => "use an integer or boolean dtype, as astype(fg.int64) gives",
        };
        Box::new(Error::DType { op: self.name.into(), got, remedy })
    }

    /// Computes and records; operands have one dtype and shape.
    #[inline]
    pub(in crate::ops) fn run<const N: usize>(
        &'static self,
        operands: [OperandRef<'_>; N],
        layout: &Layout,
        dtype: DType,
        params: &[f64],
    ) -> Result<Tensor> {
        if let Some(check) = self.operand_check {
            check(&operands, dtype, params)?;
        }
        if self.unary_for_scalar.is_some() && observer::is_active() {
            let traced = |operand: &OperandRef<'_>| operand.tensor().is_some_and(is_traced_scalar);
            if operands.iter().any(traced) {
                refuse_traced_scalar(self.name);
            }
        }
        let out_dtype = self.forward.result(dtype);
        let mut out = if layout.is_contiguous() {
            // Assembled in place: a result that passes through more functions is moved each time.
            let nbytes = layout.numel().saturating_mul(out_dtype.size());
            Tensor::assemble(Storage::alloc(nbytes)?, layout.with_offset(0), out_dtype, None)
        } else {
            Tensor::empty(layout.dims(), out_dtype)?
        };
        let computed = match Flat::run(out.storage(), (0, layout.numel()), out_dtype) {
            Some(target) => self.run_flat(&operands, dtype, target, params),
            None => false,
        };
        if !computed {
            apply(self.forward, &operands.map(OperandRef::input), out.view_mut(), params);
        }
        let tensors = || operands.iter().filter_map(|operand| operand.tensor());
        let mode = Mode::current();
        if mode.plain_results() && tensors().all(Tensor::is_plain) {
            return Ok(out);
        }
        Ok(match self.record_or_note(&operands, &mut out, params, mode)? {
            Some(edge) => out.recorded(edge),
            None => out,
        })
    }

    /// Records the result, or notes why it has no history.
    #[inline(never)]
    pub(super) fn record_or_note<const N: usize>(
        &'static self,
        operands: &[OperandRef<'_>; N],
        out: &mut Tensor,
        params: &[f64],
        mode: Mode,
    ) -> Result<Option<Edge>> {
        let tensors = operands.iter().filter_map(|operand| operand.tensor());
        if self.by.is_empty() {
            out.note_underived(tensors, mode);
            return Ok(None);
        }
        if mode.0 & (GRAD | DUAL) != 0 && out.dtype().is_inexact() {
            let edges = operands.map(|operand| operand.tensor().and_then(Tensor::grad_edge));
            if mode.has(DUAL)
                && edges.iter().any(Option::is_some)
                && let Some(edge) = self.push_from_operands(operands, &edges, out, params)?
            {
                return Ok(edge);
            }
            let edges = if mode.has(DUAL) { edges.map(forward_ad::admitted) } else { edges };
            if edges.iter().any(Option::is_some) {
                return self.record(operands, edges, out, params).map(Some);
            }
        }
        out.note_unrecorded(tensors, mode);
        Ok(None)
    }

    /// Fast path for few contiguous elements of one dtype, without a loop plan; returns whether it applied.
    #[inline(always)]
    pub(in crate::ops) fn run_flat(
        &self,
        operands: &[OperandRef<'_>],
        dtype: DType,
        out: Flat<'_>,
        params: &[f64],
    ) -> bool {
        let n = out.len();
        if operands.len() > 3 {
            return false;
        }
        let Some(flat_loop) = self.forward.flat_loop(dtype) else { return false };
        let Some(a) = flat_at(operands, 0, n) else { return false };
        let Some(b) = flat_at(operands, 1, n) else { return false };
        let Some(c) = flat_at(operands, 2, n) else { return false };
        flat_loop.apply([a, b, c], out, params)
    }

    #[inline]
    fn record<const N: usize>(
        &'static self,
        operands: &[OperandRef<'_>; N],
        edges: [Option<Edge>; N],
        out: &Tensor,
        params: &[f64],
    ) -> Result<Edge> {
        let mut wanted = 0;
        for (i, edge) in edges.iter().enumerate() {
            wanted |= u8::from(edge.is_some()) << i;
        }
        let cost = 40.0 + out.size() as f32 * self.forward.cost(out.dtype());
        let facts = (1, cost, Flags::NONE);
        let node = graph::record_with(RuleRef::Static(self), facts, |inputs, saved| {
            for edge in edges {
                inputs.push(edge);
            }
            // Each entry is written to its final place: moving it would read it back before it has left the store buffer.
            for (&source, readers) in self.saves.iter().zip(self.readers) {
                match source {
                    _ if readers & wanted == 0 => saved.push(Saved::None),
                    Source::Output => saved.push(Saved::output(out, 0)),
                    Source::Input(k) => match operands[k as usize] {
                        OperandRef::Scalar(s) => saved.push(Saved::Scalar(s.as_f64())),
                        OperandRef::Tensor(t) => saved.push(Saved::input(t, u32::from(k))),
                    },
                    Source::Grad => saved.push(Saved::None),
                }
            }
            saved.extend(params.iter().map(|&p| Saved::Scalar(p)));
        })?;
        Ok(Edge::new(forward_ad::with_tangents(node, std::slice::from_ref(out))?, 0))
    }
}

/// Operand `k` of a small contiguous call on `n` elements, if there are so many; None if it does not fit.
#[inline(always)]
fn flat_at<'a>(operands: &[OperandRef<'a>], k: usize, n: usize) -> Option<Option<FlatOperand<'a>>> {
    match operands.get(k) {
        Some(operand) => operand.flat(n).map(Some),
        None => Some(None),
    }
}

/// Whether a tensor is a one-element argument of a function that is being traced.
#[cold]
fn is_traced_scalar(x: &Tensor) -> bool {
    x.storage().nbytes() <= 8 && observer::is_argument(x.storage().ptr().addr())
}

/// Refuses to trace: the operation chooses another implementation for some scalars, so a traced scalar would be baked in.
#[cold]
fn refuse_traced_scalar(op: &'static str) {
    if let Some(tracer) = launch::tracer() {
        tracer.refuse_number(op);
    }
}

/// Applies a one-operand operation.
#[inline]
pub fn unary(op: &'static Elementwise, x: &Tensor) -> Result<Tensor> {
    unary_with(op, x, &[])
}

/// Applies a one-operand operation with parameters.
#[inline]
pub fn unary_with(op: &'static Elementwise, x: &Tensor, params: &[f64]) -> Result<Tensor> {
    if op.takes(x.dtype()) {
        return op.run([OperandRef::Tensor(x)], x.layout(), x.dtype(), params);
    }
    if let (Some(complex), true) = (op.complex, x.dtype().is_complex()) {
        return complex(&[x]);
    }
    op.run_converted([OperandRef::Tensor(x)], x.layout(), op.compute_dtype(x.dtype())?, params)
}

/// Applies a two-operand operation.
#[inline]
pub fn binary(op: &'static Elementwise, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype() == b.dtype() && a.layout().same_dims(b.layout()) && op.takes(a.dtype()) {
        return op.run([OperandRef::Tensor(a), OperandRef::Tensor(b)], a.layout(), a.dtype(), &[]);
    }
    binary_slow(op, a, b)
}

#[cold]
#[inline(never)]
fn binary_slow(op: &'static Elementwise, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let (Some(complex), true) = (op.complex, a.dtype().promote(b.dtype()).is_complex()) {
        return complex(&[a, b]);
    }
    if op.compares && int_range::differ_in_sign(a.dtype(), b.dtype()) {
        return int_range::compare_mixed_sign(op, a, b);
    }
    if a.dtype() == b.dtype() && op.takes(a.dtype()) {
        if a.layout().can_broadcast_from(b.layout()) {
            return binary(op, a, &broadcast_to(b, a.shape())?);
        }
        if b.layout().can_broadcast_from(a.layout()) {
            return binary(op, &broadcast_to(a, b.shape())?, b);
        }
    }
    op.run_promoted([a, b], op.compute_dtype_of(&[a.dtype(), b.dtype()])?)
}

/// Applies a two-operand operation to a tensor and a scalar.
#[inline]
pub fn binary_scalar(op: &'static Elementwise, a: &Tensor, b: Scalar) -> Result<Tensor> {
    if let Scalar::Complex(..) = b {
        return binary(op, a, &scalar_as_tensor(b, a)?);
    }
    if let Some(unary_for) = op.unary_for_scalar
        && (a.dtype().is_inexact() || (a.dtype().is_integer() && matches!(b, Scalar::Int(_))))
        && let Some(same) = unary_for(b.as_f64()).filter(|same| same.takes(a.dtype()))
    {
        return unary(same, a);
    }
    if a.dtype().is_float() && op.takes(a.dtype()) {
        return op.run([OperandRef::Tensor(a), OperandRef::Scalar(b)], a.layout(), a.dtype(), &[]);
    }
    if op.complex.is_some() && a.dtype().is_complex() {
        return binary(op, a, &scalar_as_tensor(b, a)?);
    }
    let (dtype, b) = promote_with_scalar(op, a, b)?;
    op.run_converted([OperandRef::Tensor(a), OperandRef::Scalar(b)], a.layout(), dtype, &[])
}

/// Applies a two-operand operation to a scalar and a tensor.
#[inline]
pub fn scalar_binary(op: &'static Elementwise, a: Scalar, b: &Tensor) -> Result<Tensor> {
    if let Scalar::Complex(..) = a {
        return binary(op, &scalar_as_tensor(a, b)?, b);
    }
    if !b.dtype().is_float() && op.complex.is_some() && b.dtype().is_complex() {
        return binary(op, &scalar_as_tensor(a, b)?, b);
    }
    let (dtype, a) = promote_with_scalar(op, b, a)?;
    op.run_converted([OperandRef::Scalar(a), OperandRef::Tensor(b)], b.layout(), dtype, &[])
}

/// A complex scalar as a 0-d tensor of the dtype it has when combined with `x`.
#[cold]
fn scalar_as_tensor(number: Scalar, x: &Tensor) -> Result<Tensor> {
    Tensor::full(&[], number, x.dtype().promote_weak(number.weak()))
}

#[inline]
fn promote_with_scalar(
    op: &'static Elementwise,
    x: &Tensor,
    scalar: Scalar,
) -> Result<(DType, Scalar)> {
    if x.dtype().is_float() && op.takes(x.dtype()) {
        return Ok((x.dtype(), scalar));
    }
    let dtype = op.compute_dtype(x.dtype().promote_weak(scalar.weak()))?;
    match check_int_range(op.name, dtype, scalar) {
        Ok(scalar) => Ok((dtype, scalar)),
        // A comparison with a number outside the dtype's range has the answer of an infinity.
        Err(_) if op.forward.mask => {
            let infinity = f64::INFINITY.copysign(scalar.as_f64());
            Ok((DType::F64, Scalar::Float(infinity)))
        }
        Err(error) => Err(error),
    }
}

impl Elementwise {
    /// Applies an operation of one or two operands.
    pub fn apply(&'static self, operands: &[OperandRef<'_>]) -> Result<Tensor> {
        use OperandRef::{Scalar, Tensor};
        match *operands {
            [Tensor(x)] => unary(self, x),
            [Tensor(a), Tensor(b)] => binary(self, a, b),
            [Tensor(a), Scalar(b)] => binary_scalar(self, a, b),
            [Scalar(a), Tensor(b)] => scalar_binary(self, a, b),
            [Scalar(a), Scalar(b)] => binary_scalar(self, &tensor::Tensor::scalar(a), b),
            _ => unreachable!("an operation of one or two operands"),
        }
    }
}

/// Applies a two-operand operation to tensors or scalars.
pub fn binary_operands(op: &'static Elementwise, a: &Operand, b: &Operand) -> Result<Tensor> {
    op.apply(&[OperandRef::from(a), OperandRef::from(b)])
}

//! Element-wise operations: one declaration, one gate, one backward for all of them.
//!
//! Owns: `Elementwise` (forward loops, derivatives, what to save), promotion and broadcasting of operands.
//! Never contains the formula of an operation: those are the declarations in the family files.
//! Invariant: a derivative sees operands of one dtype and of the output's shape.

use crate::array::{Layout, Storage, capture};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, Flags, GRAD, Mode, RuleRef, Saved};
use crate::kernels::elementwise::{Flat, FlatIn, LoopTable, apply, apply_flat};
use crate::ops::core::broadcast::broadcast_to;
use crate::ops::core::int_range;
use crate::ops::core::int_range::in_range;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::op_facts::WholeNumbers;
pub use crate::ops::core::operand::Slot;
use crate::ops::core::operand::{refuse_number, stands_for_number};
use crate::ops::core::symbolic::Sym;
use crate::tensor::{Edge, Tensor};

/// Where an argument of a derivative comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The gradient of the output.
    Grad,
    /// Operand number `.0`.
    Input(u8),
    /// The output itself.
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
        /// Its arguments, in the order of the text.
        uses: &'static [Source],
        /// The text as a loop.
        table: &'static LoopTable,
        /// The text as symbols: arguments, then parameters.
        sym: fn(&[Sym]) -> Sym,
    },
}

/// A check of operands beyond dtype and shape, and of parameters; its error names them.
pub type Guard = fn(&[Slot<'_>], DType, &[f64]) -> Result<()>;

/// A function of complex operands that no loop computes.
pub type OfComplex = fn(&[&Tensor]) -> Result<Tensor>;

/// One element-wise operation.
pub struct Elementwise {
    /// Its name in the graph and in messages.
    pub name: &'static str,
    /// The forward loops.
    pub forward: &'static LoopTable,
    /// What becomes of whole numbers without a loop.
    pub whole_numbers: WholeNumbers,
    /// Whether its result follows from the order of two operands.
    pub compares: bool,
    /// What it refuses although it has a loop for the dtype.
    pub guard: Option<Guard>,
    /// What computes the same of one operand beside this number on the right, if it takes the operand's dtype.
    pub beside_number: Option<fn(f64) -> Option<&'static Elementwise>>,
    /// What computes it of complex operands, where the loops cannot: it is not holomorphic.
    pub complex: Option<OfComplex>,
    /// What the derivatives use, in the order of the saved values.
    pub saves: &'static [Source],
    /// For each of these the operands whose derivatives use it: bit `i` for operand `i`.
    pub readers: [u8; 4],
    /// One derivative per operand; empty for a constant operation.
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

    /// The dtype to compute in: the operands' own, else the float (or integer) that stands for it.
    pub(in crate::ops) fn compute_dtype(&self, common: DType) -> Result<DType> {
        let stand_in = match common {
            _ if self.takes(common) => return Ok(common),
            DType::Bool if self.whole_numbers == WholeNumbers::NotBool => {
                return Err(self.refuse(common));
            }
            // Arithmetic of booleans is that of int8.
            DType::Bool if self.forward.float && self.takes(DType::I64) => DType::I8,
            _ if self.forward.float => self.float_for(common),
            _ => DType::I8,
        };
        if self.takes(stand_in) && !common.is_inexact() {
            return Ok(stand_in);
        }
        Err(self.refuse(common))
    }

    /// The float that stands for a dtype.
    fn float_for(&self, dtype: DType) -> DType {
        match self.whole_numbers {
            WholeNumbers::SmallestFloat => dtype.to_ufunc_float(),
            _ => dtype.to_float(),
        }
    }

    /// The same for several dtypes: each becomes a float that stands for it, perhaps a narrower one than for all.
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
    fn refuse(&self, got: DType) -> Box<Error> {
        let remedy = match got {
            DType::Bool => "convert it with astype(fg.int64), or use a logical operation",
            DType::C64 | DType::C128 => "compute with x.real, x.imag or abs(x)",
            _ => "use an integer or boolean dtype, as astype(fg.int64) gives",
        };
        Box::new(Error::DType { op: self.name.into(), got, remedy })
    }

    /// Computes and records; operands agree in dtype and shape.
    #[inline]
    pub(in crate::ops) fn run<const N: usize>(
        &'static self,
        slots: [Slot<'_>; N],
        layout: &Layout,
        dtype: DType,
        params: &[f64],
    ) -> Result<Tensor> {
        if let Some(guard) = self.guard {
            guard(&slots, dtype, params)?;
        }
        if self.beside_number.is_some() && capture::active() {
            let given = |slot: &Slot<'_>| slot.tensor().is_some_and(stands_for_number);
            if slots.iter().any(given) {
                refuse_number(self.name);
            }
        }
        let out_dtype = self.forward.result(dtype);
        let mut out = if layout.is_contiguous() {
            // Put together here: a result that passes through others is copied each time.
            let nbytes = layout.numel().saturating_mul(out_dtype.size());
            Tensor::assemble(Storage::alloc(nbytes)?, layout.with_offset(0), out_dtype, None)
        } else {
            Tensor::empty(layout.dims(), out_dtype)?
        };
        if !self.run_flat(&slots, &out, layout.numel(), params) {
            apply(self.forward, &slots.map(Slot::input), out.view_mut(), params);
        }
        let operands = || slots.iter().filter_map(|slot| slot.tensor());
        let mode = Mode::current();
        if mode.plain_results() && operands().all(Tensor::is_plain) {
            return Ok(out);
        }
        Ok(match self.relate(&slots, &mut out, params, mode)? {
            Some(edge) => out.recorded(edge),
            None => out,
        })
    }

    /// Records what made the result, or notes why there is no history.
    #[inline(never)]
    pub(super) fn relate<const N: usize>(
        &'static self,
        slots: &[Slot<'_>; N],
        out: &mut Tensor,
        params: &[f64],
        mode: Mode,
    ) -> Result<Option<Edge>> {
        let operands = slots.iter().filter_map(|slot| slot.tensor());
        if self.by.is_empty() {
            out.note_underived(operands, mode);
            return Ok(None);
        }
        if mode.has(GRAD) && out.dtype().is_inexact() {
            let edges = slots.map(|slot| slot.tensor().and_then(Tensor::grad_edge));
            if edges.iter().any(Option::is_some) {
                return self.record(slots, edges, out, params).map(Some);
            }
        }
        out.note_unrecorded(operands, mode);
        Ok(None)
    }

    /// The call without a plan, for a few contiguous elements; says whether it was made.
    #[inline]
    fn run_flat<const N: usize>(
        &self,
        slots: &[Slot<'_>; N],
        out: &Tensor,
        n: usize,
        params: &[f64],
    ) -> bool {
        let Some(target) = Flat::run(out.storage(), (0, n), out.dtype()) else {
            return false;
        };
        let mut ins = [FlatIn::Int(0); N];
        for (input, slot) in ins.iter_mut().zip(slots) {
            let Some(flat) = slot.flat_of(n) else { return false };
            *input = flat;
        }
        apply_flat(self.forward, &ins, target, params)
    }

    #[inline]
    fn record<const N: usize>(
        &'static self,
        slots: &[Slot<'_>; N],
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
            // Each entry is written where it stays: one that is moved is read before it has left the store buffer.
            for (&source, readers) in self.saves.iter().zip(self.readers) {
                match source {
                    _ if readers & wanted == 0 => saved.push(Saved::None),
                    Source::Output => saved.push(Saved::output(out, 0)),
                    Source::Input(k) => match slots[k as usize] {
                        Slot::Scalar(s) => saved.push(Saved::Scalar(s.as_f64())),
                        Slot::Tensor(t) => saved.push(Saved::input(t, u32::from(k))),
                    },
                    Source::Grad => saved.push(Saved::None),
                }
            }
            saved.extend(params.iter().map(|&p| Saved::Scalar(p)));
        })?;
        Ok(Edge::new(node, 0))
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
        return op.run([Slot::Tensor(x)], x.layout(), x.dtype(), params);
    }
    if let (Some(complex), true) = (op.complex, x.dtype().is_complex()) {
        return complex(&[x]);
    }
    op.run_converted([Slot::Tensor(x)], x.layout(), op.compute_dtype(x.dtype())?, params)
}

/// Applies a two-operand operation.
#[inline]
pub fn binary(op: &'static Elementwise, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype() == b.dtype() && a.layout().same_dims(b.layout()) && op.takes(a.dtype()) {
        return op.run([Slot::Tensor(a), Slot::Tensor(b)], a.layout(), a.dtype(), &[]);
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
        return int_range::compare(op, a, b);
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

/// Applies a two-operand operation to a tensor and a number.
#[inline]
pub fn binary_scalar(op: &'static Elementwise, a: &Tensor, b: Scalar) -> Result<Tensor> {
    if let Scalar::Complex(..) = b {
        return binary(op, a, &beside_tensor(b, a)?);
    }
    if let Some(beside) = op.beside_number
        && (a.dtype().is_inexact() || (a.dtype().is_integer() && matches!(b, Scalar::Int(_))))
        && let Some(same) = beside(b.as_f64()).filter(|same| same.takes(a.dtype()))
    {
        return unary(same, a);
    }
    if a.dtype().is_float() && op.takes(a.dtype()) {
        return op.run([Slot::Tensor(a), Slot::Scalar(b)], a.layout(), a.dtype(), &[]);
    }
    if op.complex.is_some() && a.dtype().is_complex() {
        return binary(op, a, &beside_tensor(b, a)?);
    }
    let (dtype, b) = promote_beside_scalar(op, a, b)?;
    op.run_converted([Slot::Tensor(a), Slot::Scalar(b)], a.layout(), dtype, &[])
}

/// Applies a two-operand operation to a number and a tensor.
#[inline]
pub fn scalar_binary(op: &'static Elementwise, a: Scalar, b: &Tensor) -> Result<Tensor> {
    if let Scalar::Complex(..) = a {
        return binary(op, &beside_tensor(a, b)?, b);
    }
    if !b.dtype().is_float() && op.complex.is_some() && b.dtype().is_complex() {
        return binary(op, &beside_tensor(a, b)?, b);
    }
    let (dtype, a) = promote_beside_scalar(op, b, a)?;
    op.run_converted([Slot::Scalar(a), Slot::Tensor(b)], b.layout(), dtype, &[])
}

/// A complex number as the tensor that it is beside another one.
#[cold]
fn beside_tensor(number: Scalar, x: &Tensor) -> Result<Tensor> {
    Tensor::full(&[], number, x.dtype().promote_weak(number.weak()))
}

#[inline]
fn promote_beside_scalar(
    op: &'static Elementwise,
    x: &Tensor,
    scalar: Scalar,
) -> Result<(DType, Scalar)> {
    if x.dtype().is_float() && op.takes(x.dtype()) {
        return Ok((x.dtype(), scalar));
    }
    let dtype = op.compute_dtype(x.dtype().promote_weak(scalar.weak()))?;
    match in_range(op.name, dtype, scalar) {
        Ok(scalar) => Ok((dtype, scalar)),
        // A comparison has an answer also for a number that the dtype cannot hold: that of an infinity.
        Err(_) if op.forward.mask => {
            let beyond = f64::INFINITY.copysign(scalar.as_f64());
            Ok((DType::F64, Scalar::Float(beyond)))
        }
        Err(error) => Err(error),
    }
}

/// Applies a two-operand operation to anything that acts as a tensor.
pub fn binary_operands(op: &'static Elementwise, a: &Operand, b: &Operand) -> Result<Tensor> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => binary(op, a, b),
        (Operand::Tensor(a), Operand::Scalar(b)) => binary_scalar(op, a, *b),
        (Operand::Scalar(a), Operand::Tensor(b)) => scalar_binary(op, *a, b),
        (Operand::Scalar(a), Operand::Scalar(b)) => binary_scalar(op, &Tensor::scalar(*a), *b),
    }
}

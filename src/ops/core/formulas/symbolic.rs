//! The symbolic interpretation of derivative formulas: a `Symbol` indexes a thread-local tape of tensors, and its `Real`
//! methods are the tensor operations of the same name. Derivatives computed this way record themselves.
//!
//! Invariant: the first error ends an evaluation; symbols created after it are placeholders.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::elementwise::LoopTable;
use crate::kernels::number::real::Real;
use crate::ops::core::elementwise::{Elementwise, binary_operands, unary};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::{arithmetic, compare, unary};
use crate::tensor::Tensor;
use crate::{for_each_real_binary, for_each_real_unary};

struct TapeState {
    values: Vec<Operand>,
    /// The gradient's dtype, which constants take unless they meet a tensor.
    dtype: DType,
    failed: Option<Box<crate::error::Error>>,
}

thread_local! {
    static TAPE: RefCell<TapeState> =
        const { RefCell::new(TapeState { values: Vec::new(), dtype: DType::F64, failed: None }) };
}

/// Access to the tape during one evaluation.
pub(crate) struct Tape(());

impl Tape {
    /// A symbol for a tensor.
    pub(crate) fn tensor(&self, value: Tensor) -> Symbol {
        push(Operand::Tensor(value))
    }

    /// A symbol for a constant.
    pub(crate) fn constant(&self, value: f64) -> Symbol {
        push(Operand::Scalar(Scalar::Float(value)))
    }
}

/// One value of a derivative that is being evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Symbol(u32);

fn push(value: Operand) -> Symbol {
    TAPE.with_borrow_mut(|tape| {
        tape.values.push(value);
        Symbol(tape.values.len() as u32 - 1)
    })
}

fn read(symbol: Symbol) -> Operand {
    TAPE.with_borrow(|tape| tape.values[symbol.0 as usize].clone())
}

/// Pushes the result of a tensor operation; on an error, keeps the error and pushes a placeholder.
fn push_result(result: Result<Tensor>) -> Symbol {
    match result {
        Ok(value) => push(Operand::Tensor(value)),
        Err(error) => {
            TAPE.with_borrow_mut(|tape| {
                tape.failed.get_or_insert(error);
            });
            push(Operand::Scalar(Scalar::Float(0.0)))
        }
    }
}

fn failed() -> bool {
    TAPE.with_borrow(|tape| tape.failed.is_some())
}

/// The loops that add gradients.
#[inline]
pub(super) fn add_loops() -> &'static LoopTable {
    arithmetic::ADD.forward
}

/// Evaluates a formula over tensors; the result has the shape and dtype of `g`.
pub(crate) fn evaluate(g: &Tensor, formula: impl FnOnce(&Tape) -> Symbol) -> Result<Tensor> {
    // Evaluations nest if a rule runs inside an operation: each truncates the tape to its own start.
    let (start, outer) = TAPE
        .with_borrow_mut(|tape| (tape.values.len(), std::mem::replace(&mut tape.dtype, g.dtype())));
    let result = read(formula(&Tape(())));
    let (_dropped, error) = TAPE.with_borrow_mut(|tape| {
        tape.dtype = outer;
        (tape.values.split_off(start), tape.failed.take())
    });
    match (error, result) {
        (Some(error), _) => Err(error),
        (None, Operand::Tensor(value)) => Ok(value),
        (None, Operand::Scalar(s)) => Tensor::full(g.shape(), s, g.dtype()),
    }
}

/// The tensor that a symbol stands for.
fn tensor(x: Symbol) -> Result<Tensor> {
    match read(x) {
        Operand::Tensor(x) => Ok(x),
        Operand::Scalar(x) => Tensor::full(&[], x, TAPE.with_borrow(|tape| tape.dtype)),
    }
}

/// Two operands, at least one of them a tensor, so that the result has the dtype of the evaluation.
fn operands(a: Symbol, b: Symbol) -> Result<[Operand; 2]> {
    Ok(match [read(a), read(b)] {
        [Operand::Scalar(_), b @ Operand::Scalar(_)] => [Operand::Tensor(tensor(a)?), b],
        both => both,
    })
}

fn apply1(op: &'static Elementwise, x: Symbol) -> Symbol {
    if failed() {
        return x;
    }
    push_result(tensor(x).and_then(|x| unary(op, &x)))
}

fn apply2(op: &'static Elementwise, a: Symbol, b: Symbol) -> Symbol {
    if failed() {
        return a;
    }
    push_result(operands(a, b).and_then(|[a, b]| binary_operands(op, &a, &b)))
}

macro_rules! operators {
    ($($op:ident $f:ident $spec:ident),*) => {$(
        impl $op for Symbol {
            type Output = Symbol;
            fn $f(self, o: Symbol) -> Symbol { apply2(&arithmetic::$spec, self, o) }
        }
        impl $op<f64> for Symbol {
            type Output = Symbol;
            fn $f(self, o: f64) -> Symbol { apply2(&arithmetic::$spec, self, Symbol::lit(o)) }
        }
        impl $op<Symbol> for f64 {
            type Output = Symbol;
            fn $f(self, o: Symbol) -> Symbol { apply2(&arithmetic::$spec, Symbol::lit(self), o) }
        }
    )*};
}
operators!(Add add ADD, Sub sub SUBTRACT, Mul mul MULTIPLY, Div div DIVIDE);

impl Neg for Symbol {
    type Output = Symbol;
    fn neg(self) -> Symbol {
        apply1(&arithmetic::NEGATIVE, self)
    }
}

macro_rules! unary_methods {
    ($($name:ident $doc:literal),*) => { $( fn $name(self) -> Symbol { apply1(unary::real::$name(), self) } )* };
}
macro_rules! binary_methods {
    ($($name:ident $doc:literal),*) => { $( fn $name(self, o: Symbol) -> Symbol { apply2(unary::real::$name(), self, o) } )* };
}
macro_rules! comparisons {
    ($($name:ident $spec:ident),*) => { $( fn $name(self, o: Symbol) -> Symbol { apply2(&compare::$spec, self, o) } )* };
}

impl Real for Symbol {
    type Mask = Symbol;

    fn lit(v: f64) -> Symbol {
        push(Operand::Scalar(Scalar::Float(v)))
    }
    comparisons!(lt LESS, le LESS_EQUAL, eq EQUAL, ne NOT_EQUAL, gt GREATER, ge GREATER_EQUAL);

    fn select(m: Symbol, a: Symbol, b: Symbol) -> Symbol {
        if failed() {
            return a;
        }
        let both = operands(a, b);
        push_result(tensor(m).and_then(|mask| both.and_then(|[a, b]| where_(&mask, &a, &b))))
    }
    fn mask_and(a: Symbol, b: Symbol) -> Symbol {
        apply2(&compare::LOGICAL_AND, a, b)
    }
    fn mask_or(a: Symbol, b: Symbol) -> Symbol {
        apply2(&compare::LOGICAL_OR, a, b)
    }
    fn mask_not(a: Symbol) -> Symbol {
        apply1(&compare::LOGICAL_NOT, a)
    }
    fn conj(self) -> Symbol {
        match read(self) {
            Operand::Tensor(x) if x.dtype().is_complex() => apply1(&arithmetic::CONJUGATE, self),
            _ => self,
        }
    }
    fn is_infinite(self) -> Symbol {
        apply1(&compare::ISINF, self)
    }
    fn is_finite(self) -> Symbol {
        apply1(&compare::ISFINITE, self)
    }

    for_each_real_unary!(unary_methods);
    for_each_real_binary!(binary_methods);
}

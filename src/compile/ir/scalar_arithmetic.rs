//! Add, subtract, multiply and negate of a few elements, computed inline by the executor.
//!
//! Invariant: the result has the bits of the loop; these operations are exactly rounded, in any order of the
//! elements.

use std::ops::{Add, Mul, Neg, Sub};

use super::lowered::{CompactRef, RowLoop};
use super::step::Map;
use crate::dtype::DType;

/// From here on the vectorised loop is faster.
const MAX_ELEMENTS: u32 = 16;
/// Elements that are loaded together before they are stored.
const BLOCK: usize = 4;

/// The operation.
#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Negate,
}

/// An operation on short rows.
#[derive(Clone, Copy)]
pub(in crate::compile) struct ScalarArithmetic {
    operation: Operation,
    is_f64: bool,
    n: u32,
    ins: [CompactRef; 2],
    out: CompactRef,
}

/// The operation of a formula, if it is one of these.
fn parse(map: &Map) -> Option<Operation> {
    let (names, formula) = map.formula();
    let Some((a, b)) = names.split_once(", ") else {
        return (formula.strip_prefix('-') == Some(names)).then_some(Operation::Negate);
    };
    match formula.strip_prefix(a)?.strip_suffix(b)? {
        " + " => Some(Operation::Add),
        " - " => Some(Operation::Subtract),
        " * " => Some(Operation::Multiply),
        _ => None,
    }
}

impl ScalarArithmetic {
    /// The arithmetic of a loop over one row, if it qualifies.
    pub(in crate::compile) fn of(map: &Map, row: &RowLoop) -> Option<ScalarArithmetic> {
        let dtype = map.out.dtype;
        let alike = map.ins.iter().all(|argument| argument.dtype() == dtype);
        if !alike || !matches!(dtype, DType::F64 | DType::F32) || row.n > MAX_ELEMENTS {
            return None;
        }
        let operation = parse(map)?;
        let ins = [row.ins[0], row.ins[1]];
        Some(ScalarArithmetic {
            operation,
            is_f64: dtype == DType::F64,
            n: row.n,
            ins,
            out: row.out,
        })
    }

    /// # Safety
    /// `addresses` has the base pointer of every buffer.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let [a, b] = self.ins.map(|at| at.address(addresses).cast_const());
        let (out, n) = (self.out.address(addresses), self.n as usize);
        // SAFETY: every operand holds the row, and an operand that overlaps the output is the output.
        unsafe {
            match self.is_f64 {
                true => compute::<f64>(self.operation, a.cast(), b.cast(), out.cast(), n),
                false => compute::<f32>(self.operation, a.cast(), b.cast(), out.cast(), n),
            }
        }
    }
}

/// # Safety
/// The operands of the operation, and the output, hold `n` elements; an operand that overlaps the output is the
/// output.
#[inline(always)]
unsafe fn compute<T>(operation: Operation, a: *const T, b: *const T, out: *mut T, n: usize)
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Neg<Output = T>,
{
    // SAFETY: the caller's contract.
    unsafe {
        match operation {
            Operation::Add => for_each(a, b, out, n, |a, b| a + b),
            Operation::Subtract => for_each(a, b, out, n, |a, b| a - b),
            Operation::Multiply => for_each(a, b, out, n, |a, b| a * b),
            Operation::Negate => for_each(a, a, out, n, |a, _| -a),
        }
    }
}

/// # Safety
/// As `compute`.
#[inline(always)]
unsafe fn for_each<T: Copy>(
    a: *const T,
    b: *const T,
    out: *mut T,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    let mut i = 0;
    // SAFETY: the caller's contract.
    unsafe {
        while i + BLOCK <= n {
            let x = a.add(i).cast::<[T; BLOCK]>().read();
            let y = b.add(i).cast::<[T; BLOCK]>().read();
            out.add(i).cast::<[T; BLOCK]>().write(std::array::from_fn(|k| f(x[k], y[k])));
            i += BLOCK;
        }
        while i < n {
            *out.add(i) = f(*a.add(i), *b.add(i));
            i += 1;
        }
    }
}

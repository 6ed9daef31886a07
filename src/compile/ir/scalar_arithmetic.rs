//! Arithmetic of a few numbers: sums, differences, products and negations, computed where the executor stands.
//!
//! Owns: which loops are that, and their run. Never anything whose result depends on how it is computed: these operations
//! are exact to the last bit in any order of elements. Invariant: the result is that of the loop.

use std::ops::{Add, Mul, Neg, Sub};

use super::lowered::{Near, Row};
use super::step::Map;
use crate::dtype::DType;

/// The most elements: a loop with wide vectors is faster from there on.
const MOST: u32 = 16;
/// Elements that are read together, then written.
const BLOCK: usize = 4;

/// What is computed.
#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Negate,
}

/// An operation on rows of a few numbers.
#[derive(Clone, Copy)]
pub(in crate::compile) struct Arithmetic {
    operation: Operation,
    double: bool,
    n: u32,
    ins: [Near; 2],
    out: Near,
}

/// The operation of a formula.
fn operation(map: &Map) -> Option<Operation> {
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

impl Arithmetic {
    /// The arithmetic of a loop over one row, if it is that.
    pub(in crate::compile) fn of(map: &Map, row: &Row) -> Option<Arithmetic> {
        let dtype = map.out.dtype;
        let alike = map.ins.iter().all(|argument| argument.dtype() == dtype);
        if !alike || !matches!(dtype, DType::F64 | DType::F32) || row.n > MOST {
            return None;
        }
        let operation = operation(map)?;
        let ins = [row.ins[0], row.ins[1]];
        Some(Arithmetic { operation, double: dtype == DType::F64, n: row.n, ins, out: row.out })
    }

    /// # Safety
    /// The buffers lie at these addresses.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let [a, b] = self.ins.map(|at| at.address(addresses).cast_const());
        let (out, n) = (self.out.address(addresses), self.n as usize);
        // SAFETY: every operand holds the row, and an operand that overlaps the output is the output.
        unsafe {
            match self.double {
                true => compute::<f64>(self.operation, a.cast(), b.cast(), out.cast(), n),
                false => compute::<f32>(self.operation, a.cast(), b.cast(), out.cast(), n),
            }
        }
    }
}

/// # Safety
/// The operands that the operation has, and the output, hold `n` elements; one that overlaps the output is the output.
#[inline(always)]
unsafe fn compute<T>(operation: Operation, a: *const T, b: *const T, out: *mut T, n: usize)
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Neg<Output = T>,
{
    // SAFETY: the caller's contract.
    unsafe {
        match operation {
            Operation::Add => each(a, b, out, n, |a, b| a + b),
            Operation::Subtract => each(a, b, out, n, |a, b| a - b),
            Operation::Multiply => each(a, b, out, n, |a, b| a * b),
            Operation::Negate => each(a, a, out, n, |a, _| -a),
        }
    }
}

/// # Safety
/// As `compute`.
#[inline(always)]
unsafe fn each<T: Copy>(a: *const T, b: *const T, out: *mut T, n: usize, f: impl Fn(T, T) -> T) {
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

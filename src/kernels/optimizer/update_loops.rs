//! The loops of the update rules over the elements of one parameter.
//!
//! Owns: the loads and stores around the texts of the rules. Never splits work or looks at a dtype.
//! Invariant: all operands of an element are read before one is written, so that a gradient may lie where its parameter
//! does; float16 is converted on the way and goes through the loop of float32.

use super::rules::{MOST_NUMBERS, MOST_STATES, Text};
use crate::dtype::Half;
use crate::kernels::multiversion::leveled;
use crate::kernels::number::real::Real;
use crate::kernels::number::scalar::Lane;

/// Elements that are loaded, computed and stored together: a plane of each operand is what the compiler makes vectors of.
const LANES: usize = 32;
/// Elements of float16 that are converted at once.
const BLOCK: usize = 256;
/// The place of the gradient among them, which is not written.
const GRADIENT: usize = 1;
/// The most operands of an element: the parameter, the gradient, the states.
pub(super) const OPERANDS: usize = 2 + MOST_STATES;

/// What a step does to every parameter.
#[derive(Clone)]
pub(super) struct Change {
    /// The sign of gradients.
    pub(super) sign: f64,
    /// The share of a parameter that is added to its gradient.
    pub(super) decay: f64,
    /// The numbers of the text.
    pub(super) numbers: [f64; MOST_NUMBERS],
}

/// Some elements of a parameter: where the first lies of each operand, and their strides in elements.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) at: [*mut u8; OPERANDS],
    pub(super) strides: [isize; OPERANDS],
    pub(super) len: usize,
}

/// An element in memory, and what it is computed in.
pub(super) trait Stored: Copy {
    /// What a text computes with.
    type Value: Real;
    fn load(self) -> Self::Value;
    fn store(value: Self::Value) -> Self;
}

macro_rules! stored {
    ($($t:ident),*) => {$(
        impl Stored for $t {
            type Value = Lane<$t, false>;
            #[inline(always)]
            fn load(self) -> Self::Value {
                Lane(self)
            }
            #[inline(always)]
            fn store(value: Self::Value) -> $t {
                value.0
            }
        }
    )*};
}

stored!(f32, f64);

/// What changes a row.
pub(super) type Span = unsafe fn(&Change, &Row);

/// Changes the elements of a row of float16 with the loop of float32 for the rule of so many states, block by block.
///
/// # Safety
/// The operands of the rule have the elements of the row.
pub(super) unsafe fn halves(span: Span, states: usize, change: &Change, row: &Row) {
    let used = 2 + states;
    let mut blocks = [[0.0f32; BLOCK]; OPERANDS];
    for start in (0..row.len).step_by(BLOCK) {
        let len = (row.len - start).min(BLOCK);
        let place = |k: usize, i: usize| {
            row.at[k].cast::<Half>().wrapping_offset((start + i) as isize * row.strides[k])
        };
        for (k, block) in blocks.iter_mut().enumerate().take(used) {
            for (i, value) in block.iter_mut().enumerate().take(len) {
                // SAFETY: the caller's contract; memory may have any alignment.
                *value = unsafe { place(k, i).read_unaligned() }.to_f32();
            }
        }
        let at = blocks.each_mut().map(|block| block.as_mut_ptr().cast());
        // SAFETY: each block has `len` elements of float32.
        unsafe { span(change, &Row { at, strides: [1; OPERANDS], len }) };
        for (k, block) in blocks.iter().enumerate().take(used).filter(|(k, _)| *k != GRADIENT) {
            for (i, &value) in block.iter().enumerate().take(len) {
                // SAFETY: as above.
                unsafe { place(k, i).write_unaligned(Half::from_f32(value)) };
            }
        }
    }
}

leveled! {
    /// Changes the elements of a row, which are of type `S` in every operand that the rule has. Wider vectors do not make
    /// divisions, roots or memory faster.
    pub(super) unsafe fn span<T: Text, S: Stored>(change: &Change, row: &Row) = span_body, Levels::UpToAvx2
}

/// A change in the numbers of a loop.
struct By<R> {
    sign: R,
    decay: Option<R>,
    numbers: [R; MOST_NUMBERS],
}

/// # Safety
/// The operands of the rule have the elements of the row, of type `S`.
#[inline(always)]
unsafe fn span_body<T: Text, S: Stored>(change: &Change, row: &Row) {
    let by = By {
        sign: S::Value::lit(change.sign),
        decay: (change.decay != 0.0).then(|| S::Value::lit(change.decay)),
        numbers: change.numbers.map(S::Value::lit),
    };
    let at = row.at.map(|at| at.cast::<S>());
    let dense = row.strides == [1; OPERANDS];
    if T::STATES == 0 && dense {
        // SAFETY: the caller's contract.
        unsafe { pairs::<T, S>(&by, at[0], at[GRADIENT], row.len) };
        return;
    }
    let used = 2 + T::STATES;
    let mut planes = [[S::Value::lit(0.0); LANES]; OPERANDS];
    for start in (0..row.len).step_by(LANES) {
        let len = (row.len - start).min(LANES);
        let whole = dense && len == LANES;
        let place =
            |k: usize, i: usize| at[k].wrapping_offset((start + i) as isize * row.strides[k]);
        // SAFETY: the caller's contract; memory may have any alignment.
        unsafe {
            for (k, plane) in planes.iter_mut().enumerate().take(used) {
                if whole {
                    let from = at[k].add(start);
                    for (i, value) in plane.iter_mut().enumerate() {
                        *value = from.add(i).read_unaligned().load();
                    }
                } else {
                    for (i, value) in plane.iter_mut().enumerate().take(len) {
                        *value = place(k, i).read_unaligned().load();
                    }
                }
            }
            compute::<T, S::Value>(&by, &mut planes);
            for (k, plane) in planes.iter().enumerate().take(used).filter(|(k, _)| *k != GRADIENT) {
                if whole {
                    let to = at[k].add(start);
                    for (i, &value) in plane.iter().enumerate() {
                        to.add(i).write_unaligned(S::store(value));
                    }
                } else {
                    for (i, &value) in plane.iter().enumerate().take(len) {
                        place(k, i).write_unaligned(S::store(value));
                    }
                }
            }
        }
    }
}

/// Changes the elements of a row without states. Of two operands the compiler makes vectors by itself, where neither begins inside
/// the other.
///
/// # Safety
/// The parameter and its gradient have so many elements in a row.
#[inline(always)]
unsafe fn pairs<T: Text, S: Stored>(by: &By<S::Value>, p: *mut S, g: *mut S, len: usize) {
    for i in 0..len {
        // SAFETY: the caller's contract; memory may have any alignment.
        unsafe {
            let (to, from) = (p.add(i), g.add(i));
            let (mut p, g) = (to.read_unaligned().load(), from.read_unaligned().load());
            change_one::<T, S::Value>(by, &mut p, g, &mut [S::Value::lit(0.0); MOST_STATES]);
            to.write_unaligned(S::store(p));
        }
    }
}

/// Changes as many elements as a plane has. Where a row ends, the last of them are left from before and not stored.
#[inline(always)]
fn compute<T: Text, R: Real>(by: &By<R>, planes: &mut [[R; LANES]; OPERANDS]) {
    let [p, g, a, b, c] = planes;
    for i in 0..LANES {
        let mut own = [a[i], b[i], c[i]];
        change_one::<T, R>(by, &mut p[i], g[i], &mut own);
        [a[i], b[i], c[i]] = own;
    }
}

/// Changes an element and its states by its gradient.
#[inline(always)]
fn change_one<T: Text, R: Real>(by: &By<R>, p: &mut R, g: R, own: &mut [R; MOST_STATES]) {
    let signed = by.sign * g;
    let g = by.decay.map_or(signed, |decay| signed + decay * *p);
    T::step(&by.numbers, p, g, own);
}

//! The loops of the update rules over the elements of one parameter.
//!
//! Invariant: all operands of an element are read before one is written, so that a gradient may share the
//! memory of its parameter; float16 is converted and goes through the loop of float32.

use super::rules::{ElementUpdate, MAX_NUMBERS, MAX_STATES};
use crate::dtype::Half;
use crate::kernels::multiversion::multiversion;
use crate::kernels::number::real::Real;
use crate::kernels::number::scalar::Lane;

/// Elements loaded, computed and stored together, so that the compiler vectorises over each operand.
const LANES: usize = 32;
/// Elements of float16 converted at once.
const F16_BLOCK: usize = 256;
/// The index of the gradient among the operands, which is not written.
const GRADIENT: usize = 1;
/// The most operands of an element: the parameter, the gradient, the states.
pub(super) const OPERANDS: usize = 2 + MAX_STATES;

/// The numbers of one update step, the same for every parameter.
#[derive(Clone)]
pub(super) struct UpdateStep {
    /// The sign of gradients: -1 to maximise.
    pub(super) sign: f64,
    /// The weight decay added to gradients.
    pub(super) decay: f64,
    /// The numbers of the rule.
    pub(super) numbers: [f64; MAX_NUMBERS],
}

/// Elements of a parameter: the address of the first element of each operand, the strides in elements, and
/// the count.
#[derive(Clone, Copy)]
pub(super) struct ParameterRow {
    pub(super) at: [*mut u8; OPERANDS],
    pub(super) strides: [isize; OPERANDS],
    pub(super) len: usize,
}

/// An element in memory, and the scalar it is computed in.
pub(super) trait StoredFloat: Copy {
    /// The scalar of the element update.
    type Value: Real;
    fn load(self) -> Self::Value;
    fn store(value: Self::Value) -> Self;
}

macro_rules! stored_floats {
    ($($t:ident),*) => {$(
        impl StoredFloat for $t {
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

stored_floats!(f32, f64);

/// A loop that updates a row.
pub(super) type UpdateRowFn = unsafe fn(&UpdateStep, &ParameterRow);

/// Updates a row of float16 with the float32 loop of the rule, block by block.
///
/// # Safety
/// The operands of the rule have the elements of the row.
pub(super) unsafe fn update_row_f16(
    update: UpdateRowFn,
    states: usize,
    step: &UpdateStep,
    row: &ParameterRow,
) {
    let used = 2 + states;
    let mut blocks = [[0.0f32; F16_BLOCK]; OPERANDS];
    for start in (0..row.len).step_by(F16_BLOCK) {
        let len = (row.len - start).min(F16_BLOCK);
        let address = |k: usize, i: usize| {
            row.at[k].cast::<Half>().wrapping_offset((start + i) as isize * row.strides[k])
        };
        for (k, block) in blocks.iter_mut().enumerate().take(used) {
            for (i, value) in block.iter_mut().enumerate().take(len) {
                // SAFETY: the caller's contract; memory may have any alignment.
                *value = unsafe { address(k, i).read_unaligned() }.to_f32();
            }
        }
        let at = blocks.each_mut().map(|block| block.as_mut_ptr().cast());
        // SAFETY: each block has `len` elements of float32.
        unsafe { update(step, &ParameterRow { at, strides: [1; OPERANDS], len }) };
        for (k, block) in blocks.iter().enumerate().take(used).filter(|(k, _)| *k != GRADIENT) {
            for (i, &value) in block.iter().enumerate().take(len) {
                // SAFETY: as above.
                unsafe { address(k, i).write_unaligned(Half::from_f32(value)) };
            }
        }
    }
}

multiversion! {
    /// Updates a row of elements of type `S`. Wider vectors do not make divisions, roots or memory faster.
    pub(super) unsafe fn update_row<T: ElementUpdate, S: StoredFloat>(step: &UpdateStep, row: &ParameterRow) = update_row_body, Levels::UpToAvx2
}

/// The numbers of a step, converted to the loop's scalar.
struct StepScalars<R> {
    sign: R,
    decay: Option<R>,
    numbers: [R; MAX_NUMBERS],
}

/// # Safety
/// The operands of the rule have the elements of the row, of type `S`.
#[inline(always)]
unsafe fn update_row_body<T: ElementUpdate, S: StoredFloat>(step: &UpdateStep, row: &ParameterRow) {
    let by = StepScalars {
        sign: S::Value::lit(step.sign),
        decay: (step.decay != 0.0).then(|| S::Value::lit(step.decay)),
        numbers: step.numbers.map(S::Value::lit),
    };
    let at = row.at.map(|at| at.cast::<S>());
    let dense = row.strides == [1; OPERANDS];
    if T::STATES == 0 && dense {
        // SAFETY: the caller's contract.
        unsafe { update_stateless::<T, S>(&by, at[0], at[GRADIENT], row.len) };
        return;
    }
    let used = 2 + T::STATES;
    let mut planes = [[S::Value::lit(0.0); LANES]; OPERANDS];
    for start in (0..row.len).step_by(LANES) {
        let len = (row.len - start).min(LANES);
        let whole = dense && len == LANES;
        let address =
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
                        *value = address(k, i).read_unaligned().load();
                    }
                }
            }
            update_planes::<T, S::Value>(&by, &mut planes);
            for (k, plane) in planes.iter().enumerate().take(used).filter(|(k, _)| *k != GRADIENT) {
                if whole {
                    let to = at[k].add(start);
                    for (i, &value) in plane.iter().enumerate() {
                        to.add(i).write_unaligned(S::store(value));
                    }
                } else {
                    for (i, &value) in plane.iter().enumerate().take(len) {
                        address(k, i).write_unaligned(S::store(value));
                    }
                }
            }
        }
    }
}

/// Updates a row without states. The compiler vectorises a loop with two pointers by itself, with a runtime
/// check for overlap.
///
/// # Safety
/// The parameter and its gradient have `len` contiguous elements.
#[inline(always)]
unsafe fn update_stateless<T: ElementUpdate, S: StoredFloat>(
    by: &StepScalars<S::Value>,
    p: *mut S,
    g: *mut S,
    len: usize,
) {
    for i in 0..len {
        // SAFETY: the caller's contract; memory may have any alignment.
        unsafe {
            let (to, from) = (p.add(i), g.add(i));
            let (mut p, g) = (to.read_unaligned().load(), from.read_unaligned().load());
            update_element::<T, S::Value>(by, &mut p, g, &mut [S::Value::lit(0.0); MAX_STATES]);
            to.write_unaligned(S::store(p));
        }
    }
}

/// Updates as many elements as a plane has. In the last, incomplete block, stale elements are computed but
/// not stored.
#[inline(always)]
fn update_planes<T: ElementUpdate, R: Real>(
    by: &StepScalars<R>,
    planes: &mut [[R; LANES]; OPERANDS],
) {
    let [p, g, a, b, c] = planes;
    for i in 0..LANES {
        let mut states = [a[i], b[i], c[i]];
        update_element::<T, R>(by, &mut p[i], g[i], &mut states);
        [a[i], b[i], c[i]] = states;
    }
}

/// Updates an element and its states by its gradient.
#[inline(always)]
fn update_element<T: ElementUpdate, R: Real>(
    by: &StepScalars<R>,
    p: &mut R,
    g: R,
    states: &mut [R; MAX_STATES],
) {
    let signed = by.sign * g;
    let g = by.decay.map_or(signed, |decay| signed + decay * *p);
    T::step(&by.numbers, p, g, states);
}

//! The loops of the update rules over the elements of one parameter.
//!
//! Owns: the loads and stores around the texts of the rules. Never splits work or looks at a dtype.
//! Invariant: all operands of an element are read before one is written, so that a gradient may lie where its parameter
//! does; float16 is converted on the way and computed in float32.

use super::rules::{MOST_NUMBERS, MOST_STATES, Text};
use crate::dtype::Half;
use crate::kernels::lane::Lane;
use crate::kernels::leveled::{Levels, leveled};
use crate::kernels::real::Real;

/// Elements that are loaded and stored together.
const LANES: usize = 8;
/// Wider vectors do not make divisions, roots or memory faster.
const LEVELS: Levels = Levels::UpToAvx2;
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
    /// Whether several elements are loaded together.
    const WIDE: bool;
    fn load(self) -> Self::Value;
    fn store(value: Self::Value) -> Self;
}

macro_rules! stored {
    ($($t:ident),*) => {$(
        impl Stored for $t {
            type Value = Lane<$t, false>;
            const WIDE: bool = true;
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

impl Stored for Half {
    type Value = Lane<f32, false>;
    const WIDE: bool = false;
    #[inline(always)]
    fn load(self) -> Self::Value {
        Lane(self.to_f32())
    }
    #[inline(always)]
    fn store(value: Self::Value) -> Half {
        Half::from_f32(value.0)
    }
}

leveled! {
    /// Changes the elements of a row, which are of type `S` in every operand that the rule has.
    pub(super) unsafe fn span<T: Text, S: Stored>(change: &Change, row: &Row) = span_body, LEVELS
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
    let dense = S::WIDE && row.strides == [1; OPERANDS];
    let wide = if dense { row.len / LANES * LANES } else { 0 };
    // SAFETY: the caller's contract.
    unsafe {
        for i in (0..wide).step_by(LANES) {
            lanes::<T, S, LANES>(&by, at.map(|at| at.wrapping_add(i)));
        }
        for i in wide..row.len {
            let place = |k: usize| at[k].wrapping_offset(i as isize * row.strides[k]);
            lanes::<T, S, 1>(&by, std::array::from_fn(place));
        }
    }
}

/// Changes `L` elements that follow one another.
///
/// # Safety
/// The operands of the rule have them, of type `S`.
#[inline(always)]
unsafe fn lanes<T: Text, S: Stored, const L: usize>(by: &By<S::Value>, at: [*mut S; OPERANDS]) {
    let [p_at, g_at, states_at @ ..] = at;
    let mut p = [S::Value::lit(0.0); L];
    let (mut g, mut states) = (p, [p; MOST_STATES]);
    // SAFETY: the caller's contract; memory may have any alignment.
    unsafe {
        for lane in 0..L {
            p[lane] = p_at.add(lane).read_unaligned().load();
            g[lane] = g_at.add(lane).read_unaligned().load();
            for k in 0..T::STATES {
                states[k][lane] = states_at[k].add(lane).read_unaligned().load();
            }
        }
    }
    for lane in 0..L {
        let mut own = [states[0][lane], states[1][lane], states[2][lane]];
        let signed = by.sign * g[lane];
        let g = by.decay.map_or(signed, |decay| signed + decay * p[lane]);
        T::step(&by.numbers, &mut p[lane], g, &mut own);
        [states[0][lane], states[1][lane], states[2][lane]] = own;
    }
    // SAFETY: as above.
    unsafe {
        for lane in 0..L {
            p_at.add(lane).write_unaligned(S::store(p[lane]));
            for k in 0..T::STATES {
                states_at[k].add(lane).write_unaligned(S::store(states[k][lane]));
            }
        }
    }
}

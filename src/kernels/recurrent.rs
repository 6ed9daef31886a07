//! One step in time of gated recurrent layers, forward and first-order backward.
//!
//! Owns: what follows the product with the recurrent weight: gates, states and their slopes. Never multiplies matrices.
//! The activations are the loops of their operations, so a gate has the bits of `sigmoid` and `tanh`; these loops want long
//! runs, so gates lie gate by gate, (gates, N, H), and what meets a product row by row, (N, gates H).
//! Invariant: a row depends on no other row, so a result is the same at any number of threads.

use std::ops::{Add, Mul, Sub};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::elementwise::Loop;
use super::launch::launch;
use super::multiversion::{Levels, leveled};
use super::view::{View, ViewMut, with_float};
use crate::dtype::Element;
use crate::threads::parallel_for;

/// What AVX-512 does not make faster.
const LEVELS: Levels = Levels::UpToAvx2;
/// Elements per block of a split.
const SPLIT: usize = 1 << 15;

trait Number: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    const ONE: Self;
}
impl Number for f64 {
    const ONE: f64 = 1.0;
}
impl Number for f32 {
    const ONE: f32 = 1.0;
}

/// Loops of the activations, for the dtype of a step's operands.
#[derive(Clone, Copy)]
pub struct Loops {
    /// Of one operand.
    pub sigmoid: Loop,
    /// Of one operand.
    pub tanh: Loop,
}

/// Calls a loop of one operand.
///
/// # Safety
/// The loop is for this element type.
unsafe fn apply<T>(function: Loop, x: &[T], out: &mut [T]) {
    assert!(x.len() == out.len(), "a loop over parts of different sizes");
    let operand = x.as_ptr().cast::<u8>();
    // SAFETY: the caller's contract; both have these elements, and the text has no parameters.
    unsafe { function(&raw const operand, out.as_mut_ptr().cast(), out.len(), std::ptr::null()) };
}

/// Elements of an operand.
///
/// # Safety
/// The view is contiguous and holds `start + n` elements of this type.
unsafe fn part<'a, T>(view: View<'a>, start: usize, n: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts(view.at(start as isize), n) }
}

/// The elements of rows of `wide` from a column on; `at` has the first row and their number.
///
/// # Safety
/// As `part`.
unsafe fn columns<'a, T>(view: View<'a>, at: [usize; 2], wide: usize, skip: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { part(view, at[0] * wide + skip, at[1] * wide - skip) }
}

/// Elements of a result.
///
/// # Safety
/// As `part`; nobody else has these elements.
#[allow(clippy::mut_from_ref)]
unsafe fn part_mut<'a, T>(view: &'a ViewMut, start: usize, n: usize) -> &'a mut [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts_mut(view.at(start as isize), n) }
}

/// Rows and units of a state (rows, units). The others are contiguous and hold so many times as many elements.
fn shape(state: &View, others: &[(View, usize)]) -> [usize; 2] {
    let [rows, n] = *state.dims else { panic!("a state has rows and units") };
    let fits = |v: &View, times| v.is_contiguous() && v.numel() == times * rows * n;
    let all = others.iter().all(|(v, times)| fits(v, *times));
    assert!(all && fits(state, 1), "operands of a recurrent step that do not fit");
    [rows, n]
}

/// Calls `body` with the first of some rows and their number, in blocks where there are many elements.
fn each_block(rows: usize, n: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if rows * n == 0 {
        return;
    }
    let blocks = (4 * rows * n / SPLIT).clamp(1, rows);
    parallel_for(blocks, &|i| {
        let (first, end) = (i * rows / blocks, (i + 1) * rows / blocks);
        body(first, end - first);
    });
}

leveled! {
    /// `out = x + p` for rows of `n`, which begin every so many elements in the operands.
    unsafe fn add_rows<T: Number>(
        x: &[T], p: &[T], strides: [usize; 2], n: usize, out: &mut [T],
    ) = add_rows_body, LEVELS
}

#[inline(always)]
unsafe fn add_rows_body<T: Number>(x: &[T], p: &[T], strides: [usize; 2], n: usize, out: &mut [T]) {
    for (i, out) in out.chunks_exact_mut(n).enumerate() {
        let (x, p) = (&x[i * strides[0]..][..n], &p[i * strides[1]..][..n]);
        for k in 0..n {
            out[k] = x[k] + p[k];
        }
    }
}

/// The step of an LSTM: `gates` receives `σ(i) σ(f) tanh(g) σ(o)` of `x + product` and `tanh(cells)`, `cells` receives
/// `f c + i g` and `out` receives `o tanh(cells)`.
pub fn lstm(
    loops: Loops,
    x: View,
    product: View,
    c: View,
    gates: ViewMut,
    cells: ViewMut,
    out: ViewMut,
) {
    launch!("lstm", [x, product, c] => [gates, cells, out];; {
        lstm_step(loops, [x, product, c], [&gates, &cells, &out])
    });
}

fn lstm_step(loops: Loops, [x, product, c]: [View; 3], [gates, cells, out]: [&ViewMut; 3]) {
    let written = [(gates.as_view(), 5), (cells.as_view(), 1), (out.as_view(), 1)];
    let [rows, n] = shape(&c, &[&[(x, 4), (product, 4)][..], &written[..]].concat());
    with_float!([x, product, c, gates, cells, out], T => {
        each_block(rows, n, &|first, count| {
            let (start, m, wide, at) = (first * n, count * n, 4 * n, [first, count]);
            // SAFETY: the sizes were compared, and each row is one call's.
            unsafe {
                let gate = |k: usize| part_mut::<T>(gates, k * rows * n + start, m);
                for k in 0..4 {
                    let (x, p) = (columns(x, at, wide, k * n), columns(product, at, wide, k * n));
                    // The last part has the sums first: a loop in place is not vectorised.
                    add_rows::<T>(x, p, [wide; 2], n, gate(4));
                    let function = if k == 2 { loops.tanh } else { loops.sigmoid };
                    apply(function, gate(4), gate(k));
                }
                let cells = part_mut::<T>(cells, start, m);
                mix(gate(1), part(c, start, m), gate(0), gate(2), cells);
                apply(loops.tanh, cells, gate(4));
                times(gate(3), gate(4), part_mut::<T>(out, start, m));
            }
        });
    });
}

leveled! {
    /// `out = a b + c d`.
    unsafe fn mix<T: Number>(a: &[T], b: &[T], c: &[T], d: &[T], out: &mut [T]) = mix_body, LEVELS
}

#[inline(always)]
unsafe fn mix_body<T: Number>(a: &[T], b: &[T], c: &[T], d: &[T], out: &mut [T]) {
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for k in 0..n {
        out[k] = a[k] * b[k] + c[k] * d[k];
    }
}

leveled! {
    /// `out = a b`.
    unsafe fn times<T: Number>(a: &[T], b: &[T], out: &mut [T]) = times_body, LEVELS
}

#[inline(always)]
unsafe fn times_body<T: Number>(a: &[T], b: &[T], out: &mut [T]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = a * b;
    }
}

/// The derivative of `lstm` from its gates and the cells before it, the gradients of the output and of the cells after it,
/// and what the step after it carries back to both (`to_cells` is read and written): `slopes` receives the gradient of
/// `x + product`, `to_cells` that of the cells before it.
pub fn lstm_backward(
    [gates, before]: [View; 2],
    [g, to_out, g_cells]: [View; 3],
    to_cells: ViewMut,
    slopes: ViewMut,
) {
    let carried = to_cells.as_view();
    launch!(
        "lstm_backward",
        [gates, before, g, to_out, g_cells, carried] => [to_cells, slopes];;
        {
            let _ = carried;
            lstm_slope_step([gates, before, g, to_out, g_cells], [&to_cells, &slopes])
        }
    );
}

fn lstm_slope_step(
    [gates, before, g, to_out, g_cells]: [View; 5],
    [to_cells, slopes]: [&ViewMut; 2],
) {
    let [rows, n] = shape(
        &before,
        &[
            (gates, 5),
            (g, 1),
            (to_out, 1),
            (g_cells, 1),
            (to_cells.as_view(), 1),
            (slopes.as_view(), 4),
        ],
    );
    with_float!([gates, before, g, to_out, g_cells, to_cells, slopes], T => {
        each_block(rows, n, &|first, count| {
            for start in (first..first + count).map(|row| row * n) {
                // SAFETY: the sizes were compared, and each row is one call's.
                unsafe {
                    let gate = |k: usize| part::<T>(gates, k * rows * n + start, n);
                    lstm_slopes(
                        [gate(0), gate(1), gate(2), gate(3), gate(4), part(before, start, n)],
                        [part(g, start, n), part(to_out, start, n), part(g_cells, start, n)],
                        part_mut(to_cells, start, n),
                        part_mut(slopes, 4 * start, 4 * n),
                    );
                }
            }
        });
    });
}

leveled! {
    /// One row of `lstm_backward`: the gates, `tanh` of the cells and the cells before them.
    unsafe fn lstm_slopes<T: Number>(
        a: [&[T]; 6], g: [&[T]; 3], to_cells: &mut [T], slopes: &mut [T],
    ) = lstm_slopes_body, LEVELS
}

#[inline(always)]
unsafe fn lstm_slopes_body<T: Number>(
    a: [&[T]; 6],
    g: [&[T]; 3],
    to_cells: &mut [T],
    slopes: &mut [T],
) {
    let n = to_cells.len();
    let ([i, f, new, o, u, c], [g, to_out, g_cells]) = (a.map(|a| &a[..n]), g.map(|g| &g[..n]));
    let (to_i, slopes) = slopes.split_at_mut(n);
    let (to_f, slopes) = slopes.split_at_mut(n);
    let (to_new, to_o) = slopes.split_at_mut(n);
    let to_o = &mut to_o[..n];
    for k in 0..n {
        let (i, f, new, o, u) = (i[k], f[k], new[k], o[k], u[k]);
        let gh = g[k] + to_out[k];
        let gc = g_cells[k] + to_cells[k] + gh * o * (T::ONE - u * u);
        to_i[k] = gc * new * (i * (T::ONE - i));
        to_f[k] = gc * c[k] * (f * (T::ONE - f));
        to_new[k] = gc * i * (T::ONE - new * new);
        to_o[k] = gh * u * (o * (T::ONE - o));
        to_cells[k] = gc * f;
    }
}

/// The step of a GRU: `gates` receives `r = σ(x_r + p_r)`, `z = σ(x_z + p_z)`, `n = tanh(x_n + r m)` and `m = p_n + bias`;
/// `out` receives `n + z (h - n)`.
pub fn gru(
    loops: Loops,
    x: View,
    product: View,
    bias: View,
    h: View,
    gates: ViewMut,
    out: ViewMut,
) {
    launch!("gru", [x, product, bias, h] => [gates, out];; {
        gru_step(loops, [x, product, bias, h], [&gates, &out])
    });
}

fn gru_step(loops: Loops, [x, product, bias, h]: [View; 4], [gates, out]: [&ViewMut; 2]) {
    let written = [(gates.as_view(), 4), (out.as_view(), 1)];
    let [rows, n] = shape(&h, &[&[(x, 3), (product, 3)][..], &written[..]].concat());
    assert!(bias.is_contiguous() && bias.dims == [n], "one bias for each unit");
    with_float!([x, product, bias, h, gates, out], T => {
        each_block(rows, n, &|first, count| {
            let (start, m, wide, at) = (first * n, count * n, 3 * n, [first, count]);
            // SAFETY: the sizes were compared, and each row is one call's.
            unsafe {
                let gate = |k: usize| part_mut::<T>(gates, k * rows * n + start, m);
                for k in 0..2 {
                    let (x, p) = (columns(x, at, wide, k * n), columns(product, at, wide, k * n));
                    add_rows::<T>(x, p, [wide; 2], n, gate(3));
                    apply(loops.sigmoid, gate(3), gate(k));
                }
                let (x, p) = (columns(x, at, wide, 2 * n), columns(product, at, wide, 2 * n));
                add_rows::<T>(p, part(bias, 0, n), [wide, 0], n, gate(3));
                times(gate(0), gate(3), gate(2));
                let new = part_mut::<T>(out, start, m);
                add_rows::<T>(x, gate(2), [wide, n], n, new);
                apply(loops.tanh, new, gate(2));
                blend(gate(2), part(h, start, m), gate(1), new);
            }
        });
    });
}

leveled! {
    /// `out = a + z (b - a)`.
    unsafe fn blend<T: Number>(a: &[T], b: &[T], z: &[T], out: &mut [T]) = blend_body, LEVELS
}

#[inline(always)]
unsafe fn blend_body<T: Number>(a: &[T], b: &[T], z: &[T], out: &mut [T]) {
    for (((out, &a), &b), &z) in out.iter_mut().zip(a).zip(b).zip(z) {
        *out = a + z * (b - a);
    }
}

/// The derivative of `gru` from its gates and the state before it, the gradient of the output, and what the step after it
/// carries back through its product and directly (`carried` is read and written): `to_x` and `to_product` receive the
/// gradients of the two, `carried` what goes to the state before it but for the product.
pub fn gru_backward(
    [gates, h]: [View; 2],
    [g, to_out]: [View; 2],
    carried: ViewMut,
    to_x: ViewMut,
    to_product: ViewMut,
) {
    let direct = carried.as_view();
    launch!(
        "gru_backward", [gates, h, g, to_out, direct] => [carried, to_x, to_product];;
        {
            let _ = direct;
            gru_slope_step([gates, h, g, to_out], [&carried, &to_x, &to_product])
        }
    );
}

fn gru_slope_step([gates, h, g, to_out]: [View; 4], [carried, to_x, to_product]: [&ViewMut; 3]) {
    let written = [(carried.as_view(), 1), (to_x.as_view(), 3), (to_product.as_view(), 3)];
    let [rows, n] = shape(&h, &[&[(gates, 4), (g, 1), (to_out, 1)][..], &written[..]].concat());
    with_float!([gates, h, g, to_out, carried, to_x, to_product], T => {
        each_block(rows, n, &|first, count| {
            for start in (first..first + count).map(|row| row * n) {
                // SAFETY: the sizes were compared, and each row is one call's.
                unsafe {
                    let gate = |k: usize| part::<T>(gates, k * rows * n + start, n);
                    gru_slopes(
                        [gate(0), gate(1), gate(2), gate(3), part(h, start, n)],
                        [part(g, start, n), part(to_out, start, n)],
                        part_mut(carried, start, n),
                        part_mut(to_x, 3 * start, 3 * n),
                        part_mut(to_product, 3 * start, 3 * n),
                    );
                }
            }
        });
    });
}

leveled! {
    /// One row of `gru_backward`: `r`, `z`, `n`, `m` and the state before them.
    unsafe fn gru_slopes<T: Number>(
        a: [&[T]; 5], g: [&[T]; 2], carried: &mut [T], to_x: &mut [T], to_product: &mut [T],
    ) = gru_slopes_body, LEVELS
}

#[inline(always)]
unsafe fn gru_slopes_body<T: Number>(
    a: [&[T]; 5],
    g: [&[T]; 2],
    carried: &mut [T],
    to_x: &mut [T],
    to_product: &mut [T],
) {
    let n = carried.len();
    let ([r, z, new, m, h], [g, to_out]) = (a.map(|a| &a[..n]), g.map(|g| &g[..n]));
    let (to_rz, to_new) = to_x.split_at_mut(2 * n);
    let (to_r, to_z) = to_rz.split_at_mut(n);
    let (to_new, to_m) = (&mut to_new[..n], &mut to_product[2 * n..3 * n]);
    for k in 0..n {
        let (r, z, new) = (r[k], z[k], new[k]);
        let gh = g[k] + to_out[k] + carried[k];
        let slope = gh * (T::ONE - z) * (T::ONE - new * new);
        to_r[k] = slope * m[k] * (r * (T::ONE - r));
        to_z[k] = gh * (h[k] - new) * (z * (T::ONE - z));
        to_new[k] = slope;
        to_m[k] = slope * r;
        carried[k] = gh * z;
    }
    to_product[..2 * n].copy_from_slice(to_rz);
}

//! Fused LSTM and GRU cells: one time step, forward and first-order backward, after the matrix products.
//!
//! Activations run the loops of `sigmoid` and `tanh`, so that a gate has their bits. These loops need long
//! runs, so gates are stored gate by gate, (gates, N, H), and matrix products row by row, (N, gates H).
//! Invariant: rows are independent, so a result is the same at any number of threads.

use std::ops::{Add, Mul, Sub};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::elementwise::{Loop, LoopCall};
use super::launch::launch;
use super::multiversion::{Levels, multiversion};
use super::view::{View, ViewMut, with_float};
use crate::dtype::Element;
use crate::threads::parallel_ranges;

/// AVX-512 does not make these loops faster.
const LEVELS: Levels = Levels::UpToAvx2;
/// Elements per block of a split.
const BLOCK_ELEMENTS: usize = 1 << 15;

trait Float: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    const ONE: Self;
}
impl Float for f64 {
    const ONE: f64 = 1.0;
}
impl Float for f32 {
    const ONE: f32 = 1.0;
}

/// The activation loops for the dtype of a step's operands.
#[derive(Clone, Copy)]
pub struct Activations {
    /// Unary loop.
    pub sigmoid: Loop,
    /// Unary loop.
    pub tanh: Loop,
}

/// Calls a unary loop.
///
/// # Safety
/// The loop is for this element type.
unsafe fn apply<T>(function: Loop, x: &[T], out: &mut [T]) {
    assert!(x.len() == out.len(), "a loop over parts of different sizes");
    let (ins, out, n) = ([x.as_ptr().cast()], out.as_mut_ptr().cast(), x.len());
    // SAFETY: the caller's contract; both slices have the elements, and the formula has no parameters.
    unsafe { LoopCall { f: function, ins: &ins, out, n, params: &[] }.run() };
}

/// `n` elements of an operand from `start` on.
///
/// # Safety
/// The view is contiguous and holds `start + n` elements of this type.
unsafe fn slice<'a, T>(view: View<'a>, start: usize, n: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts(view.at(start as isize), n) }
}

/// The elements from column `skip` on, in rows of `wide`; `at` is the first row and the number of rows.
///
/// # Safety
/// As `slice`.
unsafe fn columns_from<'a, T>(view: View<'a>, at: [usize; 2], wide: usize, skip: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { slice(view, at[0] * wide + skip, at[1] * wide - skip) }
}

/// `n` elements of an output from `start` on.
///
/// # Safety
/// As `slice`; the elements are not accessed otherwise.
#[allow(clippy::mut_from_ref)]
unsafe fn slice_mut<'a, T>(view: &'a ViewMut, start: usize, n: usize) -> &'a mut [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts_mut(view.at(start as isize), n) }
}

/// The rows and units of a state (rows, units). Each of `others` is contiguous and has so many times its
/// elements.
fn shape(state: &View, others: &[(View, usize)]) -> [usize; 2] {
    let [rows, n] = *state.dims else { panic!("a state has rows and units") };
    let fits = |v: &View, times| v.is_contiguous() && v.numel() == times * rows * n;
    let all = others.iter().all(|(v, times)| fits(v, *times));
    assert!(all && fits(state, 1), "operands of a recurrent step that do not fit");
    [rows, n]
}

/// Calls `body` with the first row and the number of rows of each block.
fn for_each_block(rows: usize, n: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if rows * n == 0 {
        return;
    }
    let blocks = (4 * rows * n / BLOCK_ELEMENTS).clamp(1, rows);
    parallel_ranges(rows, blocks, &|first, end| body(first, end - first));
}

multiversion! {
    /// `out = x + p` for rows of `n`, with a row stride for each operand.
    unsafe fn add_rows<T: Float>(
        x: &[T], p: &[T], strides: [usize; 2], n: usize, out: &mut [T],
    ) = add_rows_body, LEVELS
}

#[inline(always)]
unsafe fn add_rows_body<T: Float>(x: &[T], p: &[T], strides: [usize; 2], n: usize, out: &mut [T]) {
    for (i, out) in out.chunks_exact_mut(n).enumerate() {
        let (x, p) = (&x[i * strides[0]..][..n], &p[i * strides[1]..][..n]);
        for k in 0..n {
            out[k] = x[k] + p[k];
        }
    }
}

/// The LSTM cell: `gates` receives `σ(i) σ(f) tanh(g) σ(o)` of `x + product` and `tanh(cells)`, `cells`
/// receives `f c + i g` and `out` receives `o tanh(cells)`.
pub fn lstm(
    loops: Activations,
    x: View,
    product: View,
    c: View,
    gates: ViewMut,
    cells: ViewMut,
    out: ViewMut,
) {
    launch!("lstm", [x, product, c] => [gates, cells, out];; {
        lstm_rows(loops, [x, product, c], [&gates, &cells, &out])
    });
}

fn lstm_rows(loops: Activations, [x, product, c]: [View; 3], [gates, cells, out]: [&ViewMut; 3]) {
    let written = [(gates.as_view(), 5), (cells.as_view(), 1), (out.as_view(), 1)];
    let [rows, n] = shape(&c, &[&[(x, 4), (product, 4)][..], &written[..]].concat());
    with_float!([x, product, c, gates, cells, out], T => {
        for_each_block(rows, n, &|first, count| {
            let (start, m, wide, at) = (first * n, count * n, 4 * n, [first, count]);
            // SAFETY: the sizes were compared, and each row belongs to one call.
            unsafe {
                let gate = |k: usize| slice_mut::<T>(gates, k * rows * n + start, m);
                for k in 0..4 {
                    let (x, p) = (columns_from(x, at, wide, k * n), columns_from(product, at, wide, k * n));
                    // The last gate buffer holds the sums first: in-place loops are not vectorised.
                    add_rows::<T>(x, p, [wide; 2], n, gate(4));
                    let function = if k == 2 { loops.tanh } else { loops.sigmoid };
                    apply(function, gate(4), gate(k));
                }
                let cells = slice_mut::<T>(cells, start, m);
                sum_of_products(gate(1), slice(c, start, m), gate(0), gate(2), cells);
                apply(loops.tanh, cells, gate(4));
                multiply(gate(3), gate(4), slice_mut::<T>(out, start, m));
            }
        });
    });
}

multiversion! {
    /// `out = a b + c d`.
    unsafe fn sum_of_products<T: Float>(a: &[T], b: &[T], c: &[T], d: &[T], out: &mut [T]) = sum_of_products_body, LEVELS
}

#[inline(always)]
unsafe fn sum_of_products_body<T: Float>(a: &[T], b: &[T], c: &[T], d: &[T], out: &mut [T]) {
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for k in 0..n {
        out[k] = a[k] * b[k] + c[k] * d[k];
    }
}

multiversion! {
    /// `out = a b`.
    unsafe fn multiply<T: Float>(a: &[T], b: &[T], out: &mut [T]) = multiply_body, LEVELS
}

#[inline(always)]
unsafe fn multiply_body<T: Float>(a: &[T], b: &[T], out: &mut [T]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = a * b;
    }
}

/// The VJP of `lstm` from its gates and the previous cells: `g` and `g_cells` are the gradients of output and
/// cells, `to_out` and `to_cells` (read and written) what the next step propagates back to them. `slopes`
/// receives the gradient of `x + product`, `to_cells` that of the previous cells.
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
            lstm_backward_rows([gates, before, g, to_out, g_cells], [&to_cells, &slopes])
        }
    );
}

fn lstm_backward_rows(
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
        for_each_block(rows, n, &|first, count| {
            for start in (first..first + count).map(|row| row * n) {
                // SAFETY: the sizes were compared, and each row belongs to one call.
                unsafe {
                    let gate = |k: usize| slice::<T>(gates, k * rows * n + start, n);
                    lstm_backward_row(
                        [gate(0), gate(1), gate(2), gate(3), gate(4), slice(before, start, n)],
                        [slice(g, start, n), slice(to_out, start, n), slice(g_cells, start, n)],
                        slice_mut(to_cells, start, n),
                        slice_mut(slopes, 4 * start, 4 * n),
                    );
                }
            }
        });
    });
}

multiversion! {
    /// One row of `lstm_backward`: the gates, `tanh` of the cells and the previous cells.
    unsafe fn lstm_backward_row<T: Float>(
        a: [&[T]; 6], g: [&[T]; 3], to_cells: &mut [T], slopes: &mut [T],
    ) = lstm_backward_row_body, LEVELS
}

#[inline(always)]
unsafe fn lstm_backward_row_body<T: Float>(
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

/// The GRU cell: `gates` receives `r = σ(x_r + p_r)`, `z = σ(x_z + p_z)`, `n = tanh(x_n + r m)` and
/// `m = p_n + bias`; `out` receives `n + z (h - n)`.
pub fn gru(
    loops: Activations,
    x: View,
    product: View,
    bias: View,
    h: View,
    gates: ViewMut,
    out: ViewMut,
) {
    launch!("gru", [x, product, bias, h] => [gates, out];; {
        gru_rows(loops, [x, product, bias, h], [&gates, &out])
    });
}

fn gru_rows(loops: Activations, [x, product, bias, h]: [View; 4], [gates, out]: [&ViewMut; 2]) {
    let written = [(gates.as_view(), 4), (out.as_view(), 1)];
    let [rows, n] = shape(&h, &[&[(x, 3), (product, 3)][..], &written[..]].concat());
    assert!(bias.is_contiguous() && bias.dims == [n], "one bias for each unit");
    with_float!([x, product, bias, h, gates, out], T => {
        for_each_block(rows, n, &|first, count| {
            let (start, m, wide, at) = (first * n, count * n, 3 * n, [first, count]);
            // SAFETY: the sizes were compared, and each row belongs to one call.
            unsafe {
                let gate = |k: usize| slice_mut::<T>(gates, k * rows * n + start, m);
                for k in 0..2 {
                    let (x, p) = (columns_from(x, at, wide, k * n), columns_from(product, at, wide, k * n));
                    add_rows::<T>(x, p, [wide; 2], n, gate(3));
                    apply(loops.sigmoid, gate(3), gate(k));
                }
                let (x, p) = (columns_from(x, at, wide, 2 * n), columns_from(product, at, wide, 2 * n));
                add_rows::<T>(p, slice(bias, 0, n), [wide, 0], n, gate(3));
                multiply(gate(0), gate(3), gate(2));
                let new = slice_mut::<T>(out, start, m);
                add_rows::<T>(x, gate(2), [wide, n], n, new);
                apply(loops.tanh, new, gate(2));
                interpolate(gate(2), slice(h, start, m), gate(1), new);
            }
        });
    });
}

multiversion! {
    /// `out = a + z (b - a)`.
    unsafe fn interpolate<T: Float>(a: &[T], b: &[T], z: &[T], out: &mut [T]) = interpolate_body, LEVELS
}

#[inline(always)]
unsafe fn interpolate_body<T: Float>(a: &[T], b: &[T], z: &[T], out: &mut [T]) {
    for (((out, &a), &b), &z) in out.iter_mut().zip(a).zip(b).zip(z) {
        *out = a + z * (b - a);
    }
}

/// The VJP of `gru` from its gates and the previous state: `g` is the gradient of the output, `to_out` and
/// `carried` (read and written) what the next step propagates back through its product and directly. `to_x`
/// and `to_product` receive the gradients of `x` and `product`, `carried` that of the previous state except
/// through the product.
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
            gru_backward_rows([gates, h, g, to_out], [&carried, &to_x, &to_product])
        }
    );
}

fn gru_backward_rows([gates, h, g, to_out]: [View; 4], [carried, to_x, to_product]: [&ViewMut; 3]) {
    let written = [(carried.as_view(), 1), (to_x.as_view(), 3), (to_product.as_view(), 3)];
    let [rows, n] = shape(&h, &[&[(gates, 4), (g, 1), (to_out, 1)][..], &written[..]].concat());
    with_float!([gates, h, g, to_out, carried, to_x, to_product], T => {
        for_each_block(rows, n, &|first, count| {
            for start in (first..first + count).map(|row| row * n) {
                // SAFETY: the sizes were compared, and each row belongs to one call.
                unsafe {
                    let gate = |k: usize| slice::<T>(gates, k * rows * n + start, n);
                    gru_backward_row(
                        [gate(0), gate(1), gate(2), gate(3), slice(h, start, n)],
                        [slice(g, start, n), slice(to_out, start, n)],
                        slice_mut(carried, start, n),
                        slice_mut(to_x, 3 * start, 3 * n),
                        slice_mut(to_product, 3 * start, 3 * n),
                    );
                }
            }
        });
    });
}

multiversion! {
    /// One row of `gru_backward`: `r`, `z`, `n`, `m` and the previous state.
    unsafe fn gru_backward_row<T: Float>(
        a: [&[T]; 5], g: [&[T]; 2], carried: &mut [T], to_x: &mut [T], to_product: &mut [T],
    ) = gru_backward_row_body, LEVELS
}

#[inline(always)]
unsafe fn gru_backward_row_body<T: Float>(
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

//! Discrete cosine and sine transforms of types 1 to 4 along an axis, each by one Fourier
//! transform.
//!
//! Norms are expressed by a factor and the weights of the first and the last element. Invariant:
//! without weights the matrices are plain cosines and sines; types 2 and 3 are each other's
//! transpose, the others are symmetric.
//!
//! Source: J. Makhoul, A fast cosine transform in one and two dimensions (1980), for types 2 and 3.

use std::sync::Arc;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::axis_pass::{LineSource, LineTransform, run};
use super::complex_plan;
use super::dct_reorder::{apply_twiddles, apply_twiddles_transposed, deinterleave, interleave};
use super::float::Real;
use super::real_plan::{RealPlan, Weights, irfft_plan, rfft_plan};
use super::twiddles::{TwiddleTable, dct2_twiddles, dct4_twiddles};
use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut, one_dtype};
use crate::kernels::workspace::{WorkspaceSlices, bytes_of};

/// A cosine or sine transform of some type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DctType {
    /// Sines instead of cosines.
    pub sine: bool,
    /// The type, 1 to 4.
    pub kind: u8,
}

impl DctType {
    /// The type of the transposed matrix.
    pub fn transposed(self) -> DctType {
        let kind = match self.kind {
            2 => 3,
            3 => 2,
            own => own,
        };
        DctType { kind, ..self }
    }
}

/// Factors of the first and the last element of a line, on input and on output.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeWeights {
    /// Factors of the input line.
    pub read: [f64; 2],
    /// Factors of the output line.
    pub written: [f64; 2],
}

impl EdgeWeights {
    /// The weights of the transposed transform.
    pub fn transposed(self) -> EdgeWeights {
        EdgeWeights { read: self.written, written: self.read }
    }
}

enum Plan<T: Real> {
    Type1(Arc<RealPlan<T>>),
    Type3(Arc<RealPlan<T>>, Arc<TwiddleTable<T>>),
    Type2(Arc<RealPlan<T>>, Arc<TwiddleTable<T>>),
    Type4(Arc<dyn Fft<T>>, Arc<TwiddleTable<T>>),
}

impl<T: Real> Plan<T> {
    fn new(dct_type: DctType, n: usize) -> Plan<T> {
        match (dct_type.kind, dct_type.sine) {
            (1, false) => Plan::Type1(rfft_plan(2 * (n - 1))),
            (1, true) => Plan::Type1(rfft_plan(2 * (n + 1))),
            (2, _) => Plan::Type2(rfft_plan(n), dct2_twiddles(n)),
            (3, _) => Plan::Type3(irfft_plan(n), dct2_twiddles(n)),
            _ if n.is_multiple_of(2) => {
                Plan::Type4(complex_plan::plan(n / 2, true), dct4_twiddles(n))
            }
            _ => Plan::Type4(complex_plan::plan(2 * n, true), dct4_twiddles(n)),
        }
    }

    /// Lines per call that are fastest.
    fn lines_per_call(&self) -> usize {
        match self {
            Plan::Type2(plan, _) | Plan::Type3(plan, _) => plan.lines_per_call(),
            _ => 1,
        }
    }

    /// Real and complex numbers of a call, and the bytes of the inner plan's workspace.
    fn sizes(&self) -> [usize; 3] {
        let lines_per_call = self.lines_per_call();
        match self {
            Plan::Type1(plan) | Plan::Type2(plan, _) | Plan::Type3(plan, _) => [
                lines_per_call * plan.len(),
                lines_per_call * plan.half_len(),
                plan.workspace_bytes(),
            ],
            Plan::Type4(plan, _) => {
                [0, plan.len(), bytes_of::<Complex<T>>(plan.get_inplace_scratch_len())]
            }
        }
    }

    /// Takes the inner plan's workspace.
    fn take_workspace<'a>(&self, memory: &mut WorkspaceSlices<'a>) -> [&'a mut [Complex<T>]; 2] {
        match self {
            Plan::Type1(plan) | Plan::Type2(plan, _) | Plan::Type3(plan, _) => {
                plan.take_workspace(memory)
            }
            Plan::Type4(plan, _) => [&mut [], memory.take(plan.get_inplace_scratch_len())],
        }
    }
}

struct DctLines<T: Real> {
    dct_type: DctType,
    n: usize,
    factor: T,
    edges: EdgeWeights,
    plan: Plan<T>,
}

/// Workspace of a call.
struct DctWorkspace<'a, T> {
    real: &'a mut [T],
    complex: &'a mut [Complex<T>],
    own: [&'a mut [Complex<T>]; 2],
}

impl<T: Real> LineTransform for DctLines<T> {
    type In = T;
    type Out = T;

    fn lengths(&self) -> [usize; 2] {
        [self.n; 2]
    }

    fn lines_per_call(&self) -> usize {
        self.plan.lines_per_call()
    }

    fn workspace_bytes(&self, lines: usize) -> usize {
        let [real, complex, own] = self.plan.sizes();
        bytes_of::<T>(lines * self.n) + bytes_of::<T>(real) + bytes_of::<Complex<T>>(complex) + own
    }

    fn transform(&self, source: LineSource<'_, T>, out: &mut [T], mut memory: WorkspaceSlices<'_>) {
        let copies: &mut [T] = memory.take(source.lines * self.n);
        let contiguous = source.as_contiguous();
        if contiguous.is_none() {
            source.gather(copies);
        }
        let [real, complex, _] = self.plan.sizes();
        let (real, complex) = (memory.take(real), memory.take(complex));
        let mut workspace =
            DctWorkspace { real, complex, own: self.plan.take_workspace(&mut memory) };
        let lines = match contiguous {
            Some(lines) if !self.has_preprocessing() => lines,
            _ => {
                contiguous.into_iter().for_each(|lines| copies.copy_from_slice(lines));
                copies.chunks_exact_mut(self.n).for_each(|copy| self.preprocess(copy));
                copies
            }
        };
        let lines_per_call = self.plan.lines_per_call() * self.n;
        for (lines, out) in lines.chunks(lines_per_call).zip(out.chunks_mut(lines_per_call)) {
            self.transform_lines(lines, out, &mut workspace);
            out.chunks_exact_mut(self.n).for_each(|out| self.postprocess(out));
        }
    }
}

fn scale_ends<T: Real>(line: &mut [T], [first, last]: [f64; 2]) {
    if let Some(x) = line.first_mut() {
        *x = x.scaled(T::narrow(first));
    }
    if let Some(x) = line.last_mut() {
        *x = x.scaled(T::narrow(last));
    }
}

/// Negates every other element.
fn negate_odd<T: Real>(line: &mut [T]) {
    line.iter_mut().skip(1).step_by(2).for_each(|x| *x = -*x);
}

impl<T: Real> DctLines<T> {
    /// Whether lines are changed before the transform.
    fn has_preprocessing(&self) -> bool {
        (self.dct_type.sine && self.dct_type.kind != 1) || self.edges.read != [1.0; 2]
    }

    fn preprocess(&self, line: &mut [T]) {
        scale_ends(line, self.edges.read);
        match (self.dct_type.sine, self.dct_type.kind) {
            (true, 2) => negate_odd(line),
            (true, 3 | 4) => line.reverse(),
            _ => {}
        }
    }

    /// Transforms the lines of a call: one line if the plan takes one at a time.
    fn transform_lines(&self, line: &[T], out: &mut [T], workspace: &mut DctWorkspace<'_, T>) {
        let factor = self.factor;
        match &self.plan {
            Plan::Type1(plan) if self.dct_type.sine => dst1(plan, factor, line, out, workspace),
            Plan::Type1(plan) => dct1(plan, factor, line, out, workspace),
            Plan::Type2(plan, table) => dct2((plan, table), factor, line, out, workspace),
            Plan::Type3(plan, table) => dct3((plan, table), factor, line, out, workspace),
            Plan::Type4(plan, table) if self.n.is_multiple_of(2) => {
                dct4_even((&**plan, table), factor, line, out, workspace);
            }
            Plan::Type4(plan, table) => dct4_odd((&**plan, table), factor, line, out, workspace),
        }
    }

    fn postprocess(&self, out: &mut [T]) {
        match (self.dct_type.sine, self.dct_type.kind) {
            (true, 2) => out.reverse(),
            (true, 3 | 4) => negate_odd(out),
            _ => {}
        }
        scale_ends(out, self.edges.written);
    }
}

fn spectrum<T: Real>(plan: &RealPlan<T>, factor: T, workspace: &mut DctWorkspace<'_, T>) {
    plan.forward(workspace.real, workspace.complex, &mut workspace.own, Weights::of(factor));
}

/// DCT-1: the spectrum of the line extended by its mirror image.
fn dct1<T: Real>(
    plan: &RealPlan<T>,
    factor: T,
    line: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    let (n, two) = (line.len(), T::narrow(2.0));
    for (i, &x) in line.iter().enumerate() {
        workspace.real[i] = x;
        workspace.real[(2 * (n - 1) - i) % (2 * (n - 1))] = x;
    }
    workspace.real[0] = line[0] * two;
    workspace.real[n - 1] = line[n - 1] * two;
    spectrum(plan, factor, workspace);
    for (out, x) in out.iter_mut().zip(&*workspace.complex) {
        *out = x.re * T::narrow(0.5);
    }
}

/// DST-1: the spectrum of the line extended by its negated mirror image.
fn dst1<T: Real>(
    plan: &RealPlan<T>,
    factor: T,
    line: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    let m = 2 * (line.len() + 1);
    workspace.real.fill(T::zero());
    for (i, &x) in line.iter().enumerate() {
        workspace.real[i + 1] = x;
        workspace.real[m - 1 - i] = -x;
    }
    spectrum(plan, factor, workspace);
    for (out, x) in out.iter_mut().zip(&workspace.complex[1..]) {
        *out = x.im * T::narrow(-0.5);
    }
}

/// DCT-2.
fn dct2<T: Real>(
    (plan, table): (&RealPlan<T>, &[Complex<T>]),
    factor: T,
    lines: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    let (n, half_len) = (plan.len(), plan.half_len());
    let (real, spectra) = (&mut workspace.real[..lines.len()], lines.len() / n * half_len);
    for (line, real) in lines.chunks_exact(n).zip(real.chunks_exact_mut(n)) {
        // SAFETY: both have the same length.
        unsafe { deinterleave(line, real) };
    }
    let spectra = &mut workspace.complex[..spectra];
    plan.forward(real, spectra, &mut workspace.own, Weights::of(factor));
    for (spectrum, out) in spectra.chunks_exact(half_len).zip(out.chunks_exact_mut(n)) {
        // SAFETY: the spectrum and the table have `n / 2 + 1` numbers.
        unsafe { apply_twiddles(spectrum, table, out) };
    }
}

/// DCT-3: the transposed steps of the DCT-2 in reverse order.
fn dct3<T: Real>(
    (plan, table): (&RealPlan<T>, &[Complex<T>]),
    factor: T,
    lines: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    let (n, half_len) = (plan.len(), plan.half_len());
    let (real, spectra) = (&mut workspace.real[..lines.len()], lines.len() / n * half_len);
    let spectra = &mut workspace.complex[..spectra];
    for (line, spectrum) in lines.chunks_exact(n).zip(spectra.chunks_exact_mut(half_len)) {
        // SAFETY: as above.
        unsafe { apply_twiddles_transposed(line, table, spectrum) };
    }
    plan.backward(spectra, real, &mut workspace.own, Weights::of(factor));
    for (real, out) in real.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        // SAFETY: both have the same length.
        unsafe { interleave(real, out) };
    }
}

/// DCT-4 of an even number of points: pairs from both ends as complex numbers.
fn dct4_even<T: Real>(
    (plan, table): (&dyn Fft<T>, &[Complex<T>]),
    factor: T,
    line: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    let n = line.len();
    for (i, (x, twiddle)) in workspace.complex.iter_mut().zip(table).enumerate() {
        *x = Complex::new(line[2 * i], line[n - 1 - 2 * i]) * *twiddle;
    }
    plan.process_with_scratch(workspace.complex, workspace.own[1]);
    for (k, (x, twiddle)) in workspace.complex.iter().zip(table).enumerate() {
        let rotated = *x * *twiddle;
        out[2 * k] = rotated.re * factor;
        out[n - 1 - 2 * k] = -rotated.im * factor;
    }
}

/// DCT-4 of an odd number of points: the line is padded with as many zeros.
fn dct4_odd<T: Real>(
    (plan, table): (&dyn Fft<T>, &[Complex<T>]),
    factor: T,
    line: &[T],
    out: &mut [T],
    workspace: &mut DctWorkspace<'_, T>,
) {
    workspace.complex.fill(Complex::new(T::zero(), T::zero()));
    for ((x, &real), twiddle) in workspace.complex.iter_mut().zip(line).zip(table) {
        *x = *twiddle * real;
    }
    plan.process_with_scratch(workspace.complex, workspace.own[1]);
    for ((out, x), twiddle) in out.iter_mut().zip(&*workspace.complex).zip(table) {
        *out = (*x * *twiddle).re * factor;
    }
}

/// Writes `factor` times a cosine or sine transform of real lines along an axis, without the
/// weights of SciPy's definitions. With `n` points, type 1 sums `x cos(πjk/(n-1))`, type 2 `x
/// cos(πk(2j+1)/(2n))`, type 3 is its transpose, type 4 sums `x cos(π(2j+1)(2k+1)/(4n))`. For
/// sines, indices without `2j+1` count from 1, and type 1 divides by `n+1`.
///
/// # Panics
/// If dims or dtypes differ or the type does not exist, which are bugs of the caller.
pub fn trigonometric(
    input: View,
    axis: usize,
    dct_type: DctType,
    factor: f64,
    edges: EdgeWeights,
    out: ViewMut,
) {
    launch!("dct", [input] => [out];; {
        assert!(input.dims == out.dims, "dct: dims");
        match one_dtype([input.dtype, out.dtype]) {
            DType::F32 => transform_axis::<f32>(input, axis, dct_type, factor, edges, out),
            _ => transform_axis::<f64>(input, axis, dct_type, factor, edges, out),
        }
    });
}

fn transform_axis<T: Real>(
    input: View,
    axis: usize,
    dct_type: DctType,
    factor: f64,
    edges: EdgeWeights,
    out: ViewMut,
) {
    assert!(input.dtype.is_float(), "dct: dtype");
    if out.dims.contains(&0) {
        return;
    }
    let n = out.dims[axis];
    let lines =
        DctLines { dct_type, n, factor: T::narrow(factor), edges, plan: Plan::new(dct_type, n) };
    run(&lines, Some(input), &out, axis);
}

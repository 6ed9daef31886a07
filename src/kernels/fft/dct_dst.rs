//! Cosine and sine transforms of the types 1 to 4, of real lines to real lines.
//!
//! Owns: the kernel, and the reorderings that make each of them one Fourier transform. Never knows norms: those are a
//! factor and the weights of the first and the last element.
//! Invariant: without weights the matrices are plain cosines and sines; those of type 2 and 3 are each other's transpose
//! and the others are symmetric.
//! Sources: J. Makhoul, A fast cosine transform in one and two dimensions (1980), for types 2 and 3.

use std::sync::Arc;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::along_axis::{Pass, Source, run};
use super::complex;
use super::dct_reorder::{fold, turn, turn_back, unfold};
use super::float::{Number, Real};
use super::real_plan::{RealPlan, Weights, from_half, to_half};
use super::twiddles::{Table, fourth, quarter};
use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut, one_dtype};
use crate::kernels::workspace::{Parts, bytes_of};

/// Which transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Sines instead of cosines.
    pub sine: bool,
    /// The type, 1 to 4.
    pub kind: u8,
}

impl Family {
    /// The transform with the transposed matrix.
    pub fn transposed(self) -> Family {
        let kind = match self.kind {
            2 => 3,
            3 => 2,
            own => own,
        };
        Family { kind, ..self }
    }
}

/// Factors of the first and the last element of a line, as it is read and as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Edges {
    /// Of the line that is read.
    pub read: [f64; 2],
    /// Of the line that is written.
    pub written: [f64; 2],
}

impl Edges {
    /// Those of the transposed transform.
    pub fn transposed(self) -> Edges {
        Edges { read: self.written, written: self.read }
    }
}

enum Plan<T: Real> {
    Forward(Arc<RealPlan<T>>),
    Back(Arc<RealPlan<T>>, Arc<Table<T>>),
    Turned(Arc<RealPlan<T>>, Arc<Table<T>>),
    Complex(Arc<dyn Fft<T>>, Arc<Table<T>>),
}

impl<T: Real> Plan<T> {
    fn new(family: Family, n: usize) -> Plan<T> {
        match (family.kind, family.sine) {
            (1, false) => Plan::Forward(to_half(2 * (n - 1))),
            (1, true) => Plan::Forward(to_half(2 * (n + 1))),
            (2, _) => Plan::Turned(to_half(n), quarter(n)),
            (3, _) => Plan::Back(from_half(n), quarter(n)),
            _ if n.is_multiple_of(2) => Plan::Complex(complex::plan(n / 2, true), fourth(n)),
            _ => Plan::Complex(complex::plan(2 * n, true), fourth(n)),
        }
    }

    /// How many lines are transformed at a time.
    fn group(&self) -> usize {
        match self {
            Plan::Turned(plan, _) | Plan::Back(plan, _) => plan.group(),
            _ => 1,
        }
    }

    /// The real numbers of a group and the complex ones, and the bytes of the plan's own working memory.
    fn sizes(&self) -> [usize; 3] {
        let group = self.group();
        match self {
            Plan::Forward(plan) | Plan::Turned(plan, _) | Plan::Back(plan, _) => {
                [group * plan.len(), group * plan.half(), plan.room()]
            }
            Plan::Complex(plan, _) => {
                [0, plan.len(), bytes_of::<Complex<T>>(plan.get_inplace_scratch_len())]
            }
        }
    }

    /// Takes the plan's own working memory.
    fn desk<'a>(&self, room: &mut Parts<'a>) -> [&'a mut [Complex<T>]; 2]
    where
        Complex<T>: Number<Part = T>,
    {
        match self {
            Plan::Forward(plan) | Plan::Turned(plan, _) | Plan::Back(plan, _) => plan.desk(room),
            Plan::Complex(plan, _) => [&mut [], room.take(plan.get_inplace_scratch_len())],
        }
    }
}

struct Lines<T: Real> {
    family: Family,
    n: usize,
    factor: T,
    edges: Edges,
    plan: Plan<T>,
}

/// Working memory of a group of lines.
struct Desk<'a, T> {
    real: &'a mut [T],
    complex: &'a mut [Complex<T>],
    own: [&'a mut [Complex<T>]; 2],
}

impl<T: Real> Pass for Lines<T>
where
    Complex<T>: Number<Part = T>,
{
    type In = T;
    type Out = T;

    fn lens(&self) -> [usize; 2] {
        [self.n; 2]
    }

    fn group(&self) -> usize {
        self.plan.group()
    }

    fn room(&self, lines: usize) -> usize {
        let [real, complex, own] = self.plan.sizes();
        bytes_of::<T>(lines * self.n) + bytes_of::<T>(real) + bytes_of::<Complex<T>>(complex) + own
    }

    fn run(&self, source: Source<'_, T>, out: &mut [T], mut room: Parts<'_>) {
        let copies: &mut [T] = room.take(source.lines * self.n);
        let given = source.direct();
        if given.is_none() {
            source.gather(copies);
        }
        let [real, complex, _] = self.plan.sizes();
        let (real, complex) = (room.take(real), room.take(complex));
        let mut desk = Desk { real, complex, own: self.plan.desk(&mut room) };
        let lines = match given {
            Some(lines) if !self.prepares() => lines,
            _ => {
                given.into_iter().for_each(|given| copies.copy_from_slice(given));
                copies.chunks_exact_mut(self.n).for_each(|copy| self.prepare(copy));
                copies
            }
        };
        let group = self.plan.group() * self.n;
        for (lines, out) in lines.chunks(group).zip(out.chunks_mut(group)) {
            self.group(lines, out, &mut desk);
            out.chunks_exact_mut(self.n).for_each(|out| self.finish(out));
        }
    }
}

fn weigh<T: Real>(line: &mut [T], [first, last]: [f64; 2]) {
    if let Some(x) = line.first_mut() {
        *x = x.scaled(T::narrow(first));
    }
    if let Some(x) = line.last_mut() {
        *x = x.scaled(T::narrow(last));
    }
}

/// Every other element with the other sign.
fn alternate<T: Real>(line: &mut [T]) {
    line.iter_mut().skip(1).step_by(2).for_each(|x| *x = -*x);
}

impl<T: Real> Lines<T>
where
    Complex<T>: Number<Part = T>,
{
    /// Whether lines are changed before they are transformed.
    fn prepares(&self) -> bool {
        (self.family.sine && self.family.kind != 1) || self.edges.read != [1.0; 2]
    }

    fn prepare(&self, line: &mut [T]) {
        weigh(line, self.edges.read);
        match (self.family.sine, self.family.kind) {
            (true, 2) => alternate(line),
            (true, 3 | 4) => line.reverse(),
            _ => {}
        }
    }

    /// Transforms a group of lines, which is one line where the plan takes one at a time.
    fn group(&self, line: &[T], out: &mut [T], desk: &mut Desk<'_, T>) {
        let factor = self.factor;
        match &self.plan {
            Plan::Forward(plan) if self.family.sine => odd(plan, factor, line, out, desk),
            Plan::Forward(plan) => even(plan, factor, line, out, desk),
            Plan::Turned(plan, table) => second((plan, table), factor, line, out, desk),
            Plan::Back(plan, table) => third((plan, table), factor, line, out, desk),
            Plan::Complex(plan, table) if self.n.is_multiple_of(2) => {
                folded((&**plan, table), factor, line, out, desk);
            }
            Plan::Complex(plan, table) => padded((&**plan, table), factor, line, out, desk),
        }
    }

    fn finish(&self, out: &mut [T]) {
        match (self.family.sine, self.family.kind) {
            (true, 2) => out.reverse(),
            (true, 3 | 4) => alternate(out),
            _ => {}
        }
        weigh(out, self.edges.written);
    }
}

fn spectrum<T: Real>(plan: &RealPlan<T>, factor: T, desk: &mut Desk<'_, T>)
where
    Complex<T>: Number<Part = T>,
{
    plan.forward(desk.real, desk.complex, &mut desk.own, Weights::of(factor));
}

/// Type 1 of cosines: the spectrum of the line and its mirror image.
fn even<T: Real>(plan: &RealPlan<T>, factor: T, line: &[T], out: &mut [T], desk: &mut Desk<'_, T>)
where
    Complex<T>: Number<Part = T>,
{
    let (n, two) = (line.len(), T::narrow(2.0));
    for (i, &x) in line.iter().enumerate() {
        desk.real[i] = x;
        desk.real[(2 * (n - 1) - i) % (2 * (n - 1))] = x;
    }
    desk.real[0] = line[0] * two;
    desk.real[n - 1] = line[n - 1] * two;
    spectrum(plan, factor, desk);
    for (out, x) in out.iter_mut().zip(&*desk.complex) {
        *out = x.re * T::narrow(0.5);
    }
}

/// Type 1 of sines: the spectrum of the line and its negative mirror image.
fn odd<T: Real>(plan: &RealPlan<T>, factor: T, line: &[T], out: &mut [T], desk: &mut Desk<'_, T>)
where
    Complex<T>: Number<Part = T>,
{
    let m = 2 * (line.len() + 1);
    desk.real.fill(T::zero());
    for (i, &x) in line.iter().enumerate() {
        desk.real[i + 1] = x;
        desk.real[m - 1 - i] = -x;
    }
    spectrum(plan, factor, desk);
    for (out, x) in out.iter_mut().zip(&desk.complex[1..]) {
        *out = x.im * T::narrow(-0.5);
    }
}

/// Type 2 of cosines.
fn second<T: Real>(
    (plan, table): (&RealPlan<T>, &[Complex<T>]),
    factor: T,
    lines: &[T],
    out: &mut [T],
    desk: &mut Desk<'_, T>,
) where
    Complex<T>: Number<Part = T>,
{
    let (n, half) = (plan.len(), plan.half());
    let (real, spectra) = (&mut desk.real[..lines.len()], lines.len() / n * half);
    for (line, real) in lines.chunks_exact(n).zip(real.chunks_exact_mut(n)) {
        // SAFETY: both have as many elements.
        unsafe { unfold(line, real) };
    }
    let spectra = &mut desk.complex[..spectra];
    plan.forward(real, spectra, &mut desk.own, Weights::of(factor));
    for (spectrum, out) in spectra.chunks_exact(half).zip(out.chunks_exact_mut(n)) {
        // SAFETY: the spectrum and the table are half as long as the line.
        unsafe { turn(spectrum, table, out) };
    }
}

/// Type 3 of cosines: the steps of type 2 transposed, from the last to the first.
fn third<T: Real>(
    (plan, table): (&RealPlan<T>, &[Complex<T>]),
    factor: T,
    lines: &[T],
    out: &mut [T],
    desk: &mut Desk<'_, T>,
) where
    Complex<T>: Number<Part = T>,
{
    let (n, half) = (plan.len(), plan.half());
    let (real, spectra) = (&mut desk.real[..lines.len()], lines.len() / n * half);
    let spectra = &mut desk.complex[..spectra];
    for (line, spectrum) in lines.chunks_exact(n).zip(spectra.chunks_exact_mut(half)) {
        // SAFETY: as above.
        unsafe { turn_back(line, table, spectrum) };
    }
    plan.backward(spectra, real, &mut desk.own, Weights::of(factor));
    for (real, out) in real.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        // SAFETY: both have as many elements.
        unsafe { fold(real, out) };
    }
}

/// Type 4 of cosines for an even number of points: pairs from both ends as complex numbers.
fn folded<T: Real>(
    (plan, table): (&dyn Fft<T>, &[Complex<T>]),
    factor: T,
    line: &[T],
    out: &mut [T],
    desk: &mut Desk<'_, T>,
) {
    let n = line.len();
    for (i, (x, turn)) in desk.complex.iter_mut().zip(table).enumerate() {
        *x = Complex::new(line[2 * i], line[n - 1 - 2 * i]) * *turn;
    }
    plan.process_with_scratch(desk.complex, desk.own[1]);
    for (k, (x, turn)) in desk.complex.iter().zip(table).enumerate() {
        let turned = *x * *turn;
        out[2 * k] = turned.re * factor;
        out[n - 1 - 2 * k] = -turned.im * factor;
    }
}

/// Type 4 of cosines for an odd number of points: as many zeros behind the line.
fn padded<T: Real>(
    (plan, table): (&dyn Fft<T>, &[Complex<T>]),
    factor: T,
    line: &[T],
    out: &mut [T],
    desk: &mut Desk<'_, T>,
) {
    desk.complex.fill(Complex::new(T::zero(), T::zero()));
    for ((x, &real), turn) in desk.complex.iter_mut().zip(line).zip(table) {
        *x = *turn * real;
    }
    plan.process_with_scratch(desk.complex, desk.own[1]);
    for ((out, x), turn) in out.iter_mut().zip(&*desk.complex).zip(table) {
        *out = (*x * *turn).re * factor;
    }
}

/// Writes `factor` times a cosine or sine transform of real lines along an axis, without the weights of SciPy's
/// definitions: with `n` points, type 1 sums `x cos(πjk/(n-1))`, type 2 `x cos(πk(2j+1)/(2n))`, type 3 its transpose, type 4
/// `x cos(π(2j+1)(2k+1)/(4n))`; for sines, the indices that stand alone are counted from 1 and type 1 divides by `n+1`.
///
/// # Panics
/// When dims or dtypes differ or there are no such transforms: bugs of the caller.
pub fn trigonometric(
    input: View,
    axis: usize,
    family: Family,
    factor: f64,
    edges: Edges,
    out: ViewMut,
) {
    launch!("dct", [input] => [out];; {
        assert!(input.dims == out.dims, "dct: dims");
        match one_dtype([input.dtype, out.dtype]) {
            DType::F32 => along::<f32>(input, axis, family, factor, edges, out),
            _ => along::<f64>(input, axis, family, factor, edges, out),
        }
    });
}

fn along<T: Real>(input: View, axis: usize, family: Family, factor: f64, edges: Edges, out: ViewMut)
where
    Complex<T>: Number<Part = T>,
{
    assert!(input.dtype.is_float(), "dct: dtype");
    if out.dims.contains(&0) {
        return;
    }
    let n = out.dims[axis];
    let lines = Lines { family, n, factor: T::narrow(factor), edges, plan: Plan::new(family, n) };
    run(&lines, Some(input), &out, axis);
}

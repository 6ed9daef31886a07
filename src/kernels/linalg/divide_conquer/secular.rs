//! The secular equation: eigenvalues and vectors of a diagonal matrix plus a rank-one update.
//!
//! Finds the roots of `1 / rho + Σ z² / (d - λ)`: one between any two poles, one above the last.
//! Invariant: a root is held as its distance from the nearer pole, so that the distances from all
//! poles are accurate.
//!
//! Sources: Li, LAPACK Working Note 89 (1993), for the iteration; Gu and Eisenstat, SIAM J. Matrix
//! Anal. Appl. 15 (1994), for the vectors.

use crate::kernels::linalg::matrix::Matrix;

use crate::kernels::multiversion::multiversion;

/// Independent accumulators of a sum.
const LANES: usize = 8;
/// Most steps of the iteration; it takes about four.
const MAX_STEPS: usize = 200;

/// `Σ z² / (d - λ)` and its derivative, for `λ = origin + shift`.
#[inline(always)]
unsafe fn poles_body(d: &[f64], squares: &[f64], origin: f64, shift: f64) -> (f64, f64) {
    let (mut sum, mut slope) = ([0.0; LANES], [0.0; LANES]);
    let n = d.len().min(squares.len());
    let mut i = 0;
    // One operation per loop: LLVM does not vectorise a loop with all of them.
    while i + LANES <= n {
        // SAFETY: at least `LANES` elements are left.
        let (d, squares) = unsafe {
            (
                *d.as_ptr().add(i).cast::<[f64; LANES]>(),
                *squares.as_ptr().add(i).cast::<[f64; LANES]>(),
            )
        };
        let (mut reciprocal, mut part) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            reciprocal[l] = 1.0 / ((d[l] - origin) - shift);
        }
        for l in 0..LANES {
            part[l] = squares[l] * reciprocal[l];
            sum[l] += part[l];
        }
        for l in 0..LANES {
            slope[l] += part[l] * reciprocal[l];
        }
        i += LANES;
    }
    for (l, (d, square)) in d[i..n].iter().zip(&squares[i..n]).enumerate() {
        let reciprocal = 1.0 / ((d - origin) - shift);
        let part = square * reciprocal;
        sum[l] += part;
        slope[l] += part * reciprocal;
    }
    (sum.iter().sum(), slope.iter().sum())
}

#[inline(always)]
unsafe fn distances_body(d: &[f64], origin: f64, shift: f64, out: &mut [f64]) {
    for (out, d) in out.iter_mut().zip(d) {
        *out = (d - origin) - shift;
    }
}

/// `into *= distance / (d - pole)`.
#[inline(always)]
unsafe fn weights_body(into: &mut [f64], distances: &[f64], d: &[f64], pole: f64) {
    for ((into, distance), d) in into.iter_mut().zip(distances).zip(d) {
        *into *= distance / (d - pole);
    }
}

/// `x = z / x`, and the sum of its squares.
#[inline(always)]
unsafe fn scaled_reciprocals_body(z: &[f64], x: &mut [f64]) -> f64 {
    let mut sum = [0.0; LANES];
    for (x, z) in x.iter_mut().zip(z) {
        *x = z / *x;
    }
    for part in x.chunks(LANES) {
        for (sum, x) in sum.iter_mut().zip(part) {
            *sum += x * x;
        }
    }
    sum.iter().sum()
}

/// `x *= factor`.
#[inline(always)]
unsafe fn scale_body(x: &mut [f64], factor: f64) {
    x.iter_mut().for_each(|x| *x *= factor);
}

multiversion! {
    unsafe fn scale(x: &mut [f64], factor: f64) = scale_body
}
multiversion! {
    unsafe fn poles(d: &[f64], squares: &[f64], origin: f64, shift: f64) -> (f64, f64) = poles_body
}
multiversion! {
    unsafe fn distances(d: &[f64], origin: f64, shift: f64, out: &mut [f64]) = distances_body
}
multiversion! {
    unsafe fn weights(into: &mut [f64], distances: &[f64], d: &[f64], pole: f64) = weights_body
}
multiversion! {
    unsafe fn scaled_reciprocals(z: &[f64], x: &mut [f64]) -> f64 = scaled_reciprocals_body
}

/// The root of `c x² - a x + b` for the next iterate.
fn quadratic(a: f64, b: f64, c: f64) -> f64 {
    let root = (a * a - 4.0 * b * c).abs().sqrt();
    if a <= 0.0 { (a - root) / (2.0 * c) } else { 2.0 * b / (a + root) }
}

/// The equation: ascending poles, squared weights, and `1 / rho`, which is positive.
pub(super) struct Secular<'a> {
    pub(super) d: &'a [f64],
    pub(super) squares: &'a [f64],
    pub(super) constant: f64,
}

impl Secular<'_> {
    /// The sum over a range of poles, and its derivative.
    fn sum(&self, over: std::ops::Range<usize>, origin: f64, shift: f64) -> (f64, f64) {
        // SAFETY: the loop has no contract beyond its slices.
        unsafe { poles(&self.d[over.clone()], &self.squares[over], origin, shift) }
    }

    /// For root `i`: its origin pole, a bracket of the distance from it, and the first iterate.
    fn start(&self, i: usize) -> (f64, [f64; 2], f64) {
        let (d, k) = (self.d, self.d.len());
        if i + 1 == k {
            let most = self.squares.iter().sum::<f64>() / self.constant;
            return (d[i], [0.0, most * (1.0 + 4.0 * f64::EPSILON)], most / 2.0);
        }
        let gap = d[i + 1] - d[i];
        let others = self.constant
            + self.sum(0..i, d[i], gap / 2.0).0
            + self.sum(i + 2..k, d[i], gap / 2.0).0;
        let (below, above) = (self.squares[i], self.squares[i + 1]);
        if others + (above - below) / (gap / 2.0) >= 0.0 {
            let guess = quadratic(others * gap + below + above, below * gap, others);
            return (d[i], [0.0, gap / 2.0], guess);
        }
        let guess = quadratic(below + above - others * gap, -above * gap, others);
        (d[i + 1], [-gap / 2.0, 0.0], guess)
    }

    /// Root `i`; fills `out` with the poles less the root.
    fn root(&self, i: usize, out: &mut [f64]) -> f64 {
        let (d, k) = (self.d, self.d.len());
        let (origin, [mut low, mut high], mut shift) = self.start(i);
        for _ in 0..MAX_STEPS {
            if !(shift > low && shift < high) {
                shift = match (low, high) {
                    (0.0, _) => high / 16.0,
                    (_, 0.0) => low / 16.0,
                    _ => f64::midpoint(low, high),
                };
                if shift <= low || shift >= high {
                    break;
                }
            }
            let (below, below_slope) = self.sum(0..i + 1, origin, shift);
            let (above, above_slope) = self.sum(i + 1..k, origin, shift);
            let (value, slope) = (self.constant + below + above, below_slope + above_slope);
            let size = 8.0 * (above - below) + self.constant + shift.abs() * slope;
            if value.abs() <= f64::EPSILON * size {
                break;
            }
            if value < 0.0 {
                low = shift;
            } else {
                high = shift;
            }
            let left = (d[i] - origin) - shift;
            let mut step = if i + 1 == k {
                left + left * left * slope / (value - left * slope)
            } else {
                let right = (d[i + 1] - origin) - shift;
                let c = value - left * below_slope - right * above_slope;
                quadratic((left + right) * value - left * right * slope, left * right * value, c)
            };
            if value * step >= 0.0 || !step.is_finite() {
                step = -value / slope;
            }
            if shift + step == shift {
                break;
            }
            shift += step;
        }
        // SAFETY: the loop has no contract beyond its slices.
        unsafe { distances(d, origin, shift, out) }
        origin + shift
    }

    /// The ascending roots, their unit vectors (columns), and the weights (with the signs of `z`)
    /// that have exactly these roots when the constant is 1.
    pub(super) fn solve(&self, z: &[f64]) -> (Vec<f64>, Matrix<f64>, Vec<f64>) {
        let k = self.d.len();
        let mut vectors = Matrix::zeros(k, k);
        let (mut roots, mut products) = (Vec::with_capacity(k), vec![1.0; k]);
        for i in 0..k {
            let column = &mut vectors.as_mut_slice()[i * k..(i + 1) * k];
            roots.push(self.root(i, column));
            products[i] *= column[i];
            for part in [0..i, i + 1..k] {
                let (into, d) = (&mut products[part.clone()], &self.d[part.clone()]);
                // SAFETY: the loop has no contract beyond its slices.
                unsafe { weights(into, &column[part], d, self.d[i]) }
            }
        }
        let z: Vec<f64> =
            products.iter().zip(z).map(|(p, z)| (-p).max(0.0).sqrt().copysign(*z)).collect();
        for column in vectors.as_mut_slice().chunks_exact_mut(k.max(1)) {
            // SAFETY: as above.
            unsafe {
                let length = scaled_reciprocals(&z, column).sqrt();
                scale(column, 1.0 / length);
            }
        }
        (roots, vectors, z)
    }
}

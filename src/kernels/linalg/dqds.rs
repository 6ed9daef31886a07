//! Singular values of real bidiagonal matrices by the dqds algorithm (differential
//! quotient-difference with shifts).
//!
//! Values only. Invariant: it returns all values, or none without convergence.
//!
//! Source: Fernando and Parlett, Numer. Math. 67 (1994); late failures as in LAPACK's `lasq3`.

/// Most passes per value.
const MAX_PASSES: usize = 200;
/// Squared relative threshold below which an element counts as zero.
const NEGLIGIBLE: f64 = f64::EPSILON * f64::EPSILON * 1e-2;

/// Squares of the diagonal (`q`) and of the superdiagonal (`e`), less the accumulated shift.
struct Squares {
    q: Vec<f64>,
    e: Vec<f64>,
    next: (Vec<f64>, Vec<f64>),
    /// Absolute threshold below which an element counts as zero.
    floor: f64,
}

/// Unshifted sweeps that follow a shifted one within a pass. Each has its own chain of divisions,
/// so four pipelined sweeps take the time of one.
const TRAILING_SWEEPS: usize = 3;

/// The differences `d` of the last sweep of a pass: the last one, the one before it, and the
/// minimum of the others.
struct Minima {
    last: f64,
    second_last: f64,
    others: f64,
}

/// State of a sweep at some row: its shift, the difference there, the previous one, and the minimum
/// before that.
#[derive(Clone, Copy)]
struct Sweep {
    shift: f64,
    d: f64,
    second_last: f64,
    others: f64,
}

impl Sweep {
    /// Advances from row `i` to the next one.
    #[inline(always)]
    fn step(&mut self, q: &mut [f64], e: &mut [f64], i: usize) {
        let d = self.d;
        self.others = if self.second_last < self.others { self.second_last } else { self.others };
        self.second_last = d;
        q[i] = d + e[i];
        let quotient = q[i + 1] / q[i];
        e[i] *= quotient;
        self.d = d * quotient - self.shift;
    }
}

/// A pass: squares `q`, `e` and a shift to the states of its first and last sweep.
type Pass = fn(&mut [f64], &mut [f64], f64) -> (Sweep, Sweep);

/// Runs a shifted sweep and `SWEEPS - 1` unshifted ones, each one row behind the sweep before.
/// Returns the states of the first and of the last.
fn pass<const SWEEPS: usize>(q: &mut [f64], e: &mut [f64], shift: f64) -> (Sweep, Sweep) {
    let n = e.len();
    let none = Sweep { shift: 0.0, d: 0.0, second_last: f64::INFINITY, others: f64::INFINITY };
    let mut sweeps = [none; SWEEPS];
    sweeps[0].shift = shift;
    for at in 0..n + SWEEPS {
        if at >= SWEEPS && at < n {
            for (k, sweep) in sweeps.iter_mut().enumerate() {
                sweep.step(q, e, at - k);
            }
            continue;
        }
        for (k, sweep) in sweeps.iter_mut().enumerate().filter(|(k, _)| *k <= at) {
            if at == k {
                sweep.d = q[0] - sweep.shift;
            }
            match at - k {
                i if i < n => sweep.step(q, e, i),
                i if i == n => q[n] = sweep.d,
                _ => {}
            }
        }
    }
    (sweeps[0], sweeps[SWEEPS - 1])
}

impl Squares {
    /// Runs a pass over rows `first..=last` into `next`. Returns the state of the first sweep, and
    /// the minima of the last one unless a difference of the first is negative.
    fn sweep(&mut self, first: usize, last: usize, shift: f64) -> (Sweep, Option<Minima>) {
        let mut run = |pass: Pass| {
            let (q, e) = (&mut self.next.0[first..=last], &mut self.next.1[first..last]);
            q.copy_from_slice(&self.q[first..=last]);
            e.copy_from_slice(&self.e[first..last]);
            pass(q, e, shift)
        };
        let (one, mut end) = run(pass::<{ 1 + TRAILING_SWEEPS }>);
        if !(one.d >= 0.0 && one.second_last >= 0.0 && one.others >= 0.0) {
            return (one, None);
        }
        // With zeros in the matrix, only the first sweep may be defined.
        if end.d.is_nan() {
            end = run(pass::<1>).1;
        }
        (one, Some(Minima { last: end.d, second_last: end.second_last, others: end.others }))
    }

    /// Accepts the squares in `next`.
    fn accept(&mut self, first: usize, last: usize) {
        self.q[first..=last].copy_from_slice(&self.next.0[first..=last]);
        self.e[first..last].copy_from_slice(&self.next.1[first..last]);
    }

    /// Runs a pass with this shift, or with the first smaller one that does not exceed a value.
    /// Also returns the shift used.
    fn sweep_below(&mut self, first: usize, last: usize, mut shift: f64) -> Option<(f64, Minima)> {
        for tries in 0..6 {
            let (one, minima) = self.sweep(first, last, shift);
            if let Some(minima) = minima {
                return Some((shift, minima));
            }
            // A late failure: the negative last difference says by how much the shift was too
            // large.
            let late = one.second_last.min(one.others) > 0.0 && shift + one.d > 0.0;
            shift = match tries {
                0 if late => (shift + one.d) * (1.0 - 2.0 * f64::EPSILON),
                0..3 => shift / 4.0,
                _ => 0.0,
            };
        }
        None
    }

    /// The next shift for rows up to `last`, from the last difference and the minimum before it.
    fn next_shift(&self, last: usize, end: f64, before: f64) -> f64 {
        if end > before {
            return before * 0.9;
        }
        // The last element less an estimate of its coupling to the row before: seldom above the
        // smallest value.
        let split = 1.2 * self.q[last] * self.e[last - 1] / (before - end);
        (end - split).max(end / 4.0)
    }

    /// Appends the squared values of rows `first..=last`, from which `total_shift` is subtracted already.
    /// False without convergence.
    fn block(
        &mut self,
        first: usize,
        mut last: usize,
        mut total_shift: f64,
        out: &mut Vec<f64>,
    ) -> bool {
        let mut shift = 0.0;
        let mut passes = 0;
        let mut last_minima: Option<Minima> = None;
        loop {
            // Split where an off-diagonal element is negligible.
            if last == first {
                out.push(self.q[first] + total_shift);
                return true;
            }
            let split = (first..last).rev().find(|&i| {
                self.e[i]
                    <= self.floor.max(NEGLIGIBLE * (total_shift + self.q[i].min(self.q[i + 1])))
            });
            if let Some(i) = split {
                if !self.block(i + 1, last, total_shift, out) {
                    return false;
                }
                // The differences of the pass also give a shift for the row before the last one.
                shift = match last_minima.take() {
                    Some(minima) if i + 1 == last && i > first => {
                        self.next_shift(i, minima.second_last, minima.others)
                    }
                    _ => 0.0,
                };
                last = i;
                passes = 0;
                continue;
            }
            passes += 1;
            if passes > MAX_PASSES {
                return false;
            }
            let Some((off, minima)) = self.sweep_below(first, last, shift) else {
                return false;
            };
            self.accept(first, last);
            total_shift += off;
            shift = self.next_shift(last, minima.last, minima.second_last.min(minima.others));
            last_minima = Some(minima);
        }
    }
}

/// Unsorted singular values of an upper bidiagonal matrix with elements of about 1; `None` without
/// convergence.
pub(super) fn values(diagonal: &[f64], above: &[f64]) -> Option<Vec<f64>> {
    let square = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<f64>>();
    let (q, e) = (square(diagonal), square(above));
    let (n, next) = (q.len(), (q.clone(), e.clone()));
    let floor = NEGLIGIBLE * q.iter().chain(&e).fold(0.0, |m: f64, x| m.max(*x));
    let mut found = Vec::with_capacity(n);
    let converged = Squares { q, e, next, floor }.block(0, n - 1, 0.0, &mut found);
    (converged && found.iter().all(|s| s.is_finite()))
        .then(|| found.into_iter().map(|s| s.max(0.0).sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::test_rng::uniform_numbers;

    /// Checks the sums of the second and fourth powers against the matrix and its square.
    #[test]
    fn squares_of_all_values_add_up() {
        let mut next = uniform_numbers();
        for n in [1, 2, 3, 10, 64, 150] {
            for kind in 0..5 {
                let mut of = |i: usize| match kind {
                    0 => next(),
                    1 => 1.0,
                    2 => 0.7f64.powi(i as i32) * next(),
                    3 => 0.7f64.powi((n - i) as i32),
                    _ => (next() - 0.5).max(0.0),
                };
                let diagonal: Vec<f64> = (0..n).map(&mut of).collect();
                let above: Vec<f64> = (1..n).map(&mut of).collect();
                let found = values(&diagonal, &above).unwrap();
                assert_eq!(found.len(), n);
                // The tridiagonal matrix `b bᵀ`.
                let main = |i: usize| diagonal[i].powi(2) + above.get(i).map_or(0.0, |e| e * e);
                let second_last = |i: usize| (above[i] * diagonal[i + 1]).powi(2);
                let second: f64 = (0..n).map(main).sum();
                let fourth: f64 = (0..n).map(|i| main(i).powi(2)).sum::<f64>()
                    + 2.0 * (0..n - 1).map(second_last).sum::<f64>();
                let power = |p: i32| found.iter().map(|s| s.powi(p)).sum::<f64>();
                assert!((power(2) - second).abs() <= 1e-13 * second, "{n}, kind {kind}");
                assert!((power(4) - fourth).abs() <= 1e-13 * fourth, "{n}, kind {kind}");
            }
        }
    }
}

//! Singular values of real bidiagonal matrices, by differences of quotients.
//!
//! Owns: the differential qd algorithm with shifts, whose steps are a division and a few products for each row. Never computes
//! vectors. Invariant: what it returns are all values; where it does not converge, it returns none.
//! Source: Fernando and Parlett, Numer. Math. 67 (1994); late failures as in LAPACK's `lasq3`.

/// Passes for each value.
const PASSES: usize = 200;
/// The square of what counts as nothing beside a value, or beside the largest of all.
const NOTHING: f64 = f64::EPSILON * f64::EPSILON * 1e-2;

/// Squares of the diagonal and of what is above it, less a shift: rows `first..=last` are not done.
struct Squares {
    q: Vec<f64>,
    e: Vec<f64>,
    next: (Vec<f64>, Vec<f64>),
    /// What is nothing beside the largest of all.
    floor: f64,
}

/// Sweeps that follow a sweep within a pass, without a shift: each waits for its own divisions, so four take the time of one.
const FOLLOW: usize = 3;

/// The differences of the last sweep of a pass: the last one, the one beside it, and the least of the others.
struct Least {
    last: f64,
    beside: f64,
    others: f64,
}

/// A sweep that has come to some row: its shift, the difference there, and the least ones before it.
#[derive(Clone, Copy)]
struct Sweep {
    shift: f64,
    d: f64,
    beside: f64,
    others: f64,
}

impl Sweep {
    /// The step from row `i` to the next one.
    #[inline(always)]
    fn step(&mut self, q: &mut [f64], e: &mut [f64], i: usize) {
        let d = self.d;
        self.others = if self.beside < self.others { self.beside } else { self.others };
        self.beside = d;
        q[i] = d + e[i];
        let quotient = q[i + 1] / q[i];
        e[i] *= quotient;
        self.d = d * quotient - self.shift;
    }
}

/// A sweep and those that follow it: of squares, and a shift.
type Pass = fn(&mut [f64], &mut [f64], f64) -> (Sweep, Sweep);

/// A sweep over these squares that takes `shift` off them, and others that follow it a row behind each. Returns the first and
/// the last of them.
fn pass<const SWEEPS: usize>(q: &mut [f64], e: &mut [f64], shift: f64) -> (Sweep, Sweep) {
    let n = e.len();
    let none = Sweep { shift: 0.0, d: 0.0, beside: f64::INFINITY, others: f64::INFINITY };
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
    /// A pass over rows `first..=last` into `next`. `None` where a difference is below zero, else those of the last sweep; also the
    /// first sweep.
    fn sweep(&mut self, first: usize, last: usize, shift: f64) -> (Sweep, Option<Least>) {
        let mut run = |pass: Pass| {
            let (q, e) = (&mut self.next.0[first..=last], &mut self.next.1[first..last]);
            q.copy_from_slice(&self.q[first..=last]);
            e.copy_from_slice(&self.e[first..last]);
            pass(q, e, shift)
        };
        let (one, mut end) = run(pass::<{ 1 + FOLLOW }>);
        if !(one.d >= 0.0 && one.beside >= 0.0 && one.others >= 0.0) {
            return (one, None);
        }
        // Where zeros meet, only the first sweep may be defined.
        if end.d.is_nan() {
            end = run(pass::<1>).1;
        }
        (one, Some(Least { last: end.d, beside: end.beside, others: end.others }))
    }

    /// What a sweep found becomes what is.
    fn take(&mut self, first: usize, last: usize) {
        self.q[first..=last].copy_from_slice(&self.next.0[first..=last]);
        self.e[first..last].copy_from_slice(&self.next.1[first..last]);
    }

    /// A sweep with this shift, or with the first of smaller ones that is not above a value; also that shift.
    fn below(&mut self, first: usize, last: usize, mut shift: f64) -> Option<(f64, Least)> {
        for tries in 0..6 {
            let (one, least) = self.sweep(first, last, shift);
            if let Some(least) = least {
                return Some((shift, least));
            }
            // Where only the last difference is below zero, that is how much the shift was too large by.
            let late = one.beside.min(one.others) > 0.0 && shift + one.d > 0.0;
            shift = match tries {
                0 if late => (shift + one.d) * (1.0 - 2.0 * f64::EPSILON),
                0..3 => shift / 4.0,
                _ => 0.0,
            };
        }
        None
    }

    /// The next shift for rows up to `last`, by the last difference and the least before it.
    fn guess(&self, last: usize, end: f64, before: f64) -> f64 {
        if end > before {
            return before * 0.9;
        }
        // The last row, less about what its tie to the row before takes off: seldom above the least value.
        let tie = 1.2 * self.q[last] * self.e[last - 1] / (before - end);
        (end - tie).max(end / 4.0)
    }

    /// The squares of the values of rows `first..=last`, from which `taken` is off already; false without convergence.
    fn block(
        &mut self,
        first: usize,
        mut last: usize,
        mut taken: f64,
        into: &mut Vec<f64>,
    ) -> bool {
        let mut shift = 0.0;
        let mut passes = 0;
        let mut known: Option<Least> = None;
        loop {
            // What ties the last rows to the others, or rows in the middle, may have become nothing.
            if last == first {
                into.push(self.q[first] + taken);
                return true;
            }
            let tie = (first..last).rev().find(|&i| {
                self.e[i] <= self.floor.max(NOTHING * (taken + self.q[i].min(self.q[i + 1])))
            });
            if let Some(i) = tie {
                if !self.block(i + 1, last, taken, into) {
                    return false;
                }
                // The differences of a pass say as much of the row before the last one.
                shift = match known.take() {
                    Some(least) if i + 1 == last && i > first => {
                        self.guess(i, least.beside, least.others)
                    }
                    _ => 0.0,
                };
                last = i;
                passes = 0;
                continue;
            }
            passes += 1;
            if passes > PASSES {
                return false;
            }
            let Some((off, least)) = self.below(first, last, shift) else {
                return false;
            };
            self.take(first, last);
            taken += off;
            shift = self.guess(last, least.last, least.beside.min(least.others));
            known = Some(least);
        }
    }
}

/// The values, in no order, of an upper bidiagonal matrix with elements of about 1; `None` without convergence.
pub(in crate::kernels::linalg) fn values(diagonal: &[f64], above: &[f64]) -> Option<Vec<f64>> {
    let square = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<f64>>();
    let (q, e) = (square(diagonal), square(above));
    let (n, next) = (q.len(), (q.clone(), e.clone()));
    let floor = NOTHING * q.iter().chain(&e).fold(0.0, |m: f64, x| m.max(*x));
    let mut found = Vec::with_capacity(n);
    let converged = Squares { q, e, next, floor }.block(0, n - 1, 0.0, &mut found);
    (converged && found.iter().all(|s| s.is_finite()))
        .then(|| found.into_iter().map(|s| s.max(0.0).sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::test_matrices::draws;

    /// The sums of their squares and of their fourth powers are those of the matrix and of its square.
    #[test]
    fn squares_of_all_values_add_up() {
        let mut next = draws();
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
                let beside = |i: usize| (above[i] * diagonal[i + 1]).powi(2);
                let second: f64 = (0..n).map(main).sum();
                let fourth: f64 = (0..n).map(|i| main(i).powi(2)).sum::<f64>()
                    + 2.0 * (0..n - 1).map(beside).sum::<f64>();
                let power = |p: i32| found.iter().map(|s| s.powi(p)).sum::<f64>();
                assert!((power(2) - second).abs() <= 1e-13 * second, "{n}, kind {kind}");
                assert!((power(4) - fourth).abs() <= 1e-13 * fourth, "{n}, kind {kind}");
            }
        }
    }
}

//! Singular values of real bidiagonal matrices, by differences of quotients.
//!
//! Owns: the differential qd algorithm with shifts, whose steps are a division and a few products for each row. Never computes
//! vectors. Invariant: what it returns are all values; where it does not converge, it returns none.
//! Source: Fernando and Parlett, Numer. Math. 67 (1994); late failures as in LAPACK's `lasq3`.

/// Sweeps for each value.
const SWEEPS: usize = 200;
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

/// The least of the differences of a sweep, the last one, and the least before it.
struct Least {
    all: f64,
    last: f64,
    before: f64,
}

impl Squares {
    /// A sweep over rows `first..=last` that takes `shift` off the squares of their values; into `next`.
    fn sweep(&mut self, first: usize, last: usize, shift: f64) -> Least {
        let (q, e) = (&self.q[first..=last], &self.e[first..last]);
        let (next_q, next_e) = (&mut self.next.0[first..=last], &mut self.next.1[first..last]);
        let (mut d, mut before) = (q[0] - shift, f64::INFINITY);
        for (i, &e) in e.iter().enumerate() {
            before = if d < before || d.is_nan() { d } else { before };
            next_q[i] = d + e;
            let quotient = q[i + 1] / next_q[i];
            next_e[i] = e * quotient;
            d = d * quotient - shift;
        }
        next_q[last - first] = d;
        let all = if before.is_nan() { before } else { d.min(before) };
        Least { all, last: d, before }
    }

    /// What a sweep found becomes what is.
    fn take(&mut self, first: usize, last: usize) {
        self.q[first..=last].copy_from_slice(&self.next.0[first..=last]);
        self.e[first..last].copy_from_slice(&self.next.1[first..last]);
    }

    /// A sweep with this shift, or with the first of smaller ones that is not above a value; also that shift.
    fn below(&mut self, first: usize, last: usize, mut shift: f64) -> Option<(f64, Least)> {
        for tries in 0..6 {
            let least = self.sweep(first, last, shift);
            if least.all >= 0.0 {
                return Some((shift, least));
            }
            // Where only the last difference is below zero, that is how much the shift was too large by.
            let late = least.before > 0.0 && shift + least.last > 0.0;
            shift = match tries {
                0 if late => (shift + least.last) * (1.0 - 2.0 * f64::EPSILON),
                0..3 => shift / 4.0,
                _ => 0.0,
            };
        }
        None
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
        let mut sweeps = 0;
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
                last = i;
                sweeps = 0;
                shift = 0.0;
                continue;
            }
            sweeps += 1;
            if sweeps > SWEEPS {
                return false;
            }
            let Some((off, least)) = self.below(first, last, shift) else {
                return false;
            };
            self.take(first, last);
            taken += off;
            shift = least.all * 0.9;
            if least.last <= least.before {
                // The last row, less about what its tie to the row before takes off: seldom above the least value.
                let tie = 1.2 * least.last * self.e[last - 1] / (least.before - least.last);
                shift = (least.last - tie).max(least.last / 4.0);
            }
        }
    }
}

/// The values, in no order, of an upper bidiagonal matrix with elements of about 1; `None` without convergence.
pub(in super::super) fn values(diagonal: &[f64], above: &[f64]) -> Option<Vec<f64>> {
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
    use super::super::super::draws::draws;
    use super::*;

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

//! NumPy's thirteen quantile methods, as ranks and weights.
//!
//! Invariant: ranks are less than the number of elements; a weight of 0 selects the lower neighbour alone.

use crate::error::{Error, Result};
use crate::ops::core::op_decl::{Operand, Scalar};

/// The two ranks next to a level, and the weight of the upper one.
pub(crate) struct Neighbours {
    pub(crate) low: usize,
    pub(crate) high: usize,
    pub(crate) part: f64,
}

/// A rank as a linear function of the level: `slope q + start`.
#[derive(Clone, Copy)]
pub(crate) struct LinearRank {
    pub(crate) slope: f64,
    pub(crate) start: f64,
}

/// How a quantile is computed from its neighbours.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Method {
    /// Interpolates at rank `q (n + 1 - a - b) + a - 1`.
    Between(f64, f64),
    Lower,
    Higher,
    Nearest,
    Midpoint,
    InvertedCdf,
    AveragedInvertedCdf,
    ClosestObservation,
}

const NAMES: &[(&str, Method)] = &[
    ("linear", Method::Between(1.0, 1.0)),
    ("lower", Method::Lower),
    ("higher", Method::Higher),
    ("nearest", Method::Nearest),
    ("midpoint", Method::Midpoint),
    ("inverted_cdf", Method::InvertedCdf),
    ("averaged_inverted_cdf", Method::AveragedInvertedCdf),
    ("closest_observation", Method::ClosestObservation),
    ("interpolated_inverted_cdf", Method::Between(0.0, 1.0)),
    ("hazen", Method::Between(0.5, 0.5)),
    ("weibull", Method::Between(0.0, 0.0)),
    ("median_unbiased", Method::Between(1.0 / 3.0, 1.0 / 3.0)),
    ("normal_unbiased", Method::Between(0.375, 0.375)),
];

impl Method {
    pub(crate) fn named(op: &'static str, name: &str) -> Result<Method> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, method)| *method).ok_or_else(|| {
            let all: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
            Box::new(Error::Argument {
                op: op.into(),
                what: format!("method {name:?}"),
                remedy: format!("use one of {}", all.join(", ")),
            })
        })
    }

    /// The method for these levels: integer levels (0 and 1) never lie between two elements.
    pub(crate) fn at(self, q: &Operand) -> Method {
        let whole = match q {
            Operand::Scalar(level) => matches!(level, Scalar::Int(_)),
            Operand::Tensor(levels) => !levels.dtype().is_float(),
        };
        if whole && self == Method::Between(1.0, 1.0) { Method::Nearest } else { self }
    }

    /// Whether every level selects one element.
    pub(crate) fn picks(self) -> bool {
        use Method::{ClosestObservation, Higher, InvertedCdf, Lower, Nearest};
        matches!(self, Lower | Higher | Nearest | InvertedCdf | ClosestObservation)
    }

    /// The rank as a function of the level for an interpolating method; the others are piecewise constant.
    pub(crate) fn line(self, n: usize) -> Option<LinearRank> {
        match self {
            Method::Between(1.0, 1.0) => Some(LinearRank { slope: (n - 1) as f64, start: 0.0 }),
            Method::Between(a, b) => {
                Some(LinearRank { slope: n as f64 + (1.0 - a - b), start: a - 1.0 })
            }
            _ => None,
        }
    }

    /// The neighbours of level `q` among `n` elements.
    pub(crate) fn neighbours(self, q: f64, n: usize) -> Neighbours {
        let last = (n - 1) as f64;
        let rank = match self {
            Method::Between(1.0, 1.0) => q * last,
            // In NumPy's order of rounding.
            Method::Between(a, b) => n as f64 * q + (a + q * (1.0 - a - b)) - 1.0,
            Method::Lower => (q * last).floor(),
            Method::Higher => (q * last).ceil(),
            Method::Nearest => (q * last).round_ties_even(),
            Method::Midpoint => 0.5 * ((q * last).floor() + (q * last).ceil()),
            Method::InvertedCdf => (n as f64 * q - 1.0).ceil(),
            Method::AveragedInvertedCdf => n as f64 * q - 1.0,
            Method::ClosestObservation => closest(n as f64 * q - 1.5),
        };
        let whole = rank.floor();
        if rank < 0.0 || rank >= last {
            let end = if rank < 0.0 { 0 } else { n - 1 };
            return Neighbours { low: end, high: end, part: 0.0 };
        }
        let part = match self {
            Method::AveragedInvertedCdf if rank == whole => 0.5,
            Method::AveragedInvertedCdf => 1.0,
            _ => rank - whole,
        };
        Neighbours { low: whole as usize, high: whole as usize + 1, part }
    }
}

/// The nearest rank; ties to even.
fn closest(rank: f64) -> f64 {
    let whole = rank.floor();
    if rank == whole && whole.rem_euclid(2.0) == 1.0 { whole } else { whole + 1.0 }
}

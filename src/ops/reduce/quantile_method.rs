//! NumPy's thirteen quantile methods, as ranks and weights.
//!
//! Invariant: ranks are less than the number of elements; a weight of 0 selects the lower neighbour alone.

use crate::error::{Error, Result};
use crate::ops::core::op_decl::{Operand, Scalar};

/// The two ranks next to a level, and the weight of the upper one.
pub(crate) struct Neighbours {
    pub(crate) low: usize,
    pub(crate) high: usize,
    pub(crate) weight: f64,
}

/// A rank as a linear function of the level: `slope q + start`.
#[derive(Clone, Copy)]
pub(crate) struct LinearRank {
    pub(crate) slope: f64,
    pub(crate) start: f64,
}

/// How a quantile is computed from its neighbours.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum QuantileMethod {
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

const NAMES: &[(&str, QuantileMethod)] = &[
    ("linear", QuantileMethod::Between(1.0, 1.0)),
    ("lower", QuantileMethod::Lower),
    ("higher", QuantileMethod::Higher),
    ("nearest", QuantileMethod::Nearest),
    ("midpoint", QuantileMethod::Midpoint),
    ("inverted_cdf", QuantileMethod::InvertedCdf),
    ("averaged_inverted_cdf", QuantileMethod::AveragedInvertedCdf),
    ("closest_observation", QuantileMethod::ClosestObservation),
    ("interpolated_inverted_cdf", QuantileMethod::Between(0.0, 1.0)),
    ("hazen", QuantileMethod::Between(0.5, 0.5)),
    ("weibull", QuantileMethod::Between(0.0, 0.0)),
    ("median_unbiased", QuantileMethod::Between(1.0 / 3.0, 1.0 / 3.0)),
    ("normal_unbiased", QuantileMethod::Between(0.375, 0.375)),
];

impl QuantileMethod {
    pub(crate) fn named(op: &'static str, name: &str) -> Result<QuantileMethod> {
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
    pub(crate) fn for_levels(self, q: &Operand) -> QuantileMethod {
        let whole = match q {
            Operand::Scalar(level) => matches!(level, Scalar::Int(_)),
            Operand::Tensor(levels) => !levels.dtype().is_float(),
        };
        if whole && self == QuantileMethod::Between(1.0, 1.0) {
            QuantileMethod::Nearest
        } else {
            self
        }
    }

    /// Whether every level selects one element.
    pub(crate) fn picks(self) -> bool {
        use QuantileMethod::{ClosestObservation, Higher, InvertedCdf, Lower, Nearest};
        matches!(self, Lower | Higher | Nearest | InvertedCdf | ClosestObservation)
    }

    /// The rank as a function of the level for an interpolating method; the others are piecewise constant.
    pub(crate) fn line(self, n: usize) -> Option<LinearRank> {
        match self {
            QuantileMethod::Between(1.0, 1.0) => {
                Some(LinearRank { slope: (n - 1) as f64, start: 0.0 })
            }
            QuantileMethod::Between(a, b) => {
                Some(LinearRank { slope: n as f64 + (1.0 - a - b), start: a - 1.0 })
            }
            _ => None,
        }
    }

    /// The neighbours of level `q` among `n` elements.
    pub(crate) fn neighbours(self, q: f64, n: usize) -> Neighbours {
        let last = (n - 1) as f64;
        let rank = match self {
            QuantileMethod::Between(1.0, 1.0) => q * last,
            // In NumPy's order of rounding.
            QuantileMethod::Between(a, b) => n as f64 * q + (a + q * (1.0 - a - b)) - 1.0,
            QuantileMethod::Lower => (q * last).floor(),
            QuantileMethod::Higher => (q * last).ceil(),
            QuantileMethod::Nearest => (q * last).round_ties_even(),
            QuantileMethod::Midpoint => 0.5 * ((q * last).floor() + (q * last).ceil()),
            QuantileMethod::InvertedCdf => (n as f64 * q - 1.0).ceil(),
            QuantileMethod::AveragedInvertedCdf => n as f64 * q - 1.0,
            QuantileMethod::ClosestObservation => closest(n as f64 * q - 1.5),
        };
        let whole = rank.floor();
        if rank < 0.0 || rank >= last {
            let end = if rank < 0.0 { 0 } else { n - 1 };
            return Neighbours { low: end, high: end, weight: 0.0 };
        }
        let weight = match self {
            QuantileMethod::AveragedInvertedCdf if rank == whole => 0.5,
            QuantileMethod::AveragedInvertedCdf => 1.0,
            _ => rank - whole,
        };
        Neighbours { low: whole as usize, high: whole as usize + 1, weight }
    }
}

/// The nearest rank; ties to even.
fn closest(rank: f64) -> f64 {
    let whole = rank.floor();
    if rank == whole && whole.rem_euclid(2.0) == 1.0 { whole } else { whole + 1.0 }
}

//! Cosine and sine transforms of the types 1 to 4, along one axis or several.
//!
//! Owns: SciPy's definitions as factors and weights of the kernel's plain sums; the declarations.
//! Invariant: complex values are transformed by their parts; an inverse is the transform of the type that undoes it, with its factor.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use crate::error::Result;
use crate::kernels::fft::{Edges, Family};
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::elementwise::complex::map_parts;
use crate::ops::fft::arguments::{Norm, area, as_real, each_once, line, sizes, wrong};
use crate::ops::fft::transforms::{Waves, resized, waves};
use crate::tensor::Tensor;

/// A call's transform: sines or cosines, its type, its direction, its norm.
struct Call {
    op: &'static str,
    sine: bool,
    kind: isize,
    inverse: bool,
    norm: Norm,
    orthogonalize: bool,
}

impl Call {
    fn read(
        op: &'static str,
        kind: isize,
        norm: Option<String>,
        orthogonalize: Option<bool>,
    ) -> Result<Call> {
        if !(1..=4).contains(&kind) {
            return Err(wrong(op, format!("type {kind}"), "use 1, 2, 3 or 4"));
        }
        let norm = Norm::read(op, norm)?;
        let orthogonalize = orthogonalize.unwrap_or(norm == Norm::Ortho);
        let bare = op.trim_start_matches('i');
        let (sine, inverse) = (bare.starts_with("dst"), bare != op);
        Ok(Call { op, sine, kind, inverse, norm, orthogonalize })
    }

    /// The transform of lines of `n` points.
    fn waves(&self, n: usize) -> Result<Waves> {
        if self.kind == 1 && !self.sine && n < 2 {
            let what = format!("type 1 of {n} point");
            return Err(wrong(self.op, what, "give at least 2 points, or use another type"));
        }
        // An inverse is the transform with which the forward one is a multiple of the identity.
        let kind = match (self.inverse, self.kind) {
            (true, 2) => 3,
            (true, 3) => 2,
            (_, own) => own,
        };
        let family = Family { sine: self.sine, kind: kind as u8 };
        let (mut edges, points) = match (self.sine, kind) {
            (false, 1) => (Edges { read: [0.5, 0.5], written: [1.0, 1.0] }, 2 * (n - 1)),
            (true, 1) => (PLAIN, 2 * (n + 1)),
            (false, 3) => (Edges { read: [0.5, 1.0], ..PLAIN }, 2 * n),
            (true, 3) => (Edges { read: [1.0, 0.5], ..PLAIN }, 2 * n),
            _ => (PLAIN, 2 * n),
        };
        if self.orthogonalize {
            edges = orthogonal(edges, self.sine, kind);
        }
        let factor = 2.0 * self.norm.way(!self.inverse, points).factor;
        Ok(Waves { family, factor, edges })
    }

    fn along(&self, x: &Tensor, axis: usize, n: usize) -> Result<Tensor> {
        waves(&resized(x, axis, n)?, axis, self.waves(n)?)
    }

    fn single(&self, x: &Tensor, n: Option<isize>, axis: isize) -> Result<Tensor> {
        if x.dtype().is_complex() {
            return map_parts(x, |part| self.single(part, n, axis));
        }
        let (axis, n) = line(self.op, x, n, axis)?;
        self.along(&as_real(self.op, x)?, axis, n)
    }

    fn several(&self, x: &Tensor, s: Option<&[i64]>, axes: &Axes) -> Result<Tensor> {
        if x.dtype().is_complex() {
            return map_parts(x, |part| self.several(part, s, axes));
        }
        let (axes, asked) = area(self.op, x, s, axes)?;
        each_once(self.op, &axes)?;
        let sizes = sizes(self.op, x, &axes, &asked)?;
        let mut x = as_real(self.op, x)?;
        for (&axis, &n) in axes.iter().zip(&sizes) {
            x = self.along(&x, axis, n)?;
        }
        Ok(x)
    }
}

const PLAIN: Edges = Edges { read: [1.0, 1.0], written: [1.0, 1.0] };

/// The weights with which the matrix of a type is orthogonal up to a factor.
fn orthogonal(plain: Edges, sine: bool, kind: isize) -> Edges {
    let times = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c, b * d];
    let (read, written) = match (sine, kind) {
        (false, 1) => ([SQRT_2, SQRT_2], [FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
        (false, 2) => ([1.0, 1.0], [FRAC_1_SQRT_2, 1.0]),
        (false, 3) => ([SQRT_2, 1.0], [1.0, 1.0]),
        (true, 2) => ([1.0, 1.0], [1.0, FRAC_1_SQRT_2]),
        (true, 3) => ([1.0, SQRT_2], [1.0, 1.0]),
        _ => ([1.0, 1.0], [1.0, 1.0]),
    };
    Edges { read: times(plain.read, read), written: times(plain.written, written) }
}

crate::operations! { family "cosine and sine transforms";
    /// SciPy's discrete cosine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] cos(πk(2j+1)/(2n)))`. `norm` says which direction carries the factor; with "ortho" the ends are weighed so that the matrix is orthogonal, unless orthogonalize=False. Derivative: the transposed transform, again one of the four.
    [namespace("fft")]
    fn dct(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("dct", type_, norm, orthogonalize)?.single(x, n, axis)
    }
    /// The inverse of `dct` of the same type. Derivative: the transposed transform.
    [namespace("fft")]
    fn idct(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("idct", type_, norm, orthogonalize)?.single(x, n, axis)
    }
    /// SciPy's discrete sine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] sin(π(k+1)(2j+1)/(2n)))`. Derivative: the transposed transform, again one of the four.
    [namespace("fft")]
    fn dst(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("dst", type_, norm, orthogonalize)?.single(x, n, axis)
    }
    /// The inverse of `dst` of the same type. Derivative: the transposed transform.
    [namespace("fft")]
    fn idst(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("idst", type_, norm, orthogonalize)?.single(x, n, axis)
    }
    /// `dct` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn dctn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("dctn", type_, norm, orthogonalize)?.several(x, s.as_deref(), &axes)
    }
    /// `idct` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn idctn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("idctn", type_, norm, orthogonalize)?.several(x, s.as_deref(), &axes)
    }
    /// `dst` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn dstn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("dstn", type_, norm, orthogonalize)?.several(x, s.as_deref(), &axes)
    }
    /// `idst` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn idstn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        Call::read("idstn", type_, norm, orthogonalize)?.several(x, s.as_deref(), &axes)
    }
}

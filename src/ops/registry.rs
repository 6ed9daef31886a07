//! The list of all operations, from which every face is generated.
//!
//! Owns: the order of the families. Never changes at run time.
//! Invariant: a name or an alias appears once.

use std::sync::LazyLock;

use crate::ops::declare::OpDecl;
use crate::ops::{
    activation, along, arith, bitwise, blend, cast, choice, closeness, compare, create, diagonal,
    einsum, extremes, flip, gelu, grid, index, join, logsumexp, math, matmul, nan, nn, nonzero,
    norms, numerical, order, orders, pad, products, quantile, reduce, repeat, rounding, scan,
    select, shape, softmax, split, statistics, window,
};

#[cfg(feature = "linalg")]
use crate::ops::linalg;

/// The families, in the order of the documentation.
static FAMILIES: &[&[OpDecl]] = &[
    arith::DECLS,
    math::DECLS,
    orders::DECLS,
    rounding::DECLS,
    extremes::DECLS,
    activation::DECLS,
    gelu::DECLS,
    compare::DECLS,
    closeness::DECLS,
    bitwise::DECLS,
    select::DECLS,
    blend::DECLS,
    reduce::DECLS,
    shape::DECLS,
    join::DECLS,
    index::DECLS,
    matmul::DECLS,
    products::DECLS,
    einsum::DECLS,
    #[cfg(feature = "linalg")]
    linalg::solve::DECLS,
    #[cfg(feature = "linalg")]
    linalg::determinant::DECLS,
    #[cfg(feature = "linalg")]
    linalg::cholesky::DECLS,
    #[cfg(feature = "linalg")]
    linalg::qr::DECLS,
    #[cfg(feature = "linalg")]
    linalg::svd::DECLS,
    #[cfg(feature = "linalg")]
    linalg::eigh::DECLS,
    #[cfg(feature = "linalg")]
    linalg::lstsq::DECLS,
    #[cfg(feature = "linalg")]
    linalg::chain::DECLS,
    softmax::DECLS,
    nn::dense::DECLS,
    nn::loss::DECLS,
    nn::likelihood::DECLS,
    nn::cross_entropy::DECLS,
    nn::normalize::DECLS,
    nn::attention::DECLS,
    nn::convolution::DECLS,
    nn::pooling::DECLS,
    cast::DECLS,
    create::DECLS,
    nonzero::DECLS,
    split::DECLS,
    flip::DECLS,
    grid::DECLS,
    repeat::DECLS,
    diagonal::DECLS,
    window::DECLS,
    pad::DECLS,
    along::DECLS,
    choice::DECLS,
    scan::DECLS,
    norms::DECLS,
    logsumexp::DECLS,
    order::DECLS,
    nan::DECLS,
    quantile::DECLS,
    statistics::DECLS,
    numerical::DECLS,
];

/// Every operation, in the order of the families.
pub fn registry() -> &'static [&'static OpDecl] {
    static ALL: LazyLock<Vec<&'static OpDecl>> =
        LazyLock::new(|| FAMILIES.iter().copied().flatten().collect());
    &ALL
}

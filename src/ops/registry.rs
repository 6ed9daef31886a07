//! The list of all operations, from which every face is generated.
//!
//! Owns: the order of the families. Never changes at run time.
//! Invariant: a name or an alias appears once.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::ops::declare::{Kind, OpDecl, Returns};
use crate::ops::{
    activation, along, arith, bitwise, blend, cast, choice, closeness, compare, create, diagonal,
    distinct, einsum, extremes, flip, gelu, grid, index, join, logsumexp, math, matmul, nan, nn,
    nonzero, norms, numerical, order, orders, pad, products, quantile, reduce, repeat, rounding,
    scan, select, shape, softmax, split, statistics, window,
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
    distinct::DECLS,
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

/// Families whose operations keep the shape of their first operand, or broadcast it.
const CHANGING: [&str; 6] =
    ["arithmetic", "elementwise", "extremes", "activation", "bitwise", "selection"];
/// Other operations whose result can take the place of their first operand.
const ALSO_CHANGING: [&str; 13] = [
    "cumprod",
    "cumsum",
    "index_add",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "scatter",
    "scatter_add",
    "swapaxes",
    "tril",
    "triu",
];

/// The name of a changing method beside those of its operation: `transpose(0, 1)` of a matrix means two things,
/// `transpose_(0, 1)` one.
pub fn in_place_alias(decl: &OpDecl) -> Option<&'static str> {
    (decl.is_top_level() && decl.name == "swapaxes").then_some("transpose_")
}

/// The name of the method that changes its tensor in place (`"exp_"`), if the operation has one.
pub fn in_place_name(decl: &OpDecl) -> Option<&'static str> {
    static NAMES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
        let all = registry().iter().filter(|decl| decl.is_top_level() && changes(decl));
        all.map(|decl| (decl.name, &*format!("{}_", decl.name).leak())).collect()
    });
    if !decl.is_top_level() {
        return None;
    }
    NAMES.get(decl.name).copied()
}

fn changes(decl: &OpDecl) -> bool {
    let takes = decl.params.first().map(|param| param.kind);
    decl.returns == Returns::Tensor
        && matches!(takes, Some(Kind::Tensor | Kind::Operand))
        && (CHANGING.contains(&decl.family) || ALSO_CHANGING.contains(&decl.name))
}

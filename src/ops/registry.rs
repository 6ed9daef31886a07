//! The list of all operations, from which every face is generated.
//!
//! Owns: the order of the families. Never changes at run time.
//! Invariant: a name or an alias appears once.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::ops::core::declare::{Kind, OpDecl, Returns};
use crate::ops::{elementwise, fold, index, nn, product, shape, signal};

#[cfg(feature = "linalg")]
use crate::ops::linalg;

/// The families, in the order of the documentation.
static FAMILIES: &[&[OpDecl]] = &[
    elementwise::arith::DECLS,
    elementwise::unary::DECLS,
    elementwise::special::DECLS,
    elementwise::rounding::DECLS,
    elementwise::extremes::DECLS,
    elementwise::activation::DECLS,
    elementwise::gelu::DECLS,
    elementwise::compare::DECLS,
    elementwise::closeness::DECLS,
    elementwise::bitwise::DECLS,
    elementwise::select::DECLS,
    elementwise::blend::DECLS,
    fold::reduce::DECLS,
    shape::reshape::DECLS,
    shape::join::DECLS,
    index::index::DECLS,
    product::matmul::DECLS,
    product::products::DECLS,
    product::einsum::DECLS,
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
    fold::softmax::DECLS,
    nn::dense::DECLS,
    nn::loss::DECLS,
    nn::likelihood::DECLS,
    nn::cross_entropy::DECLS,
    nn::normalize::DECLS,
    nn::attention::DECLS,
    nn::convolution::DECLS,
    nn::pooling::DECLS,
    elementwise::cast::DECLS,
    shape::create::DECLS,
    index::nonzero::DECLS,
    shape::split::DECLS,
    shape::flip::DECLS,
    shape::grid::DECLS,
    shape::repeat::DECLS,
    shape::diagonal::DECLS,
    signal::window::DECLS,
    signal::pad::DECLS,
    index::gather::DECLS,
    index::take::DECLS,
    fold::scan::DECLS,
    fold::norms::DECLS,
    fold::logsumexp::DECLS,
    fold::sort::DECLS,
    fold::unique::DECLS,
    fold::nan::DECLS,
    fold::quantile::DECLS,
    fold::statistics::DECLS,
    signal::numerical::DECLS,
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

//! The list of all operations, from which every face is generated.
//!
//! Owns: the order of the families. Never changes at run time.
//! Invariant: a name or an alias appears once.

use std::sync::LazyLock;

use crate::ops::core::declare::OpDecl;
use crate::ops::{elementwise, fold, index, nn, product, shape, signal};

#[cfg(feature = "fft")]
use crate::ops::fft;
#[cfg(feature = "linalg")]
use crate::ops::linalg;

/// The families, in the order of the documentation.
static FAMILIES: &[&[OpDecl]] = &[
    elementwise::arith::DECLS,
    elementwise::unary::DECLS,
    elementwise::special::DECLS,
    elementwise::rounding::DECLS,
    elementwise::neighbour::DECLS,
    elementwise::extremes::DECLS,
    elementwise::activation::DECLS,
    elementwise::gelu::DECLS,
    elementwise::complex::DECLS,
    elementwise::compare::DECLS,
    elementwise::closeness::DECLS,
    elementwise::bitwise::DECLS,
    elementwise::select::DECLS,
    elementwise::blend::DECLS,
    fold::reduce::DECLS,
    shape::reshape::DECLS,
    shape::join::DECLS,
    shape::pairs::DECLS,
    index::getitem::DECLS,
    index::select::DECLS,
    product::matmul::DECLS,
    product::products::DECLS,
    product::einsum::DECLS,
    product::functors::DECLS,
    #[cfg(feature = "linalg")]
    linalg::solve::DECLS,
    #[cfg(feature = "linalg")]
    linalg::determinant::DECLS,
    #[cfg(feature = "linalg")]
    linalg::lu::DECLS,
    #[cfg(feature = "linalg")]
    linalg::cholesky::DECLS,
    #[cfg(feature = "linalg")]
    linalg::qr::DECLS,
    #[cfg(feature = "linalg")]
    linalg::svd::DECLS,
    #[cfg(feature = "linalg")]
    linalg::eigh::DECLS,
    #[cfg(feature = "linalg")]
    linalg::eig::DECLS,
    #[cfg(feature = "linalg")]
    linalg::functions::DECLS,
    #[cfg(feature = "linalg")]
    linalg::lstsq::DECLS,
    #[cfg(feature = "linalg")]
    linalg::chain::DECLS,
    fold::softmax::DECLS,
    nn::dense::DECLS,
    elementwise::thresholds::DECLS,
    nn::distances::DECLS,
    nn::loss::DECLS,
    nn::likelihood::DECLS,
    nn::cross_entropy::DECLS,
    nn::normalize::DECLS,
    nn::attention::DECLS,
    nn::convolution::DECLS,
    nn::pooling::DECLS,
    nn::sampling::DECLS,
    nn::recurrent::DECLS,
    elementwise::cast::DECLS,
    shape::create::DECLS,
    index::nonzero::DECLS,
    index::membership::DECLS,
    shape::split::DECLS,
    shape::flip::DECLS,
    shape::grid::DECLS,
    shape::repeat::DECLS,
    shape::diagonal::DECLS,
    signal::window::DECLS,
    signal::pad::DECLS,
    index::gather::DECLS,
    fold::scatter::DECLS,
    fold::scatter_reduce::DECLS,
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
    #[cfg(feature = "fft")]
    fft::fourier::DECLS,
    #[cfg(feature = "fft")]
    fft::real::DECLS,
    #[cfg(feature = "fft")]
    fft::hermitian::DECLS,
    #[cfg(feature = "fft")]
    fft::shift::DECLS,
    #[cfg(feature = "fft")]
    fft::trigonometric::DECLS,
];

/// Every operation, in the order of the families.
pub fn registry() -> &'static [&'static OpDecl] {
    static ALL: LazyLock<Vec<&'static OpDecl>> =
        LazyLock::new(|| FAMILIES.iter().copied().flatten().collect());
    &ALL
}

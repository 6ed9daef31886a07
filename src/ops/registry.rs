//! The list of all operations, from which the Python functions, methods, stubs and docs are generated.
//!
//! Invariant: a name or an alias appears once.

use std::sync::LazyLock;

use crate::ops::core::op_decl::OpDecl;
use crate::ops::{elementwise, index, nn, product, reduce, shape, signal};

#[cfg(feature = "fft")]
use crate::ops::fft;
#[cfg(feature = "linalg")]
use crate::ops::linalg;

/// The families, in the order of the documentation.
static FAMILIES: &[&[OpDecl]] = &[
    elementwise::arithmetic::DECLS,
    elementwise::unary::DECLS,
    elementwise::special::DECLS,
    elementwise::rounding::DECLS,
    elementwise::nextafter::DECLS,
    elementwise::extremes::DECLS,
    elementwise::binary::DECLS,
    elementwise::activation::DECLS,
    elementwise::gelu::DECLS,
    elementwise::complex::DECLS,
    elementwise::compare::DECLS,
    elementwise::closeness::DECLS,
    elementwise::bitwise::DECLS,
    elementwise::select::DECLS,
    elementwise::ternary::DECLS,
    reduce::reductions::DECLS,
    shape::reshape::DECLS,
    shape::join::DECLS,
    shape::view_dtype::DECLS,
    index::getitem::DECLS,
    product::matmul::DECLS,
    product::products::DECLS,
    product::einsum::DECLS,
    product::functor_decls::DECLS,
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
    linalg::matrix_functions::DECLS,
    #[cfg(feature = "linalg")]
    linalg::lstsq::DECLS,
    #[cfg(feature = "linalg")]
    linalg::multi_dot::DECLS,
    reduce::softmax::DECLS,
    nn::linear::DECLS,
    elementwise::thresholds::DECLS,
    nn::distances::DECLS,
    nn::loss::DECLS,
    nn::bce_kl::DECLS,
    nn::cross_entropy::DECLS,
    nn::normalize::DECLS,
    nn::attention::DECLS,
    nn::convolution::DECLS,
    nn::pooling::DECLS,
    nn::grid_sample::DECLS,
    nn::recurrent::DECLS,
    elementwise::cast::DECLS,
    shape::create::DECLS,
    index::nonzero::DECLS,
    index::membership::DECLS,
    shape::split::DECLS,
    shape::flip::DECLS,
    shape::broadcast_arrays::DECLS,
    shape::repeat::DECLS,
    shape::diagonal::DECLS,
    signal::window::DECLS,
    signal::pad::DECLS,
    index::gather::DECLS,
    reduce::scatter_reduce::DECLS,
    index::take::DECLS,
    reduce::scan::DECLS,
    reduce::norms::DECLS,
    reduce::logsumexp::DECLS,
    reduce::sort::DECLS,
    reduce::unique::DECLS,
    reduce::nan_reductions::DECLS,
    reduce::quantile::DECLS,
    reduce::statistics::DECLS,
    signal::differences::DECLS,
    signal::interp::DECLS,
    signal::convolve::DECLS,
    #[cfg(feature = "fft")]
    fft::fourier::DECLS,
    #[cfg(feature = "fft")]
    fft::real::DECLS,
    #[cfg(feature = "fft")]
    fft::hermitian::DECLS,
    #[cfg(feature = "fft")]
    fft::shift::DECLS,
    #[cfg(feature = "fft")]
    fft::dct_dst::DECLS,
];

/// Every operation, in the order of the families.
pub fn registry() -> &'static [&'static OpDecl] {
    static ALL: LazyLock<Vec<&'static OpDecl>> =
        LazyLock::new(|| FAMILIES.iter().copied().flatten().collect());
    &ALL
}

//! The list of all operations, from which every face is generated.
//!
//! Owns: the order of the families. Never changes at run time.
//! Invariant: a name or an alias appears once.

use std::sync::LazyLock;

use crate::ops::declare::OpDecl;
use crate::ops::{
    activation, arith, cast, compare, create, gelu, index, join, math, matmul, reduce, select, shape, softmax,
};

/// Every operation, in the order of the families.
pub fn registry() -> &'static [&'static OpDecl] {
    static ALL: LazyLock<Vec<&'static OpDecl>> = LazyLock::new(|| {
        let families: [&'static [OpDecl]; 14] = [
            arith::DECLS, math::DECLS, activation::DECLS, gelu::DECLS, compare::DECLS, select::DECLS, reduce::DECLS,
            shape::DECLS, join::DECLS, index::DECLS, matmul::DECLS, softmax::DECLS, cast::DECLS,
            create::DECLS,
        ];
        families.into_iter().flatten().collect()
    });
    &ALL
}

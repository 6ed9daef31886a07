//! `elementwise!`: expands the formulas of an element-wise operation into loops, a backward rule, a Rust function, a method
//! and a registry row.
//!
//! Invariant: a derivative is written once; its loop and its symbolic interpretation are the same expression.

use crate::ops::core::elementwise::Source;

/// The distinct sources of all derivatives, without the gradient: what a node saves.
pub const fn saved_sources(all: &[Source]) -> ([Source; 4], usize) {
    let mut kept = [Source::Grad; 4];
    let (mut len, mut i) = (0, 0);
    while i < all.len() {
        let mut seen = matches!(all[i], Source::Grad);
        let mut k = 0;
        while k < len {
            seen |= same(kept[k], all[i]);
            k += 1;
        }
        if !seen {
            kept[len] = all[i];
            len += 1;
        }
        i += 1;
    }
    (kept, len)
}

/// For each saved source, a bit mask of the operands whose derivatives read it.
pub const fn readers(saves: &[Source], by: &[&[Source]]) -> [u8; 4] {
    let (mut masks, mut k) = ([0; 4], 0);
    while k < saves.len() {
        let mut i = 0;
        while i < by.len() {
            let mut j = 0;
            while j < by[i].len() {
                masks[k] |= (same(by[i][j], saves[k]) as u8) << i;
                j += 1;
            }
            i += 1;
        }
        k += 1;
    }
    masks
}

const fn same(a: Source, b: Source) -> bool {
    match (a, b) {
        (Source::Input(i), Source::Input(k)) => i == k,
        (Source::Output, Source::Output) => true,
        _ => false,
    }
}

/// The source that an argument name of a derivative means: `g` the gradient, `x a b c` operands, `y` the output.
#[macro_export]
#[doc(hidden)]
macro_rules! source {
    (g) => {
        $crate::ops::core::elementwise::Source::Grad
    };
    (x) => {
        $crate::ops::core::elementwise::Source::Input(0)
    };
    (a) => {
        $crate::ops::core::elementwise::Source::Input(0)
    };
    (b) => {
        $crate::ops::core::elementwise::Source::Input(1)
    };
    (c) => {
        $crate::ops::core::elementwise::Source::Input(2)
    };
    (y) => {
        $crate::ops::core::elementwise::Source::Output
    };
}

/// One derivative of an element-wise operation: `identity`, `zero`, or a domain and attributes of `loop_table!` and a formula
/// that is linear in the gradient `g`. With the domain `complex`, the formula is the derivative of a holomorphic function times `g`; the gradient
/// is then computed with conjugates, `conj(formula(conj g, …)) = g conj(f')`. `adjoint |g| formula` gives the gradient
/// directly.
#[macro_export]
#[doc(hidden)]
macro_rules! derivative {
    (identity) => { $crate::ops::core::elementwise::Derivative::Identity };
    (zero) => { $crate::ops::core::elementwise::Derivative::Zero };
    (adjoint |$($arg:ident),*| $body:expr) => {
        $crate::derivative!(@formula [complex [ring]] [$($arg),*] [] $body, stringify!($body))
    };
    (complex $([$($attribute:ident),*])? |$g:ident $(, $arg:ident)* $(; $($p:ident),*)?| $body:expr) => {
        $crate::derivative!(@formula [complex $([$($attribute),*])?] [$g $(, $arg)*] [$($($p),*)?] { let $g = $g.conj(); ($body).conj() }, stringify!($body))
    };
    (float $([$($attribute:ident),*])? |$($arg:ident),* $(; $($p:ident),*)?| $body:expr) => {
        $crate::derivative!(@formula [float $([$($attribute),*])?] [$($arg),*] [$($($p),*)?] $body, stringify!($body))
    };
    (@formula [$($domain:tt)*] [$($arg:ident),*] [$($p:ident),*] $body:expr, $text:expr) => {{
        static TABLE: $crate::kernels::elementwise::LoopTable = $crate::kernels::elementwise::LoopTable {
            text: $text,
            ..$crate::loop_table!($($domain)*: |$($arg),* ; $($p),*| $body;)
        };
        fn symbolic(symbols: &[$crate::ops::core::symbolic::Symbol]) -> $crate::ops::core::symbolic::Symbol {
            #[allow(dead_code)]
            type R = $crate::ops::core::symbolic::Symbol;
            #[allow(unused_imports)]
            use $crate::kernels::number::real::Real;
            let mut _symbols = symbols.iter().copied();
            $( let $arg = _symbols.next().unwrap_or_else(|| R::lit(0.0)); )*
            $( let $p = _symbols.next().unwrap_or_else(|| R::lit(0.0)); )*
            $body
        }
        $crate::ops::core::elementwise::Derivative::Formula {
            uses: &[$($crate::source!($arg)),*],
            table: &TABLE,
            symbolic,
        }
    }};
}

/// The sources of one derivative, for `saved_sources`.
#[macro_export]
#[doc(hidden)]
macro_rules! derivative_sources {
    (identity) => { [] };
    (zero) => { [] };
    (adjoint |$($arg:ident),*| $body:expr) => { [$($crate::source!($arg)),*] };
    ($domain:ident $([$($attribute:ident),*])? |$($arg:ident),* $(; $($p:ident),*)?| $body:expr) => { [$($crate::source!($arg)),*] };
}

/// The `Elementwise` statics and Rust functions without registry rows, for operations that another one dispatches to. The
/// entries are those of `elementwise!`.
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise_specs {
    ($(
        $(#[doc = $doc:literal])*
        $([$($key:ident $(($($value:expr),* $(,)?))?),* $(,)?])?
        fn $name:ident($($x:ident),+ $(; $($p:ident = $default:expr),+)?) = $spec:ident {
            $(operand_check $operand_check:path;)?
            $(unary_for_scalar $unary:path;)?
            $(complex $complex:expr;)?
            forward { $($forward:tt)* }
            $( by $wrt:ident { $($by:tt)* } )*
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            pub static $spec: $crate::ops::core::elementwise::Elementwise = {
                static FORWARD: $crate::kernels::elementwise::LoopTable = $crate::loop_table!($($forward)*);
                const ALL: &[$crate::ops::core::elementwise::Source] = $crate::flat_sources!($({ $($by)* })*);
                const SAVES: ([$crate::ops::core::elementwise::Source; 4], usize) = $crate::ops::core::formula::saved_sources(ALL);
                $crate::ops::core::elementwise::Elementwise {
                    name: $crate::ops::core::declare_op::python_name(stringify!($name)),
                    forward: &FORWARD,
                    integer_promotion: const {
                        $crate::ops::core::op_facts::Facts::NEW $($(.$key(&[$($($value),*)?]))*)?.integer_promotion()
                    },
                    compares: const { $crate::ops::core::op_facts::Facts::NEW $($(.$key(&[$($($value),*)?]))*)?.compares },
                    operand_check: $crate::optional!($($operand_check)?),
                    unary_for_scalar: $crate::optional!($($unary)?),
                    complex: $crate::optional!($($complex)?),
                    saves: SAVES.0.split_at(SAVES.1).0,
                    readers: const {
                        $crate::ops::core::formula::readers(SAVES.0.split_at(SAVES.1).0, &[$(&$crate::derivative_sources!($($by)*)),*])
                    },
                    by: &[$($crate::derivative!($($by)*)),*],
                }
            };
            $crate::elementwise_faces!([$($doc)*] $name $spec ($($x),+) $(($($p),+))?);
        )*
    };
}

/// An optional part of a declaration.
#[macro_export]
#[doc(hidden)]
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// Declares a family of element-wise operations, one entry each. Before `forward` may stand `operand_check path::to::check;`
/// (refuses operands or parameters that the loops would take), `unary_for_scalar path;` (an equivalent unary operation for
/// some scalar right operands) and `complex f;` (the implementation for complex numbers if the function is not
/// holomorphic):
///
/// ```text
/// /// Documentation; the formula and its derivative.
/// [numpy("tanh")]
/// fn tanh(x) = TANH {
///     forward { float: |x| x.tanh(); cost: 0.8; }
///     by x { float |g, y| g * (1.0 - y * y) }
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise {
    (family $family:literal $([$($fact:ident $(($($given:expr),* $(,)?))?),* $(,)?])?; $(
        $(#[doc = $doc:literal])*
        $([$($key:ident $(($($value:expr),* $(,)?))?),* $(,)?])?
        fn $name:ident($($x:ident),+ $(; $($p:ident = $default:expr),+)?) = $spec:ident {
            $(operand_check $operand_check:path;)?
            $(unary_for_scalar $unary:path;)?
            $(complex $complex:expr;)?
            forward { $($forward:tt)* }
            $( by $wrt:ident { $($by:tt)* } )*
        }
    )*) => {
        $crate::elementwise_specs! {$(
            $(#[doc = $doc])*
            $([$($key $(($($value),*))?),*])?
            fn $name($($x),+ $(; $($p = $default),+)?) = $spec {
                $(operand_check $operand_check;)?
                $(unary_for_scalar $unary;)?
                $(complex $complex;)?
                forward { $($forward)* }
                $( by $wrt { $($by)* } )*
            }
        )*}
        $crate::family_facts!($([$($fact $(($($given),*))?),*])?);
        /// The registry rows of this family.
        pub static DECLS: &[$crate::ops::core::op_decl::OpDecl] = &[$({
            const FACTS: $crate::ops::core::op_facts::Facts = FAMILY.ufunc(&[]) $($(.$key(&[$($($value),*)?]))*)?;
            const PARAMS: &[$crate::ops::core::op_decl::Param] =
                $crate::elementwise_params!(($($x),+) [$($($p = $default),+)?]);
            const RETURNS: $crate::ops::core::op_decl::Returns = $crate::ops::core::op_decl::Returns::Tensor;
            $crate::ops::core::op_decl::OpDecl {
                name: $crate::ops::core::declare_op::python_name(stringify!($name)),
                family: $family,
                doc: concat!($($doc, "\n",)* ""),
                params: PARAMS,
                has_attributes: $crate::ops::core::op_decl::has_attributes(PARAMS),
                returns: RETURNS,
                differentiable: !$spec.by.is_empty(),
                in_place: $crate::ops::core::op_decl::in_place(&FACTS, PARAMS, RETURNS, $crate::ops::core::declare_op::underscored(stringify!($name), concat!(stringify!($name), "_"))),
                facts: FACTS,
                call: {
                    fn call(args: &mut [$crate::ops::core::op_decl::Arg]) -> $crate::error::Result<$crate::ops::core::op_decl::Output> {
                        $crate::elementwise_call!(args $name $spec ($($x),+) $(($($p = $default),+))?)
                    }
                    call
                },
                shortcut: $crate::elementwise_shortcut!($spec ($($x),+) [$($($default),+)?]),
            }
        }),*];
    };
}

/// Concatenates the sources of all derivatives.
#[macro_export]
#[doc(hidden)]
macro_rules! flat_sources {
    () => { &[] };
    ({ $($one:tt)* }) => { &$crate::derivative_sources!($($one)*) };
    ({ $($one:tt)* } $($rest:tt)+) => {{
        const A: &[$crate::ops::core::elementwise::Source] = &$crate::derivative_sources!($($one)*);
        const B: &[$crate::ops::core::elementwise::Source] = $crate::flat_sources!($($rest)+);
        const fn join<const N: usize>(a: &[$crate::ops::core::elementwise::Source], b: &[$crate::ops::core::elementwise::Source]) -> [$crate::ops::core::elementwise::Source; N] {
            let mut all = [$crate::ops::core::elementwise::Source::Grad; N];
            let mut i = 0;
            while i < N {
                all[i] = if i < a.len() { a[i] } else { b[i - a.len()] };
                i += 1;
            }
            all
        }
        &join::<{ A.len() + B.len() }>(A, B)
    }};
}

/// The parameters of a registry row. Scalars stay weak if there is a second operand.
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise_params {
    (($x:ident) [$($p:ident = $default:expr),*]) => {
        &[
            $crate::elementwise_params!(@row $x Tensor),
            $($crate::decl_param!($p f64, $default)),*
        ]
    };
    (($a:ident, $b:ident) []) => {
        &[
            $crate::elementwise_params!(@row $a Operand),
            $crate::elementwise_params!(@row $b Operand),
        ]
    };
    (@row $name:ident $kind:ident) => {
        $crate::ops::core::op_decl::Param {
            name: stringify!($name),
            kind: $crate::ops::core::op_decl::Kind::$kind,
            optional: false,
            default: None,
        }
    };
}

/// The Rust function and the `Tensor` method.
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise_faces {
    ([$($doc:literal)*] $name:ident $spec:ident ($x:ident) $(($($p:ident),+))?) => {
        $(#[doc = $doc])*
        #[inline]
        pub fn $name($x: &$crate::tensor::Tensor $(, $($p: f64),+)?) -> $crate::error::Result<$crate::tensor::Tensor> {
            $crate::ops::core::elementwise::unary_with(&$spec, $x, &[$($($p),+)?])
        }
        impl $crate::tensor::Tensor {
            $(#[doc = $doc])*
            #[inline]
            pub fn $name(&self $(, $($p: f64),+)?) -> $crate::error::Result<$crate::tensor::Tensor> {
                $crate::ops::core::elementwise::unary_with(&$spec, self, &[$($($p),+)?])
            }
        }
    };
    ([$($doc:literal)*] $name:ident $spec:ident ($a:ident, $b:ident, $c:ident) $(($($p:ident),+))?) => {};
    ([$($doc:literal)*] $name:ident $spec:ident ($a:ident, $b:ident)) => {
        $(#[doc = $doc])*
        #[inline]
        pub fn $name($a: &$crate::tensor::Tensor, $b: &$crate::tensor::Tensor) -> $crate::error::Result<$crate::tensor::Tensor> {
            $crate::ops::core::elementwise::binary(&$spec, $a, $b)
        }
        impl $crate::tensor::Tensor {
            $(#[doc = $doc])*
            #[inline]
            pub fn $name(&self, $b: &$crate::tensor::Tensor) -> $crate::error::Result<$crate::tensor::Tensor> {
                $crate::ops::core::elementwise::binary(&$spec, self, $b)
            }
        }
    };
}

/// The body of a registry row's `call`.
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise_call {
    ($args:ident $name:ident $spec:ident ($x:ident) $(($($p:ident = $default:expr),+))?) => {{
        use $crate::ops::core::arguments::{IntoOutput, take_arg};
        let $x: $crate::tensor::Tensor = take_arg($args, 0, stringify!($x), None)?;
        let mut _next = 0;
        $($(
            _next += 1;
            let $p: f64 = take_arg($args, _next, stringify!($p), Some(|| $default))?;
        )+)?
        Ok($name(&$x $(, $($p),+)?)?.into_output())
    }};
    ($args:ident $name:ident $spec:ident ($a:ident, $b:ident)) => {{
        use $crate::ops::core::arguments::{IntoOutput, take_arg};
        use $crate::ops::core::op_decl::Operand;
        let $a: Operand = take_arg($args, 0, stringify!($a), None)?;
        let $b: Operand = take_arg($args, 1, stringify!($b), None)?;
        Ok($crate::ops::core::elementwise::binary_operands(&$spec, &$a, &$b)?.into_output())
    }};
}

/// The `Shortcut` of an element-wise operation.
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise_shortcut {
    ($spec:ident ($x:ident) [$($default:expr),*]) => {
        $crate::ops::core::op_decl::Shortcut::Unary(&$spec, &[$($default),*])
    };
    ($spec:ident ($a:ident, $b:ident) []) => {
        $crate::ops::core::op_decl::Shortcut::Binary(&$spec)
    };
}

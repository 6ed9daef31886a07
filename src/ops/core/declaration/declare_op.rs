//! `operations!`: expands the declaration of a structured operation into a Rust function, a `Tensor` method and a registry
//! row.
//!
//! Invariant: the name, the defaults and the documentation are written once, in the declaration.

/// Declares a family of structured operations.
///
/// An entry is a documented function whose parameters have `FromArg` types and may have defaults. It becomes a function, a
/// method of `Tensor` (if the first parameter is a `Tensor`) and a row of `DECLS`. The facts (see `Facts`) stand in brackets
/// before the function, or after the family name for all of the family.
#[macro_export]
#[doc(hidden)]
macro_rules! operations {
    (family $family:literal $([$($fact:ident $(($($given:expr),* $(,)?))?),* $(,)?])?; $(
        $(#[doc = $doc:literal])*
        $([$($key:ident $(($($value:expr),* $(,)?))?),* $(,)?])?
        fn $name:ident($first:ident: $first_ty:ident $(, $arg:ident: $ty:ty $(= $default:expr)?)* $(,)?) -> $ret:ty $body:block
    )*) => {
        $(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "an operation's parameters are its signature")]
            pub fn $name($first: <$first_ty as $crate::ops::core::arguments::FromArg>::Param<'_> $(, $arg: <$ty as $crate::ops::core::arguments::FromArg>::Param<'_>)*) -> $crate::error::Result<$ret> {
                const FACTS: $crate::ops::core::op_facts::Facts = FAMILY $($(.$key(&[$($($value),*)?]))*)?;
                if FACTS.float32 {
                    use $crate::ops::core::arguments::FromArg;
                    let mut float16 = $crate::ops::core::f16::Float16Use::new(FACTS.indices);
                    <$first_ty as FromArg>::note_float16(&$first, stringify!($first), &mut float16);
                    $(<$ty as FromArg>::note_float16(&$arg, stringify!($arg), &mut float16);)*
                    if float16.found() {
                        let $first = <$first_ty as FromArg>::widen($first)?;
                        $(let $arg = <$ty as FromArg>::widen($arg)?;)*
                        return float16.narrow_result($name($first.as_param() $(, $arg.as_param())*)?);
                    }
                }
                $body
            }
            $crate::decl_method!($first_ty [$($doc)*] $name($($arg: $ty),*) -> $ret);
        )*
        $crate::family_facts!($([$($fact $(($($given),*))?),*])?);
        /// The registry rows of this family.
        pub static DECLS: &[$crate::ops::core::op_decl::OpDecl] = &[$({
            const FACTS: $crate::ops::core::op_facts::Facts = FAMILY $($(.$key(&[$($($value),*)?]))*)?;
            const PARAMS: &[$crate::ops::core::op_decl::Param] = &[
                $crate::decl_param!($first $first_ty)
                $(, $crate::decl_param!($arg $ty $(, $default)?))*
            ];
            const RETURNS: $crate::ops::core::op_decl::Returns = <$ret as $crate::ops::core::arguments::IntoOutput>::RETURNS;
            $crate::ops::core::op_decl::OpDecl {
                name: $crate::ops::core::declare_op::python_name(stringify!($name)),
                family: $family,
                doc: concat!($($doc, "\n",)* ""),
                params: PARAMS,
                has_attributes: $crate::ops::core::op_decl::has_attributes(PARAMS),
                returns: RETURNS,
                differentiable: !FACTS.constant,
                in_place: $crate::ops::core::op_decl::in_place(&FACTS, PARAMS, RETURNS, $crate::ops::core::declare_op::underscored(stringify!($name), concat!(stringify!($name), "_"))),
                facts: FACTS,
                call: {
                    fn call(args: &mut [$crate::ops::core::op_decl::Arg]) -> $crate::error::Result<$crate::ops::core::op_decl::Output> {
                        use $crate::ops::core::arguments::{FromArg, IntoOutput, take_arg};
                        let $first: $first_ty = take_arg(args, 0, stringify!($first), None)?;
                        let mut _next = 1;
                        $(
                            let $arg: $ty = take_arg(args, _next, stringify!($arg), $crate::decl_default!($ty $(, $default)?))?;
                            _next += 1;
                        )*
                        Ok($name($first.as_param() $(, $arg.as_param())*)?.into_output())
                    }
                    call
                },
                shortcut: $crate::plain_shortcut!($first_ty $name [] $([$ty $(, $default)?])*),
            }
        }),*];
    };
}

/// The facts that all operations of a family share.
#[macro_export]
#[doc(hidden)]
macro_rules! family_facts {
    ($([$($fact:ident $(($($given:expr),*))?),*])?) => {
        const FAMILY: $crate::ops::core::op_facts::Facts =
            $crate::ops::core::op_facts::Facts::NEW $($(.$fact(&[$($($given),*)?]))*)?;
    };
}

/// One parameter of a registry row.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_param {
    ($name:ident $ty:ty $(, $default:expr)?) => {
        $crate::ops::core::op_decl::Param {
            name: $crate::ops::core::declare_op::python_name(stringify!($name)),
            kind: <$ty as $crate::ops::core::arguments::FromArg>::KIND,
            optional: <$ty as $crate::ops::core::arguments::FromArg>::OPTIONAL,
            default: $crate::decl_default_arg!($ty $(, $default)?),
        }
    };
}

/// The Python name of a Rust function: without the trailing underscore that avoids a keyword (`where_`).
pub const fn python_name(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    if bytes[bytes.len() - 1] == b'_' {
        match std::str::from_utf8(bytes.split_at(bytes.len() - 1).0) {
            Ok(short) => short,
            Err(_) => name,
        }
    } else {
        name
    }
}

/// The name of the in-place method: `longer`, which ends with `_`, unless the Rust name already does.
pub const fn underscored(name: &'static str, longer: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    if bytes[bytes.len() - 1] == b'_' { name } else { longer }
}

/// The shortcut for calls with one tensor only: every other parameter has a default.
#[macro_export]
#[doc(hidden)]
macro_rules! plain_shortcut {
    (Tensor $name:ident [$([$ty:ty, $default:expr])*]) => {
        $crate::ops::core::op_decl::Shortcut::Plain({
            fn shortcut(x: &$crate::tensor::Tensor) -> $crate::error::Result<$crate::ops::core::op_decl::Output> {
                #[allow(unused_imports)]
                use $crate::ops::core::arguments::{FromArg, IntoOutput};
                Ok($name(x $(, { let value: $ty = $default; value }.as_param())*)?.into_output())
            }
            shortcut
        })
    };
    (Input $($rest:tt)*) => { $crate::plain_shortcut!(Tensor $($rest)*) };
    (Tensor $name:ident [$($done:tt)*] [$ty:ty, $default:expr] $($rest:tt)*) => {
        $crate::plain_shortcut!(Tensor $name [$($done)* [$ty, $default]] $($rest)*)
    };
    ($($other:tt)*) => { $crate::ops::core::op_decl::Shortcut::None };
}

/// The method of `Tensor`, if the first parameter is a `Tensor`.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_method {
    (Tensor [$($doc:literal)*] $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl $crate::tensor::Tensor {
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "an operation's parameters are its signature")]
            pub fn $name(&self $(, $arg: <$ty as $crate::ops::core::arguments::FromArg>::Param<'_>)*) -> $crate::error::Result<$ret> {
                $name(self $(, $arg)*)
            }
        }
    };
    ($other:ident $($rest:tt)*) => {};
}

/// A default as an argument of the host, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default_arg {
    ($ty:ty) => {
        None
    };
    ($ty:ty, $default:expr) => {
        Some({
            fn shown() -> $crate::ops::core::op_decl::Arg {
                let value: $ty = $default;
                $crate::ops::core::arguments::FromArg::to_arg(&value)
            }
            shown
        })
    };
}

/// The function that makes a default, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default {
    ($ty:ty) => {
        None
    };
    ($ty:ty, $default:expr) => {
        Some({
            fn default() -> $ty {
                $default
            }
            default
        })
    };
}

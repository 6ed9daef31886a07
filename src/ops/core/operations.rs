//! The macro that turns one declaration of a structured operation into all its faces.
//!
//! Owns: `operations!`, which expands to the Rust function, the `Tensor` method and the registry row.
//! Never contains an operation.
//! Invariant: a name, its defaults and its documentation are written once, in the declaration.

/// Declares a family of structured operations.
///
/// One entry is a documented function whose parameters have `FromArg` types and, optionally, defaults;
/// it becomes a function, a method of `Tensor` (when marked `method`) and a row of `DECLS`.
#[macro_export]
#[doc(hidden)]
macro_rules! operations {
    (family $family:literal; $(
        $(#[doc = $doc:literal])*
        $([$($key:ident $(($($value:literal),*))?),* $(,)?])?
        fn $name:ident($first:ident: $first_ty:ident $(, $arg:ident: $ty:ty $(= $default:expr)?)* $(,)?) -> $ret:ty $body:block
    )*) => {
        $(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "an operation's parameters are its signature")]
            pub fn $name($first: <$first_ty as $crate::ops::core::arguments::FromArg>::Param<'_> $(, $arg: <$ty as $crate::ops::core::arguments::FromArg>::Param<'_>)*) -> $crate::error::Result<$ret> $body
            $crate::decl_method!($first_ty [$($doc)*] $name($($arg: $ty),*) -> $ret);
        )*
        /// The registry rows of this family.
        pub static DECLS: &[$crate::ops::core::declare::OpDecl] = &[$(
            $crate::ops::core::declare::OpDecl {
                name: $crate::ops::core::operations::python_name(stringify!($name)),
                aliases: $crate::decl_list!(aliases $($($key $(($($value),*))?,)*)?),
                family: $family,
                doc: concat!($($doc, "\n",)* ""),
                params: &[
                    $crate::ops::core::declare::Param {
                        name: stringify!($first),
                        kind: <$first_ty as $crate::ops::core::arguments::FromArg>::KIND,
                        optional: <$first_ty as $crate::ops::core::arguments::FromArg>::OPTIONAL,
                        default: None,
                    }
                    $(, $crate::ops::core::declare::Param {
                        name: stringify!($arg),
                        kind: <$ty as $crate::ops::core::arguments::FromArg>::KIND,
                        optional: <$ty as $crate::ops::core::arguments::FromArg>::OPTIONAL,
                        default: $crate::decl_default!($($default)?),
                    })*
                ],
                returns: <$ret as $crate::ops::core::arguments::IntoOutput>::RETURNS,
                numpy: $crate::decl_list!(numpy $($($key $(($($value),*))?,)*)?),
                namespaces: $crate::decl_list!(namespace $($($key $(($($value),*))?,)*)?),
                differentiable: $crate::decl_differentiable!($($($key,)*)?),
                call: {
                    fn call(args: &mut [$crate::ops::core::declare::Arg]) -> $crate::error::Result<$crate::ops::core::declare::Output> {
                        use $crate::ops::core::arguments::{FromArg, IntoOutput, take_arg};
                        let $first: $first_ty = take_arg(args, 0, stringify!($first), None)?;
                        let mut _next = 1;
                        $(
                            let $arg: $ty = take_arg(args, _next, stringify!($arg), $crate::decl_default_fn!($ty $(, $default)?))?;
                            _next += 1;
                        )*
                        Ok($name($first.lend() $(, $arg.lend())*)?.into_output())
                    }
                    call
                },
                unary: None,
                plain: $crate::plain_shortcut!($first_ty $name [] $([$ty $(, $default)?])*),
                alone: None,
                binary: None,
            }
        ),*];
    };
}

/// The Python spelling of a Rust function name: a trailing underscore avoids a keyword (`where_`).
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

/// The shortcut of an operation that one tensor is enough for: every other parameter has a default.
#[macro_export]
#[doc(hidden)]
macro_rules! plain_shortcut {
    (Tensor $name:ident [$([$ty:ty, $default:expr])*]) => {
        Some({
            fn shortcut(x: &$crate::tensor::Tensor) -> $crate::error::Result<$crate::ops::core::declare::Output> {
                #[allow(unused_imports)]
                use $crate::ops::core::arguments::{FromArg, IntoOutput};
                Ok($name(x $(, { let value: $ty = $default; value }.lend())*)?.into_output())
            }
            shortcut
        })
    };
    (Tensor $name:ident [$($done:tt)*] [$ty:ty, $default:expr] $($rest:tt)*) => {
        $crate::plain_shortcut!(Tensor $name [$($done)* [$ty, $default]] $($rest)*)
    };
    ($($other:tt)*) => { None };
}

/// The method of `Tensor` for an operation whose first parameter is one.
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

/// The values of one key of a declaration's option list: `[numpy("sum"), aliases("cat")]`.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_list {
    (numpy) => { &[] };
    (aliases) => { &[] };
    (namespace) => { &[] };
    (numpy numpy($($value:literal),*), $($rest:tt)*) => { &[$($value),*] };
    (aliases aliases($($value:literal),*), $($rest:tt)*) => { &[$($value),*] };
    (namespace namespace($($value:literal),*), $($rest:tt)*) => { &[$($value),*] };
    ($want:ident $key:ident $(($($value:literal),*))?, $($rest:tt)*) => { $crate::decl_list!($want $($rest)*) };
}

/// Whether a declaration carries no `constant` mark.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_differentiable {
    () => { true };
    (constant, $($rest:ident,)*) => { false };
    ($key:ident, $($rest:ident,)*) => { $crate::decl_differentiable!($($rest,)*) };
}

/// The text of a default, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default {
    () => {
        None
    };
    ($default:expr) => {
        Some(stringify!($default))
    };
}

/// The maker of a default, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default_fn {
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

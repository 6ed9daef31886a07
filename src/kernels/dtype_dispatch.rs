//! The choice of a loop's type by the views that it gets.
//!
//! Owns: `with_elements!`, `with_number!`, `with_float!`, `with_computing!` and `with_word!`. Never touches an element.
//! Invariant: the type comes from the views, so that elements are read as what they are.

/// Runs `$body` with `$T` bound to the type in which the elements of the views, which share one dtype, lie in memory.
/// Dtypes without loops of their own are a bug of the caller and panic: they go through `computes`.
macro_rules! with_elements {
    ([$($view:expr),+], $T:ident => $body:expr) => {
        $crate::dtype::with_dtype!(ring $crate::kernels::view::one_dtype([$($view.dtype),+]), $T => $body)
    };
}

/// As `with_elements!`, for floats and integers; booleans are a bug of the caller and panic.
macro_rules! with_number {
    ([$($view:expr),+], $T:ident => $body:expr) => {
        $crate::dtype::with_dtype!(number $crate::kernels::view::one_dtype([$($view.dtype),+]), $T => $body)
    };
}

/// As `with_elements!`, for floats; other dtypes are a bug of the caller and panic.
macro_rules! with_float {
    ([$($view:expr),+], $T:ident => $body:expr) => {
        $crate::dtype::with_dtype!(float $crate::kernels::view::one_dtype([$($view.dtype),+]), $T => $body)
    };
}

/// Runs `$body` with `$T` bound to the type of a dtype in which others are computed (`DType::computes`): fewer copies of a
/// loop than one for each dtype that has loops. `real` leaves out complex numbers, which have no order.
macro_rules! with_computing {
    (real $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::dtype::DType::U64 => {
                type $T = u64;
                $body
            }
            other => $crate::dtype::with_dtype!(float other, $T => $body),
        }
    };
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::C128 => {
                type $T = $crate::dtype::Complex128;
                $body
            }
            other => $crate::kernels::view::with_computing!(real other, $T => $body),
        }
    };
}

/// Runs `$body` with `$W` bound to a type of so many bytes, for code that moves elements and does not read them.
macro_rules! with_word {
    ($size:expr, $W:ident => $body:expr) => {
        match $size {
            16 => {
                type $W = [u64; 2];
                $body
            }
            8 => {
                type $W = u64;
                $body
            }
            4 => {
                type $W = u32;
                $body
            }
            2 => {
                type $W = u16;
                $body
            }
            _ => {
                type $W = u8;
                $body
            }
        }
    };
}
pub(crate) use {with_computing, with_elements, with_float, with_number, with_word};

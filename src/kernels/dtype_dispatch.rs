//! Dtype dispatch: macros that run a body with the element type of the operands.
//!
//! Invariant: the type comes from the views, so that elements are read as what they are.

/// Runs `$body` with `$T` bound to the element type of the views, which share one dtype. Dtypes without loops
/// of their own are a bug of the caller and panic: the caller converts them to `DType::computes`.
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

/// Runs `$body` with `$T` bound to a dtype that computes for others (`DType::computes`): fewer copies of a
/// loop than one for each dtype with loops. `real` excludes complex numbers, which have no order.
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

/// Runs `$body` with `$W` bound to a type of this size in bytes, for code that moves elements without
/// interpreting them.
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

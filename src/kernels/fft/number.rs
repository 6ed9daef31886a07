//! The numbers that lines are made of, and the room that a strip of lines is worked on in.
//!
//! Owns: `Real` (the two float types with their caches of plans), `Number` (what can be scaled), `Room`.
//! Never transforms. Invariant: the parts of a room are disjoint, and every bit pattern is a number.

use std::cell::Cell;
use std::ops::Mul;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::{Fft, FftNum, num_complex::Complex};

use super::plans::Cache;
use super::tables::Table;

/// Elements of lines: floats and complex numbers, in which any bits are a number.
pub(super) trait Number: Copy + Send + Sync + 'static {
    /// The float that it consists of.
    type Part: Real;
    fn scaled(self, by: Self::Part) -> Self;
}

/// A float type for which there are plans.
pub(super) trait Real: FftNum + Number<Part = Self> + Mul<Output = Self> {
    fn narrow(v: f64) -> Self;
    fn complex() -> &'static Cache<dyn Fft<Self>>;
    fn to_half() -> &'static Cache<dyn RealToComplex<Self>>;
    fn from_half() -> &'static Cache<dyn ComplexToReal<Self>>;
    fn tables() -> &'static Cache<Table<Self>>;
}

macro_rules! numbers {
    ($($t:ident),*) => {$(
        impl Number for $t {
            type Part = $t;
            #[inline(always)]
            fn scaled(self, by: $t) -> $t {
                self * by
            }
        }
        impl Number for Complex<$t> {
            type Part = $t;
            #[inline(always)]
            fn scaled(self, by: $t) -> Self {
                Complex::new(self.re * by, self.im * by)
            }
        }
        impl Real for $t {
            fn narrow(v: f64) -> $t {
                v as $t
            }
            fn complex() -> &'static Cache<dyn Fft<$t>> {
                static CACHE: Cache<dyn Fft<$t>> = Cache::new();
                &CACHE
            }
            fn to_half() -> &'static Cache<dyn RealToComplex<$t>> {
                static CACHE: Cache<dyn RealToComplex<$t>> = Cache::new();
                &CACHE
            }
            fn from_half() -> &'static Cache<dyn ComplexToReal<$t>> {
                static CACHE: Cache<dyn ComplexToReal<$t>> = Cache::new();
                &CACHE
            }
            fn tables() -> &'static Cache<Table<$t>> {
                static CACHE: Cache<Table<$t>> = Cache::new();
                &CACHE
            }
        }
    )*};
}
numbers!(f64, f32);

/// Every element times a number.
pub(super) fn scale<A: Number>(line: &mut [A], by: A::Part) {
    line.iter_mut().for_each(|x| *x = x.scaled(by));
}

/// The alignment of the parts of a room: a cache line.
const LINE: usize = 64;

/// The most bytes that a thread keeps between transforms.
const KEPT: usize = 4 << 20;

thread_local! {
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Working memory of one thread, initialised with any numbers.
pub(super) struct Room(Vec<u64>);

impl Room {
    /// Room for parts of so many bytes together, the thread's own if that is free and large enough.
    pub(super) fn new(bytes: usize) -> Room {
        let need = (bytes + LINE).div_ceil(size_of::<u64>());
        let spare = SPARE.take();
        // New zeros come from the system and cost nothing where they are not touched.
        Room(if spare.len() < need { vec![0; need] } else { spare })
    }

    pub(super) fn parts(&mut self) -> Parts<'_> {
        // SAFETY: any bits are a byte.
        let (_, bytes, _) = unsafe { self.0.align_to_mut::<u8>() };
        let start = bytes.as_ptr().align_offset(LINE).min(bytes.len());
        Parts(&mut bytes[start..])
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.0.len() * size_of::<u64>() <= KEPT {
            SPARE.set(std::mem::take(&mut self.0));
        }
    }
}

/// What is left of a room, from a cache line on.
pub(super) struct Parts<'a>(&'a mut [u8]);

/// The bytes that `n` elements take of a room.
pub(super) const fn bytes_of<A>(n: usize) -> usize {
    (n * size_of::<A>()).next_multiple_of(LINE)
}

impl<'a> Parts<'a> {
    /// The next `n` elements.
    ///
    /// # Panics
    /// When the room was made too small: a bug of the caller.
    pub(super) fn take<A: Number>(&mut self, n: usize) -> &'a mut [A] {
        let (part, rest) = std::mem::take(&mut self.0).split_at_mut(bytes_of::<A>(n));
        self.0 = rest;
        // SAFETY: the part is initialised, begins at a cache line, is large enough and borrowed once; any bits are an `A`.
        unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), n) }
    }
}

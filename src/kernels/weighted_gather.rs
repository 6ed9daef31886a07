//! Weighted sums of gathered elements `y[p] = Σ_t w[t, p] x[index[t, p]]`, and their adjoints with respect to
//! elements and weights.
//!
//! Invariant: an index of -1 is a zero; the bits do not depend on the number of threads, because planes are
//! independent and a plane is processed by one thread.

use std::ops::{Add, Mul};

use super::launch::launch;
use super::multiversion::multiversion;
use super::view::{View, ViewMut, with_float};
use crate::dtype::{DType, Element};
use crate::threads::parallel_for;

/// Products per block of a split.
const BLOCK_PRODUCTS: usize = 1 << 15;

trait Float: Element + Add<Output = Self> + Mul<Output = Self> + Default {}
impl Float for f64 {}
impl Float for f32 {}

/// `x` is (batch, channels, source, inner), `y` (batch, channels, places, inner), indices and weights (batch,
/// taps, places); all are contiguous.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    channels: usize,
    source: usize,
    inner: usize,
    taps: usize,
    places: usize,
}

impl Sizes {
    fn of(x: &[usize], places: View, weights: &[usize], y: &[usize], contiguous: &[bool]) -> Sizes {
        let (&[batch, channels, source, inner], &[_, taps, count]) = (x, places.dims) else {
            panic!("taps: {x:?} and {:?}", places.dims)
        };
        assert!(places.dtype == DType::I64 && places.is_contiguous(), "taps: the places");
        assert!(contiguous.iter().all(|&c| c), "taps take operands in C order");
        let fits = places.dims[0] == batch
            && weights == places.dims
            && y == [batch, channels, count, inner]
            && source * inner > 0;
        assert!(fits, "taps: the shapes do not agree");
        Sizes { batch, channels, source, inner, taps, places: count }
    }

    fn plane(&self) -> usize {
        self.source * self.inner
    }

    fn line(&self) -> usize {
        self.places * self.inner
    }

    fn taps_per_image(&self) -> usize {
        self.taps * self.places
    }

    /// The indices or weights of the image of a plane.
    ///
    /// # Safety
    /// There are as many elements per image, and they are not written.
    unsafe fn taps_of<'a, T>(&self, all: &'a Shared<T>, plane: usize) -> &'a [T] {
        // SAFETY: the caller's contract.
        unsafe { all.read(plane / self.channels, self.taps_per_image()) }
    }
}

/// Addresses shared by threads, which write disjoint elements.
struct Shared<T>(*mut T);
// SAFETY: made from views, which are Send + Sync.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn of(first: *const T) -> Shared<T> {
        Shared(first.cast_mut())
    }

    /// # Safety
    /// The elements exist and are not written.
    unsafe fn read(&self, number: usize, len: usize) -> &[T] {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts(self.0.add(number * len), len) }
    }

    /// # Safety
    /// The elements exist and are not accessed otherwise.
    #[allow(clippy::mut_from_ref)]
    unsafe fn write(&self, number: usize, len: usize) -> &mut [T] {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(number * len), len) }
    }
}

/// Runs `body` for each of `count` units of `work` products each.
fn split(count: usize, work: usize, body: impl Fn(usize) + Sync) {
    let blocks = (count.saturating_mul(work) / BLOCK_PRODUCTS).clamp(1, count.max(1));
    parallel_for(blocks, &|b| (b * count / blocks..(b + 1) * count / blocks).for_each(&body));
}

/// Which of the three sums is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// `y[p] = Σ_t w[t, p] x[index[t, p]]` from `x` and `w`.
    Gather,
    /// `x[index[t, p]] += w[t, p] y[p]`, ordered by place and then by tap, from `y` and `w`.
    Scatter,
    /// `w[t, p] = Σ y[p] x[index[t, p]]` over channels and inner elements, from `y` and `x`.
    Dot,
}

/// Computes one of the sums from two operands.
pub fn sum(kind: Sum, places: View, a: View, b: View, out: ViewMut) {
    launch!("taps", [places, a, b] => [out];; weighted_sum(kind, places, a, b, &out));
}

fn weighted_sum(kind: Sum, places: View, a: View, b: View, out: &ViewMut) {
    let (result, first, second) = (out.dims, a.dims, b.dims);
    let (x, y, w) = match kind {
        Sum::Gather => (first, result, second),
        Sum::Scatter => (result, first, second),
        Sum::Dot => (second, first, result),
    };
    let contiguous = [out.is_contiguous(), a.is_contiguous(), b.is_contiguous()];
    let s = Sizes::of(x, places, w, y, &contiguous);
    with_float!([a, b, out], T => weighted_sum_of::<T>(kind, s, places, [a, b], out));
}

fn weighted_sum_of<T: Float>(kind: Sum, s: Sizes, places: View, [a, b]: [View; 2], out: &ViewMut) {
    let (at, out) = (Shared::of(places.at::<i64>(0)), Shared::of(out.at::<T>(0)));
    let (a, b) = (Shared::of(a.at::<T>(0)), Shared::of(b.at::<T>(0)));
    let (planes, work) = (s.batch * s.channels, s.taps_per_image() * s.inner);
    let run_unit = |unit: usize| {
        // SAFETY: the sizes are those of the operands; a plane of `y` and `x`, or the weights of an image,
        // belong to one thread.
        unsafe {
            match kind {
                Sum::Gather => {
                    let (at, w) = (s.taps_of(&at, unit), s.taps_of(&b, unit));
                    gather_plane::<T>(s, a.read(unit, s.plane()), at, w, out.write(unit, s.line()));
                }
                Sum::Scatter => {
                    let (at, w) = (s.taps_of(&at, unit), s.taps_of(&b, unit));
                    let (y, x) = (a.read(unit, s.line()), out.write(unit, s.plane()));
                    scatter_plane::<T>(s, y, at, w, x);
                }
                Sum::Dot => {
                    let (at, w) =
                        (at.read(unit, s.taps_per_image()), out.write(unit, s.taps_per_image()));
                    w.fill(T::default());
                    for plane in unit * s.channels..(unit + 1) * s.channels {
                        dot_plane::<T>(s, b.read(plane, s.plane()), at, w, a.read(plane, s.line()));
                    }
                }
            }
        }
    };
    if kind == Sum::Dot {
        split(s.batch, work * s.channels, run_unit);
    } else {
        split(planes, work, run_unit);
    }
}

multiversion! {
    /// One plane of a gather.
    unsafe fn gather_plane<T: Float>(
        s: Sizes, x: &[T], places: &[i64], weights: &[T], y: &mut [T],
    ) = gather_body
}

multiversion! {
    /// Adds the products of one plane to the weights.
    unsafe fn dot_plane<T: Float>(
        s: Sizes, x: &[T], places: &[i64], weights: &mut [T], y: &[T],
    ) = dot_body
}

/// The element at an index, or zero for -1.
///
/// # Safety
/// The index is in range or negative, and there is an element.
#[inline(always)]
unsafe fn value<T: Float>(x: &[T], place: i64) -> T {
    // SAFETY: the caller's contract.
    let found = unsafe { *x.get_unchecked(place.max(0) as usize) };
    if place < 0 { T::default() } else { found }
}

/// `to[i] += w from[i]`.
#[inline(always)]
fn add_row<T: Float>(to: &mut [T], from: &[T], w: T) {
    let n = to.len().min(from.len());
    for i in 0..n {
        to[i] = to[i] + w * from[i];
    }
}

/// # Safety
/// Indices are in range or negative, and all slices have the stated sizes.
#[inline(always)]
unsafe fn gather_body<T: Float>(s: Sizes, x: &[T], places: &[i64], weights: &[T], y: &mut [T]) {
    if s.inner == 1 {
        for tap in 0..s.taps {
            let range = tap * s.places..(tap + 1) * s.places;
            // SAFETY: the caller's contract.
            unsafe { gather_tap(x, &places[range.clone()], &weights[range], &mut *y, tap == 0) };
        }
        return;
    }
    for p in 0..s.places {
        let y = &mut y[p * s.inner..][..s.inner];
        let mut is_first = true;
        for tap in 0..s.taps {
            let (place, w) = (places[tap * s.places + p], weights[tap * s.places + p]);
            if place >= 0 {
                let from = &x[place as usize * s.inner..][..s.inner];
                if is_first {
                    y.iter_mut().zip(from).for_each(|(y, &x)| *y = w * x);
                } else {
                    add_row(y, from, w);
                }
                is_first = false;
            }
        }
        if is_first {
            y.fill(T::default());
        }
    }
}

/// One tap of single elements, on slices of one length without aliasing: the compiler emits vector gathers.
///
/// # Safety
/// As `gather_body`.
#[inline(always)]
unsafe fn gather_tap<T: Float>(x: &[T], places: &[i64], weights: &[T], y: &mut [T], first: bool) {
    let n = y.len().min(places.len()).min(weights.len());
    // SAFETY: the caller's contract.
    unsafe {
        if first {
            for i in 0..n {
                y[i] = weights[i] * value(x, places[i]);
            }
        } else {
            for i in 0..n {
                y[i] = y[i] + weights[i] * value(x, places[i]);
            }
        }
    }
}

/// # Safety
/// As `gather_body`.
unsafe fn scatter_plane<T: Float>(s: Sizes, y: &[T], places: &[i64], weights: &[T], x: &mut [T]) {
    let n = s.places;
    assert!(
        places.len() == s.taps_per_image() && weights.len() == s.taps_per_image(),
        "taps of all places"
    );
    assert!(y.len() == s.line() && x.len() == s.plane(), "a plane");
    for p in 0..n {
        for t in (p..s.taps_per_image()).step_by(n) {
            // SAFETY: the caller's contract.
            unsafe {
                let (place, w) = (*places.get_unchecked(t), *weights.get_unchecked(t));
                if place < 0 {
                    continue;
                }
                if s.inner == 1 {
                    let slot = x.get_unchecked_mut(place as usize);
                    *slot = *slot + w * *y.get_unchecked(p);
                } else {
                    let elements = &y[p * s.inner..][..s.inner];
                    add_row(&mut x[place as usize * s.inner..][..s.inner], elements, w);
                }
            }
        }
    }
}

/// # Safety
/// As `gather_body`.
#[inline(always)]
unsafe fn dot_body<T: Float>(s: Sizes, x: &[T], places: &[i64], weights: &mut [T], y: &[T]) {
    for tap in 0..s.taps {
        let places = &places[tap * s.places..][..s.places];
        let weights = &mut weights[tap * s.places..][..s.places];
        if s.inner == 1 {
            let n = s.places.min(y.len());
            for i in 0..n {
                // SAFETY: the caller's contract.
                weights[i] = weights[i] + y[i] * unsafe { value(x, places[i]) };
            }
            continue;
        }
        for p in 0..s.places {
            if places[p] >= 0 {
                let (elements, y) =
                    (&x[places[p] as usize * s.inner..], &y[p * s.inner..][..s.inner]);
                for i in 0..s.inner {
                    weights[p] = weights[p] + elements[i] * y[i];
                }
            }
        }
    }
}

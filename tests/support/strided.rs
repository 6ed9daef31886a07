//! Arrays in every memory order that kernels must cope with, as views.
#![allow(dead_code, missing_docs, unreachable_pub)]

use ferrograd::dtype::Element;
use ferrograd::kernels::view::{View, ViewMut};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, Slice};

/// A deterministic stream of small numbers, some of them equal.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A multiple of 1/8 in -8..8, so that sums and products of few are exact.
    pub fn small(&mut self) -> f64 {
        (self.next() % 129) as f64 / 8.0 - 8.0
    }
}

/// How the axes of an array lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    C,
    Fortran,
    Reversed,
    EverySecond,
    Rotated,
}

pub const ORDERS: [Order; 5] =
    [Order::C, Order::Fortran, Order::Reversed, Order::EverySecond, Order::Rotated];

/// An array of `dims` filled by `make`, together with the memory that holds it in `order`.
pub struct StridedSet<T> {
    base: ArrayD<T>,
    order: Order,
    dims: Vec<usize>,
}

impl<T: Clone> StridedSet<T> {
    pub fn new(dims: &[usize], order: Order, mut make: impl FnMut() -> T) -> StridedSet<T> {
        let mut memory = dims.to_vec();
        match order {
            Order::Fortran => memory.reverse(),
            Order::EverySecond => memory.iter_mut().for_each(|d| *d = 2 * *d + 1),
            Order::Rotated if !memory.is_empty() => memory.rotate_left(1),
            _ => {}
        }
        let base = ArrayD::from_shape_simple_fn(IxDyn(&memory), &mut make);
        StridedSet { base, order, dims: dims.to_vec() }
    }

    pub fn view(&self) -> ArrayViewD<'_, T> {
        let n = self.dims.len();
        let mut view = self.base.view();
        match self.order {
            Order::C => {}
            Order::Fortran => view = view.reversed_axes(),
            Order::Reversed => (0..n).for_each(|a| view.invert_axis(Axis(a))),
            Order::EverySecond => {
                (0..n).for_each(|a| view.slice_axis_inplace(Axis(a), Slice::new(1, None, 2)));
            }
            Order::Rotated => {
                let axes: Vec<usize> = (0..n).map(|a| (a + n - 1) % n).collect();
                view = view.permuted_axes(IxDyn(&axes));
            }
        }
        assert_eq!(view.shape(), self.dims);
        view
    }

    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let n = self.dims.len();
        let mut view = self.base.view_mut();
        match self.order {
            Order::C => {}
            Order::Fortran => view = view.reversed_axes(),
            Order::Reversed => (0..n).for_each(|a| view.invert_axis(Axis(a))),
            Order::EverySecond => {
                (0..n).for_each(|a| view.slice_axis_inplace(Axis(a), Slice::new(1, None, 2)));
            }
            Order::Rotated => {
                let axes: Vec<usize> = (0..n).map(|a| (a + n - 1) % n).collect();
                view = view.permuted_axes(IxDyn(&axes));
            }
        }
        view
    }
}

/// The view that a kernel reads.
pub fn read<'a, T: Element>(view: &'a ArrayViewD<'a, T>) -> View<'a> {
    // SAFETY: an ndarray view is valid for its dims and strides.
    unsafe { View::from_raw(T::DTYPE, view.as_ptr().cast(), view.shape(), view.strides()) }
}

/// The view that a kernel writes; `dims` and `strides` are those of `view`.
pub fn write<'a, T: Element>(
    view: &mut ArrayViewMutD<'a, T>,
    dims: &'a [usize],
    strides: &'a [isize],
) -> ViewMut<'a> {
    // SAFETY: a mutable ndarray view is valid for its dims and strides, and exclusive.
    unsafe { ViewMut::from_raw(T::DTYPE, view.as_mut_ptr().cast(), dims, strides) }
}

/// Runs `kernel` on a fresh array of `dims` in `order` and returns what it wrote.
pub fn written<T: Element>(
    dims: &[usize],
    order: Order,
    blank: T,
    kernel: impl FnOnce(ViewMut),
) -> ArrayD<T> {
    let mut out = StridedSet::new(dims, order, || blank);
    let mut view = out.view_mut();
    let (dims, strides) = (view.shape().to_vec(), view.strides().to_vec());
    kernel(write(&mut view, &dims, &strides));
    out.view().to_owned()
}

//! Layouts and shapes: every view constructor against ndarray's views of the same memory.
#[path = "support/strided.rs"]
mod strided;

use ferrograd::array::{Layout, broadcast_shapes, checked_numel, normalize_axes, normalize_axis};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use strided::Rng;

/// The memory positions that a layout addresses, in C order.
fn positions(layout: &Layout) -> Vec<isize> {
    let mut out = vec![layout.offset()];
    for (&d, &s) in layout.dims().iter().zip(layout.strides()) {
        out = out.iter().flat_map(|at| (0..d as isize).map(move |i| at + i * s)).collect();
    }
    out
}

/// An array whose elements are their own positions.
fn memory(dims: &[usize]) -> ArrayD<isize> {
    let n = dims.iter().product::<usize>() as isize;
    Array::from_iter(0..n).into_shape_with_order(IxDyn(dims)).unwrap()
}

fn same(layout: &Layout, view: &ArrayViewD<isize>) {
    assert_eq!(layout.dims(), view.shape());
    assert_eq!(positions(layout), view.iter().copied().collect::<Vec<_>>(), "{layout:?}");
    assert_eq!(layout.numel(), view.len());
    assert_eq!(layout.ndim(), view.ndim());
    assert_eq!(layout.is_contiguous(), view.is_empty() || view.is_standard_layout(), "{layout:?}");
    let ends = positions(layout).into_iter().fold(None, |ends: Option<(isize, isize)>, at| {
        Some(ends.map_or((at, at), |(low, high)| (low.min(at), high.max(at))))
    });
    assert_eq!(layout.extent(), ends, "{layout:?}");
}

#[test]
fn random_chains_of_views_match_ndarray() {
    for seed in 1..800 {
        let mut rng = Rng(seed);
        let dims: Vec<usize> = (0..rng.below(6)).map(|_| 1 + rng.below(5)).collect();
        let data = memory(&dims);
        let mut view = data.view();
        let mut layout = Layout::contiguous(&dims).unwrap();
        for _ in 0..6 {
            (layout, view) = step(&mut rng, layout, view);
            same(&layout, &view);
        }
    }
}

fn step<'a>(
    rng: &mut Rng,
    layout: Layout,
    mut view: ArrayViewD<'a, isize>,
) -> (Layout, ArrayViewD<'a, isize>) {
    let n = layout.ndim();
    if n == 0 {
        return (layout.insert_axis(0), view.insert_axis(Axis(0)));
    }
    let axis = rng.below(n);
    let size = layout.dims()[axis];
    match rng.below(6) {
        0 => {
            let axes: Vec<usize> = (0..n).map(|a| (a + axis) % n).collect();
            (layout.permute(&axes), view.permuted_axes(IxDyn(&axes)))
        }
        1 => {
            let other = rng.below(n);
            view.swap_axes(axis, other);
            (layout.swap(axis, other), view)
        }
        2 if size > 0 => {
            let i = rng.below(size);
            (layout.select(axis, i), view.index_axis_move(Axis(axis), i))
        }
        3 => (layout.insert_axis(axis), view.insert_axis(Axis(axis))),
        4 if size > 0 => {
            let (start, step) = (rng.below(size), 1 + rng.below(2));
            let len = (size - start).div_ceil(step);
            let out = layout.slice(axis, start, step as isize, len);
            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, None, step as isize));
            (out, view)
        }
        _ if size > 0 => {
            view.invert_axis(Axis(axis));
            (layout.slice(axis, size - 1, -1, size), view)
        }
        _ => (layout, view),
    }
}

#[test]
fn reshape_agrees_with_a_copy_and_refuses_only_what_needs_one() {
    for seed in 1..500 {
        let mut rng = Rng(seed);
        let dims: Vec<usize> = (0..rng.below(5)).map(|_| 1 + rng.below(4)).collect();
        let data = memory(&dims);
        let (mut layout, mut view) = (Layout::contiguous(&dims).unwrap(), data.view());
        for _ in 0..3 {
            (layout, view) = step(&mut rng, layout, view);
        }
        let flat = [layout.numel()];
        let splits = [flat.to_vec(), [&[1], view.shape(), &[1]].concat(), vec![2, flat[0] / 2]];
        for target in splits.iter().filter(|t| t.iter().product::<usize>() == flat[0]) {
            if let Some(out) = layout.reshape(target) {
                assert_eq!(out.dims(), target.as_slice());
                assert_eq!(positions(&out), positions(&layout), "{layout:?} to {target:?}");
            } else {
                let evenly = |p: &[isize]| p.windows(3).all(|w| w[1] - w[0] == w[2] - w[1]);
                let whole = target.len() == 1 && evenly(&positions(&layout));
                assert!(!whole, "{layout:?} to {target:?} needs no copy");
            }
        }
    }
    let layout = Layout::contiguous(&[4, 6]).unwrap();
    assert!(layout.reshape(&[5, 5]).is_none());
    assert_eq!(layout.swap(0, 1).reshape(&[3, 2, 4]).unwrap().strides(), [2, 1, 6]);
    assert!(layout.swap(0, 1).reshape(&[24]).is_none());
    assert_eq!(Layout::contiguous(&[0, 3]).unwrap().reshape(&[7, 0]).unwrap().dims(), [7, 0]);
}

#[test]
fn broadcasting_repeats_without_memory() {
    let layout = Layout::contiguous(&[3, 1]).unwrap();
    let wide = layout.broadcast_to(&[2, 3, 4]).unwrap();
    assert_eq!(wide.strides(), [0, 1, 0]);
    assert!(!wide.is_contiguous());
    let failed = layout.broadcast_to(&[2, 4]).unwrap_err().to_string();
    assert!(failed.starts_with("broadcast_to: shapes (3, 1) and (2, 4)"), "{failed}");
    assert!(layout.broadcast_to(&[3]).is_err());
    let six = Layout::contiguous(&[1, 2, 1, 2, 1, 2]).unwrap();
    assert_eq!(six.broadcast_to(&[3, 2, 3, 2, 3, 2]).unwrap().strides(), [0, 4, 0, 2, 0, 1]);
}

#[test]
fn diagonals_and_windows() {
    let data = memory(&[4, 5]);
    let layout = Layout::contiguous(&[4, 5]).unwrap();
    for k in -6isize..7 {
        let want: Vec<isize> = (0..4isize)
            .filter(|i| (0..5).contains(&(i + k)))
            .map(|i| data[[i as usize, (i + k) as usize]])
            .collect();
        assert_eq!(positions(&layout.diagonal(k, 0, 1)), want, "offset {k}");
        assert_eq!(positions(&layout.swap(0, 1).diagonal(-k, 0, 1)), want, "offset {k}");
    }
    let cube = Layout::contiguous(&[2, 3, 3]).unwrap().diagonal(1, 1, 2);
    assert_eq!((cube.dims(), cube.strides(), cube.offset()), (&[2, 2][..], &[9, 4][..], 1));
    let windows = Layout::contiguous(&[7, 2]).unwrap().unfold(0, 3, 2);
    assert_eq!((windows.dims(), windows.strides()), (&[3, 2, 3][..], &[4, 1, 2][..]));
}

#[test]
fn contiguity_ignores_axes_of_one_and_empty_arrays() {
    let layout = |dims: &[usize], strides: &[isize]| Layout::strided(dims, strides, 3).unwrap();
    assert!(layout(&[2, 1, 3], &[3, 99, 1]).is_contiguous());
    assert!(layout(&[0, 3], &[77, 5]).is_contiguous());
    assert!(!layout(&[2, 3], &[4, 1]).is_contiguous());
    assert!(!layout(&[3], &[-1]).is_contiguous());
    assert!(Layout::scalar().is_contiguous() && Layout::scalar().numel() == 1);
    assert_eq!(Layout::scalar().with_offset(5).extent(), Some((5, 5)));
    assert!(Layout::strided(&[2], &[1, 1], 0).is_err());
}

#[test]
fn shapes_broadcast_as_in_numpy() {
    type Case = (&'static [&'static [usize]], Option<&'static [usize]>);
    let cases: &[Case] = &[
        (&[&[2, 3], &[3]], Some(&[2, 3])),
        (&[&[3], &[2, 1]], Some(&[2, 3])),
        (&[&[], &[4, 1], &[1, 5]], Some(&[4, 5])),
        (&[&[0], &[1]], Some(&[0])),
        (&[&[0], &[2]], None),
        (&[&[2, 3], &[2]], None),
        (&[&[7, 1, 6, 1], &[8, 1, 6, 5], &[5]], None),
        (&[&[8, 1, 6, 1], &[7, 1, 5]], Some(&[8, 7, 6, 5])),
        (&[], Some(&[])),
    ];
    for (shapes, want) in cases {
        let got = broadcast_shapes("add", shapes);
        assert_eq!(got.as_ref().ok().map(|s| s.as_slice()), *want, "{shapes:?}");
    }
    let text = broadcast_shapes("add", &[&[2, 3], &[2]]).unwrap_err().to_string();
    assert!(text.starts_with("add: shapes (2, 3) and (2,) do not broadcast"), "{text}");
}

#[test]
fn axes_are_counted_from_either_end_and_named_once() {
    assert_eq!(normalize_axis("sum", -1, 3).unwrap(), 2);
    assert_eq!(normalize_axis("sum", 2, 3).unwrap(), 2);
    for axis in [-4, 3, isize::MIN, isize::MAX] {
        assert_eq!(normalize_axis("sum", axis, 3).unwrap_err().variant(), "Axis");
    }
    assert_eq!(normalize_axes("sum", &[-1, 0], 3).unwrap().as_slice(), [2, 0]);
    assert_eq!(normalize_axes("sum", &[2, -1], 3).unwrap_err().variant(), "RepeatedAxis");
}

#[test]
fn sizes_beyond_memory_are_refused() {
    assert_eq!(checked_numel("zeros", &[3, 4]).unwrap(), 12);
    assert_eq!(checked_numel("zeros", &[3, 0]).unwrap(), 0);
    for dims in [&[usize::MAX][..], &[1 << 40, 1 << 40], &[1 << 60], &[0, usize::MAX]] {
        assert_eq!(checked_numel("zeros", dims).unwrap_err().variant(), "TooLarge");
        assert!(Layout::contiguous(dims).is_err());
    }
}

#[test]
fn elements_of_other_sizes() {
    let pairs = Layout::contiguous(&[3, 4, 2]).unwrap();
    let whole = pairs.coarsen(2).unwrap();
    assert_eq!((whole.dims(), whole.strides()), (&[3, 4][..], &[4, 1][..]));
    let odd = whole.slice(1, 1, 2, 2).swap(0, 1);
    let refined = odd.refine(2);
    let both = positions(&odd).into_iter().flat_map(|at| [2 * at, 2 * at + 1]);
    assert_eq!(positions(&refined), both.collect::<Vec<_>>());
    assert_eq!(positions(&refined.coarsen(2).unwrap()), positions(&odd));
    // A first position inside an element, a distance that is no multiple, neighbours apart, another number of them.
    let flat = Layout::contiguous(&[12]).unwrap();
    assert!(flat.slice(0, 1, 1, 4).reshape(&[2, 2]).unwrap().coarsen(2).is_none());
    assert!(Layout::strided(&[2, 2], &[3, 1], 0).unwrap().coarsen(2).is_none());
    assert!(Layout::strided(&[2, 2], &[2, 2], 0).unwrap().coarsen(2).is_none());
    assert!(flat.coarsen(2).is_none());
    assert!(Layout::scalar().coarsen(2).is_none());
    assert_eq!(Layout::contiguous(&[0, 2]).unwrap().coarsen(2).unwrap().dims(), [0]);
}

//! Gather, scatter and scatter-add against loops over indices.

use crate::strided::{ORDERS, Order, Rng, StridedSet, read, write, written};
use ferrograd::dtype::DType;
use ferrograd::kernels::index::*;
use ferrograd::kernels::view::View;
use ferrograd::threads::set_num_threads;
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};

fn axis_of(view: &ArrayViewD<f64>, axis: usize) -> Indexed {
    Indexed { axis, size: view.shape()[axis], stride: view.strides()[axis] }
}

fn ints(values: &[i64], dims: &[usize]) -> ArrayD<i64> {
    ArrayD::from_shape_vec(IxDyn(dims), values.to_vec()).unwrap()
}

#[test]
fn takes_rows_along_any_axis() {
    let mut rng = Rng(1);
    for dims in [&[6][..], &[5, 4], &[3, 7, 4], &[4, 300, 20]] {
        for order in ORDERS {
            let src = StridedSet::new(dims, order, || rng.small());
            let view = src.view();
            for axis in 0..dims.len() {
                let size = dims[axis] as i64;
                let index = ints(&[0, size - 1, -1, -size, 1, 1], &[6]);
                let index_view = index.view();
                let at = offsets("take", &[read(&index_view)], &[axis_of(&view, axis)]).unwrap();
                let rest = view.index_axis(Axis(axis), 0);
                let shape = [&[6], rest.shape()].concat();
                for to in [Order::C, Order::Fortran] {
                    let got = written(&shape, to, 0.0, |out| {
                        take(read(&rest), &at, out);
                    });
                    for (i, &which) in index.iter().enumerate() {
                        let which = which.rem_euclid(size) as usize;
                        let want = view.index_axis(Axis(axis), which);
                        assert!(got.index_axis(Axis(0), i) == want, "{dims:?} {order:?} {axis}");
                    }
                }
            }
        }
    }
}

#[test]
fn several_indices_pick_points() {
    let mut rng = Rng(2);
    for order in ORDERS {
        let src = StridedSet::new(&[4, 5, 3], order, || rng.small());
        let view = src.view();
        let (rows, columns) = (ints(&[0, 3, -1, 2], &[2, 2]), ints(&[4, 0, 1, -5], &[2, 2]));
        let (r, c) = (rows.view(), columns.view());
        let axes = [axis_of(&view, 0), axis_of(&view, 1)];
        let at = offsets("getitem", &[read(&r), read(&c)], &axes).unwrap();
        assert!(at.len() == 4 && !at.is_empty());
        let plane = view.index_axis(Axis(0), 0);
        let rest = plane.index_axis(Axis(0), 0);
        let got = written(&[4, 3], Order::C, 0.0, |out| take(read(&rest), &at, out));
        for (i, (r, c)) in [(0, 4), (3, 0), (3, 1), (2, 0)].into_iter().enumerate() {
            for k in 0..3 {
                assert_eq!(got[[i, k]], view[[r, c, k]], "{order:?}");
            }
        }
    }
}

#[test]
fn out_of_range_is_an_error_that_names_the_index() {
    let index = ints(&[0, -4, 9], &[3]);
    let view = index.view();
    let failed = offsets("take", &[read(&view)], &[Indexed { axis: 2, size: 3, stride: 1 }]);
    let text = failed.unwrap_err().to_string();
    assert_eq!(
        text,
        "take: index -4 is out of range for axis 2 of size 3; use an index from -3 to 2"
    );
    let smallest = ints(&[i64::MIN], &[1]);
    let view = smallest.view();
    assert!(offsets("take", &[read(&view)], &[Indexed { axis: 0, size: 3, stride: 1 }]).is_err());
    assert!(offsets_along("along", read(&view), 0, &[5], &[1]).is_err());
}

#[test]
fn along_an_axis() {
    let mut rng = Rng(3);
    for order in ORDERS {
        let src = StridedSet::new(&[4, 5], order, || rng.small());
        let view = src.view();
        let index = ints(&[0, -1, 2, 3, 4, 0, 1, 2], &[4, 2]);
        let index_view = index.view();
        let at =
            offsets_along("along", read(&index_view), 1, view.shape(), view.strides()).unwrap();
        // SAFETY: the first element of the view, as a 0-d array.
        let point = unsafe { View::from_raw(DType::F64, view.as_ptr().cast(), &[], &[]) };
        let got = written(&[8], Order::C, 0.0, |out| take(point, &at, out));
        for i in 0..8 {
            let column = index[[i / 2, i % 2]].rem_euclid(5) as usize;
            assert_eq!(got[[i]], view[[i / 2, column]]);
        }
    }
}

#[test]
fn masks_select_in_c_order() {
    let mut rng = Rng(4);
    for order in ORDERS {
        let src = StridedSet::new(&[6, 7], order, || rng.small());
        let view = src.view();
        let mask = StridedSet::new(&[6, 7], Order::Fortran, || rng.below(3) == 0);
        let mask_view = mask.view();
        let at = offsets_where(read(&mask_view), view.strides()).unwrap();
        let want: Vec<f64> =
            view.iter().zip(mask_view.iter()).filter(|p| *p.1).map(|p| *p.0).collect();
        // SAFETY: the first element of the view, as a 0-d array.
        let point = unsafe { View::from_raw(DType::F64, view.as_ptr().cast(), &[], &[]) };
        let got = written(&[at.len()], Order::C, 0.0, |out| take(point, &at, out));
        assert_eq!(got.into_raw_vec_and_offset().0, want);
    }
}

/// Writes `src` rows at `index` of axis 0 of a zero array of `dims`, by `put` or `add_at`.
fn scattered(dims: &[usize], index: &ArrayD<i64>, src: &ArrayViewD<f64>, add: bool) -> ArrayD<f64> {
    let mut table = ArrayD::<f64>::zeros(IxDyn(dims));
    let axis = axis_of(&table.view(), 0);
    let index_view = index.view();
    let at = offsets("put", &[read(&index_view)], &[axis]).unwrap();
    let mut view = table.view_mut();
    let (row, strides) = (dims[1..].to_vec(), view.strides()[1..].to_vec());
    let dst = write(&mut view, &row, &strides);
    if add {
        add_at(dst, &at, read(src));
    } else {
        put(dst, &at, read(src));
    }
    table
}

#[test]
fn scatter_keeps_the_last_and_scatter_add_keeps_all() {
    let mut rng = Rng(5);
    for row in [&[][..], &[3], &[4, 6], &[500]] {
        for order in ORDERS {
            let n = 700;
            let index = ArrayD::from_shape_fn(IxDyn(&[n]), |_| rng.below(40) as i64 - 20);
            let src = StridedSet::new(&[&[n], row].concat(), order, || rng.small());
            let (view, dims) = (src.view(), [&[20], row].concat());
            let (put, added) =
                (scattered(&dims, &index, &view, false), scattered(&dims, &index, &view, true));
            let mut want_put = ArrayD::<f64>::zeros(IxDyn(&dims));
            let mut want_added = want_put.clone();
            for (i, &at) in index.iter().enumerate() {
                let at = at.rem_euclid(20) as usize;
                want_put.index_axis_mut(Axis(0), at).assign(&view.index_axis(Axis(0), i));
                let mut slot = want_added.index_axis_mut(Axis(0), at);
                slot += &view.index_axis(Axis(0), i);
            }
            assert!(put == want_put && added == want_added, "{row:?} {order:?}");
        }
    }
}

#[test]
fn scatter_add_is_the_same_at_any_thread_count() {
    let mut rng = Rng(6);
    let src = StridedSet::new(&[2000, 512], Order::C, || rng.small() / 3.0);
    let index = ArrayD::from_shape_fn(IxDyn(&[2000]), |_| rng.below(11) as i64);
    let run = |threads| {
        set_num_threads(threads);
        scattered(&[11, 512], &index, &src.view(), true)
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}

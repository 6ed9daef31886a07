//! The element-wise driver against an index-by-index evaluation: strides, broadcasting, in place,
//! tails, long rows and split work.

use ferrograd::dtype::DType;
use ferrograd::kernels::elementwise::{
    Loop, LoopTable, LoopWork, Operand, OutOperand, StridedCall, where_loop,
};
use ferrograd::loop_table;

static AXPY: LoopTable = loop_table! { float: |x, y; a| x * a + y; cost: 0.3; };
static ADD: LoopTable = loop_table! {
    float: |a, b| a + b; ints: |a, b| a.wrapping_add(b); bool: |a, b| a | b; cost: 0.15;
};
static LESS: LoopTable = loop_table! {
    float -> mask: |a, b| a.lt(b); ints: |a, b| a < b; bool: |a, b| (a ^ 1) & b; cost: 0.15;
};
static XOR: LoopTable = loop_table! { ints: |a, b| a ^ b; bool: |a, b| a ^ b; cost: 0.1; };

/// Runs a loop over the shape `dims`.
///
/// # Safety
/// As `StridedCall::run`.
unsafe fn run(
    f: Loop,
    ins: &[Operand<'_>],
    out: OutOperand<'_>,
    dims: &[usize],
    params: &[f64],
    cost: f32,
) {
    let work = LoopWork { f, row_loop: None, params, cost };
    // SAFETY: the caller's contract.
    unsafe { StridedCall { work, ins, out, dims }.run() }
}

/// C strides of a shape.
fn c_strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis] as isize;
    }
    strides
}

/// The offset of a flat index.
fn offset(flat: usize, dims: &[usize], strides: &[isize]) -> isize {
    let mut rest = flat;
    dims.iter().zip(strides).rev().fold(0, |sum, (&d, &s)| {
        let index = rest % d;
        rest /= d;
        sum + index as isize * s
    })
}

fn operand(data: &[f64], start: usize, strides: &'static [isize]) -> Operand<'static> {
    Operand { ptr: data[start..].as_ptr().cast(), strides, itemsize: 8 }
}

/// Computes `3 x + y` over strided operands and compares each element.
fn check(dims: &[usize], x: Operand<'_>, y: Operand<'_>, out_strides: Option<Vec<isize>>) {
    let n: usize = dims.iter().product();
    let strides = out_strides.unwrap_or_else(|| c_strides(dims));
    let last: isize = dims.iter().zip(&strides).map(|(&d, &s)| (d as isize - 1) * s).sum();
    let mut out = vec![f64::NAN; last as usize + 1];
    let target =
        OutOperand { ptr: out.as_mut_ptr().cast(), strides: &strides, itemsize: 8, read: false };
    let f = AXPY.get(DType::F64).unwrap();
    // SAFETY: the operands address their data over the whole shape, the output is its own.
    unsafe { run(f, &[x, y], target, dims, &[3.0], 0.3) };
    let at = |o: &Operand<'_>, flat| {
        // SAFETY: as above.
        unsafe { *o.ptr.cast::<f64>().offset(offset(flat, dims, o.strides)) }
    };
    for flat in 0..n {
        let got = out[offset(flat, dims, &strides) as usize];
        let (a, b) = (at(&x, flat), at(&y, flat));
        assert!((got - (a * 3.0 + b)).abs() < 1e-9, "{dims:?} at {flat}: {got} from {a}, {b}");
    }
}

#[test]
fn layouts_of_every_kind() {
    let data: Vec<f64> = (0..300_000).map(|i| (i % 977) as f64).collect();
    let flat = |strides| operand(&data, 7, strides);
    check(&[1], flat(&[1]), flat(&[1]), None);
    check(&[5], flat(&[1]), flat(&[0]), None);
    check(&[19], flat(&[1]), flat(&[2]), None);
    check(&[40], operand(&data, 100, &[-1]), flat(&[3]), None);
    check(&[3, 4], flat(&[4, 1]), flat(&[1, 3]), None);
    check(&[700, 3], flat(&[3, 1]), flat(&[0, 1]), None);
    check(&[3, 700], flat(&[700, 1]), flat(&[1, 0]), None);
    check(&[300, 200], flat(&[1, 300]), flat(&[0, 0]), None);
    check(&[4, 5, 6, 7], flat(&[210, 1, 35, 5]), flat(&[0, 7, 0, 1]), None);
    check(&[2, 1, 600, 2], flat(&[1200, 9, 2, 1]), flat(&[0, 0, 2, 1]), None);
    check(&[500, 500], flat(&[500, 1]), flat(&[1, 500]), None);
    check(&[6, 5], flat(&[5, 1]), flat(&[5, 1]), Some(vec![1, 6]));
    check(&[30, 300], flat(&[300, 1]), flat(&[0, 1]), Some(vec![600, 2]));
}

#[test]
fn in_place_and_split() {
    for n in [2, 15, 16, 33, 1000, 700_001] {
        let mut x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let one = 1.0;
        let ptr = x.as_mut_ptr().cast::<u8>();
        let ins = [
            Operand { ptr, strides: &[1], itemsize: 8 },
            Operand { ptr: std::ptr::from_ref(&one).cast(), strides: &[0], itemsize: 8 },
        ];
        let out = OutOperand { ptr, strides: &[1], itemsize: 8, read: false };
        // SAFETY: the output is the first operand exactly.
        unsafe { run(ADD.get(DType::F64).unwrap(), &ins, out, &[n], &[], 0.3) };
        assert!(x.iter().enumerate().all(|(i, &v)| v == i as f64 + 1.0), "{n}");
    }
    let x = vec![1.5; 1_000_000];
    check(&[1000, 1000], operand(&x, 0, &[1000, 1]), operand(&x, 0, &[1, 1000]), None);
}

#[test]
fn empty_shapes_touch_nothing() {
    let nowhere = Operand { ptr: std::ptr::null(), strides: &[0, 1], itemsize: 8 };
    let out = OutOperand { ptr: std::ptr::null_mut(), strides: &[0, 1], itemsize: 8, read: false };
    // SAFETY: there are no elements.
    unsafe { run(AXPY.get(DType::F64).unwrap(), &[nowhere; 2], out, &[3, 0], &[1.0], 0.3) };
}

#[test]
fn integers_masks_and_choices() {
    let (a, b) = ([1i32, -5, i32::MAX, 7], [2i32, -6, 1, 7]);
    let ins = [a, b].map(|v: [i32; 4]| Box::new(v));
    let ops: Vec<Operand<'_>> = ins
        .iter()
        .map(|v| Operand { ptr: v.as_ptr().cast(), strides: &[1], itemsize: 4 })
        .collect();
    let mut sum = [0i32; 4];
    let mut less = [9u8; 4];
    let mut chosen = [0i32; 4];
    let to = |ptr, itemsize| OutOperand { ptr, strides: &[1], itemsize, read: false };
    // SAFETY: four elements each, of the loops' types.
    unsafe {
        let out = to(sum.as_mut_ptr().cast(), 4);
        run(ADD.get(DType::I32).unwrap(), &ops, out, &[4], &[], 0.1);
        run(LESS.get(DType::I32).unwrap(), &ops, to(less.as_mut_ptr(), 1), &[4], &[], 0.1);
        let mask = Operand { ptr: less.as_ptr(), strides: &[1], itemsize: 1 };
        let out = to(chosen.as_mut_ptr().cast(), 4);
        run(where_loop(4), &[mask, ops[0], ops[1]], out, &[4], &[], 0.1);
    }
    assert_eq!(sum, [3, -11, i32::MIN, 14]);
    assert_eq!(less, [1, 0, 0, 0]);
    assert_eq!(chosen, [1, -6, 1, 7]);
    assert!(XOR.get(DType::F64).is_none() && XOR.get(DType::U8).is_some());
}

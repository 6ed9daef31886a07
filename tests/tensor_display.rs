//! The text of tensors: NumPy's digits, columns, line breaks and summaries.
//!
//! The expected texts are what NumPy prints for the same arrays.
use ferrograd::Tensor;
use ndarray::Array;

fn floats(n: usize) -> Array<f64, ndarray::Ix1> {
    Array::from_shape_fn(n, |i| i as f64)
}

#[test]
fn small_tensors_print_as_numpy_prints_them() {
    let cases = [
        (Tensor::from([1.0, 2.5, -3.0]), "[ 1.   2.5 -3. ]"),
        (Tensor::from([0.1 + 0.2, 1.0 / 3.0]), "[0.3        0.33333333]"),
        (Tensor::from([1e-5, 1.0]), "[1.e-05 1.e+00]"),
        (Tensor::from([1e-4f32, 0.05]), "[0.0001 0.05  ]"),
        (Tensor::from([f64::NAN, f64::NEG_INFINITY, 1.5]), "[ nan -inf  1.5]"),
        (Tensor::from([1e300, -2.25e-300]), "[ 1.00e+300 -2.25e-300]"),
        (Tensor::from([1.0f32 / 3.0, 0.1]), "[0.33333334 0.1       ]"),
        (Tensor::from([[1.0, 20.0], [-3.5, 4.0]]), "[[ 1.  20. ]\n [-3.5  4. ]]"),
        (Tensor::from([1i64, -20, 300]), "[  1 -20 300]"),
        (Tensor::from([true, false]), "[ True False]"),
        (Tensor::from(0.1f32), "0.1"),
        (Tensor::from(1e-5), "1e-05"),
        (Tensor::from(2.0), "2.0"),
        (Tensor::from(1.5e20), "1.5e+20"),
        (Tensor::from([-0.0, 0.0]), "[-0.  0.]"),
        (Tensor::from([1.999999999999, 12345.678901234]), "[2.00000000e+00 1.23456789e+04]"),
        (Tensor::from([9.999999999e9, 1.0]), "[1.e+10 1.e+00]"),
        (Tensor::from([f64::INFINITY, 1e10]), "[   inf 1.e+10]"),
        (Tensor::from(Vec::<f64>::new()), "[]"),
    ];
    for (tensor, expected) in cases {
        assert_eq!(tensor.to_string(), expected);
    }
}

#[test]
fn long_rows_break_and_large_tensors_are_summarised() {
    assert_eq!(
        Tensor::from(floats(40) / 8.0).to_string(),
        "[0.    0.125 0.25  0.375 0.5   0.625 0.75  0.875 1.    1.125 1.25  1.375\n \
         1.5   1.625 1.75  1.875 2.    2.125 2.25  2.375 2.5   2.625 2.75  2.875\n \
         3.    3.125 3.25  3.375 3.5   3.625 3.75  3.875 4.    4.125 4.25  4.375\n \
         4.5   4.625 4.75  4.875]"
    );
    assert_eq!(
        Tensor::from(floats(2000)).to_string(),
        "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]"
    );
    let wide = Array::from_shape_fn((30, 100), |(i, j)| (100 * i + j) as i64);
    assert_eq!(
        Tensor::from(wide).to_string(),
        "[[   0    1    2 ...   97   98   99]\n [ 100  101  102 ...  197  198  199]\n \
         [ 200  201  202 ...  297  298  299]\n ...\n [2700 2701 2702 ... 2797 2798 2799]\n \
         [2800 2801 2802 ... 2897 2898 2899]\n [2900 2901 2902 ... 2997 2998 2999]]"
    );
    let deep = Array::from_shape_fn((2, 2, 3), |(i, j, k)| (6 * i + 3 * j + k) as i64);
    assert_eq!(
        Tensor::from(deep).to_string(),
        "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]"
    );
}

#[test]
fn debug_is_one_line_with_the_values_of_small_tensors() {
    let small = Tensor::from([[1.0, 2.0]]).with_grad();
    assert_eq!(
        format!("{small:?}"),
        "Tensor { shape: [1, 2], dtype: F64, requires_grad: true, values: [1.0, 2.0] }"
    );
    let large = format!("{:?}", Tensor::from(floats(2000)));
    assert_eq!(large, "Tensor { shape: [2000], dtype: F64, requires_grad: false, .. }");
}

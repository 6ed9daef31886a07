//! Consistency of the table.

use super::*;

#[test]
fn rows_stand_in_the_order_of_the_discriminants() {
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        assert!(dtype as usize == i && dtype.row().dtype == dtype);
        with_dtype!(dtype, T => assert_eq!(T::DTYPE, dtype));
        with_dtype!(stored dtype, T => assert_eq!(size_of::<T>(), dtype.size()));
    }
}

#[test]
fn an_integer_is_held_within_the_range_of_its_type() {
    for value in
        [i64::MIN, -(1 << 31) - 1, -(1 << 31), -1, 0, 255, 256, (1 << 31) - 1, 1 << 31, i64::MAX]
    {
        assert!(DType::I64.holds(value) && DType::F32.holds(value));
        assert_eq!(DType::I32.holds(value), i32::try_from(value).is_ok(), "{value}");
        assert_eq!(DType::U8.holds(value), u8::try_from(value).is_ok(), "{value}");
    }
}

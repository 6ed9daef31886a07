//! How often an operation asks the allocator, and how much memory a training step holds at most.
//!
//! Both numbers are exact on one thread, so that a change that costs an allocation per operation, or that keeps a
//! buffer longer than the pass needs it, fails here and not only in a profile.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ferrograd::{Axes, DType, Result, Tensor, no_grad};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

fn count(bytes: isize) {
    let now = BYTES.get() + bytes;
    BYTES.set(now);
    PEAK.set(PEAK.get().max(now));
    CALLS.set(CALLS.get() + usize::from(bytes > 0));
}

// SAFETY: every call goes on to the system's allocator; the counters are cells without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one call, once it has run often enough for pools and pages to be there.
fn allocations<T>(mut call: impl FnMut() -> T) -> usize {
    for _ in 0..3 {
        call();
    }
    let before = CALLS.get();
    let result = call();
    let made = CALLS.get() - before;
    drop(result);
    made
}

fn vector(x: f64) -> Tensor {
    Tensor::from(vec![x; 4])
}

#[test]
fn a_small_result_takes_the_block_of_one_before() {
    let (a, b) = (vector(1.5), vector(2.5));
    assert_eq!(allocations(|| &a + &b), 0, "add");
    assert_eq!(allocations(|| &a * 2.0), 0, "multiply by a number");
    assert_eq!(allocations(|| a.sin().unwrap()), 0, "sin");
    assert_eq!(allocations(|| a.sum(Axes::All, false, None).unwrap()), 0, "sum");
    assert_eq!(allocations(|| no_grad(|| &a + &b)), 0, "add without recording");
}

#[test]
fn recording_costs_no_allocation() {
    let (a, b) = (vector(1.5).with_grad(), vector(2.5).with_grad());
    assert_eq!(allocations(|| &a + &b), 0, "add");
    assert_eq!(allocations(|| &a * &b), 0, "multiply");
    assert_eq!(allocations(|| a.sin().unwrap()), 0, "sin");
}

#[test]
fn a_backward_pass_allocates_for_gradients_only() {
    let a = vector(1.5).with_grad();
    let chain = |steps: usize| {
        let mut y = a.clone();
        for _ in 0..steps {
            y = &y * 1.0001;
        }
        y.sum(Axes::All, false, None).unwrap().backward().unwrap();
    };
    let (short, long) = (allocations(|| chain(10)), allocations(|| chain(110)));
    // A gradient takes the memory of the one before; the ten are lists of the pass that grow by doubling.
    assert!(long - short <= 110, "{} allocations for 100 steps", long - short);
}

/// Two layers, a loss and the pass through them.
fn step(x: &Tensor, weights: &[Tensor; 2]) -> Result<()> {
    let hidden = x.matmul(&weights[0])?.tanh()?;
    let error = hidden.matmul(&weights[1])?;
    (&error * &error).sum(Axes::All, false, None)?.backward()
}

#[test]
fn a_training_step_holds_what_the_pass_needs() {
    const ROWS: usize = 16;
    const WIDE: usize = 64;
    let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F64).unwrap();
    let weights = [zeros(&[WIDE, WIDE]).with_grad(), zeros(&[WIDE, WIDE]).with_grad()];
    let x = zeros(&[ROWS, WIDE]);
    for _ in 0..3 {
        step(&x, &weights).unwrap();
    }
    let before = BYTES.get();
    PEAK.set(before);
    step(&x, &weights).unwrap();
    let peak = PEAK.get() - before;
    let (activation, weight) = (8 * ROWS * WIDE, 8 * WIDE * WIDE);
    let needed = 2 * weight + 2 * activation;
    assert!(
        peak as usize <= needed,
        "{peak} bytes, where {needed} hold both gradients and two activations"
    );
    assert_eq!(BYTES.get(), before, "a step leaves nothing behind");
}

/// The most bytes that a backward pass from the sum of `y` holds beyond those there were.
fn peak_of_backward(y: &Tensor) -> isize {
    let value = y.sum(Axes::All, false, None).unwrap();
    let before = BYTES.get();
    PEAK.set(before);
    value.backward().unwrap();
    PEAK.get() - before
}

#[test]
fn long_nodes_in_a_row_lay_out_no_gradient_between_them() {
    const N: usize = 1 << 17;
    let mut y = Tensor::zeros(&[N], DType::F64).unwrap().with_grad();
    for _ in 0..4 {
        y = &y.tanh().unwrap() * &y;
    }
    let (peak, gradient) = (peak_of_backward(&y), 8 * N as isize);
    assert!(
        peak < gradient * 5 / 4,
        "{peak} bytes, where the gradient that is asked for has {gradient}"
    );
}

#[test]
fn an_operand_that_does_not_lie_in_a_row_parts_a_stretch_and_no_more() {
    const N: usize = 512;
    let leaf = Tensor::zeros(&[N, N], DType::F64).unwrap().with_grad();
    let across = Tensor::ones(&[N, N], DType::F64).unwrap().swapaxes(0, 1).unwrap();
    let mut y = &leaf * &across;
    for _ in 0..4 {
        y = &y.tanh().unwrap() * &y;
    }
    let (peak, gradient) = (peak_of_backward(&y), (8 * N * N) as isize);
    assert!(peak < gradient * 5 / 4, "{peak} bytes, where a gradient has {gradient}");
}

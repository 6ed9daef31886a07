//! Constant folding: computes at compile time what is the same in every run.
//!
//! Folds scalars that steps read from constant memory, and small arrays that depend on constants only. Invariant: a
//! step reads the same bits as before.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use crate::array::Storage;
use crate::compile::ir::execute::run_step;
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Source, Step};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::elementwise::{LoopCall, MAX_OPERANDS};
use crate::kernels::launch::known_to_programs;

/// Bound on the bytes of a folded array.
const MAX_CONSTANT_BYTES: usize = 16 << 10;

/// Folds constants.
pub(in crate::compile) fn fold(steps: &mut Vec<Step>, buffers: &mut Vec<Buffer>) {
    fold_scalars(steps, buffers);
    fold_arrays(steps, buffers);
    make_contiguous(steps, buffers);
}

/// The number of steps that write each buffer.
pub(in crate::compile) fn writers(steps: &[Step], buffers: usize) -> Vec<usize> {
    let mut count = vec![0; buffers];
    steps.iter().flat_map(|s| &s.writes).for_each(|w| count[w.buffer as usize] += 1);
    count
}

/// Whether a slice covers its whole buffer in C order.
pub(in crate::compile) fn is_whole(slice: &BufferView, buffers: &[Buffer]) -> bool {
    slice.offset == 0
        && slice.is_contiguous()
        && slice.numel() * slice.dtype.size() == buffers[slice.buffer as usize].nbytes
}

/// Replaces reads of memory that is filled with one number by a scalar operand.
fn fold_scalars(steps: &mut [Step], buffers: &[Buffer]) {
    let writers = writers(steps, buffers.len());
    let mut fill_values: Vec<Option<(u64, DType)>> = vec![None; buffers.len()];
    for step in steps {
        if let Action::Map(map) = &step.action
            && let Some(map) = with_scalars(map, &fill_values, buffers)
        {
            *step = match evaluate(&map) {
                Some(bits) => fill_step(bits, map.out),
                None => Step::from_map(step.name, map),
            };
        }
        if let (Action::Copy, [read]) = (&step.action, &step.reads[..])
            && let Some((bits, dtype)) = fill_values[read.buffer as usize]
            && dtype == read.dtype
        {
            *step = fill_step(bits, step.writes[0].clone());
        }
        if let (Action::Fill(bits), [out]) = (&step.action, &step.writes[..])
            && known_to_programs(out.dtype)
            && matches!(buffers[out.buffer as usize].source, Source::Temporary)
            && writers[out.buffer as usize] == 1
            && is_whole(out, buffers)
        {
            fill_values[out.buffer as usize] = Some((*bits, out.dtype));
        }
    }
}

fn fill_step(bits: u64, out: BufferView) -> Step {
    let (reads, writes) = (SmallVec::new(), smallvec![out]);
    Step { name: "fill", reads, writes, action: Action::Fill(bits) }
}

/// The loop with scalars in place of slices that hold one number, if there are any.
fn with_scalars(
    map: &Map,
    fill_values: &[Option<(u64, DType)>],
    buffers: &[Buffer],
) -> Option<Map> {
    let number = |argument: &MapOperand| {
        let MapOperand::BufferView(slice) = argument else { return None };
        let buffer = slice.buffer as usize;
        let bits = match (fill_values[buffer], &buffers[buffer].source) {
            (Some((bits, dtype)), _) if dtype == slice.dtype => bits,
            (None, Source::Constant(storage)) if slice.is_value() => read_element(storage, slice),
            _ => return None,
        };
        Some(MapOperand::Number(bits, slice.dtype))
    };
    let all = !map.ins.is_empty() && map.ins.iter().all(|a| matches!(a, MapOperand::Number(..)));
    if !all && map.ins.iter().all(|argument| number(argument).is_none()) {
        return None;
    }
    let mut changed = map.clone();
    for argument in &mut changed.ins {
        if let Some(number) = number(argument) {
            *argument = number;
        }
    }
    Some(changed)
}

/// The bytes of the element of a scalar slice; loops take only dtypes that are `known_to_programs`.
fn read_element(storage: &Storage, slice: &BufferView) -> u64 {
    let mut word = 0u64;
    assert!(slice.dtype.size() <= size_of_val(&word), "a loop of elements that programs know");
    // SAFETY: the slice lies inside its buffer, and its element fits the word.
    unsafe {
        let from = storage.ptr().offset(slice.offset);
        (&raw mut word).cast::<u8>().copy_from_nonoverlapping(from, slice.dtype.size());
    }
    word
}

/// Evaluates a loop whose operands are all scalars.
fn evaluate(map: &Map) -> Option<u64> {
    let mut ins = [std::ptr::null::<u8>(); MAX_OPERANDS];
    for (ptr, argument) in ins.iter_mut().zip(&map.ins) {
        let MapOperand::Number(bits, _) = argument else { return None };
        *ptr = (&raw const *bits).cast();
    }
    let mut word = 0u64;
    assert!(map.out.dtype.size() <= size_of_val(&word), "a loop of elements that programs know");
    let (out, params) = ((&raw mut word).cast(), &map.params);
    // SAFETY: every operand holds one element of the loop's dtypes, and the word has room for the result.
    unsafe { LoopCall { f: map.table, ins: &ins, out, n: 1, params }.run() };
    Some(word)
}

/// Runs the steps that depend on constants only, and makes their outputs constants.
fn fold_arrays(steps: &mut Vec<Step>, buffers: &mut [Buffer]) {
    let folded = foldable(steps, buffers);
    let mut addresses: Vec<*mut u8> = buffers.iter().map(address).collect();
    let mut outputs: Vec<(usize, Storage)> = Vec::new();
    for (step, _) in steps.iter().zip(&folded).filter(|(_, folded)| **folded) {
        let out = step.writes[0].buffer as usize;
        if addresses[out].is_null() {
            let Ok(storage) = Storage::zeroed(buffers[out].nbytes) else { return };
            addresses[out] = storage.ptr();
            outputs.push((out, storage));
        }
        // SAFETY: the step reads constants and writes memory allocated here, at these addresses.
        if unsafe { run_step(step, &addresses, &mut Vec::new()) }.is_err() {
            return;
        }
    }
    for (buffer, storage) in outputs {
        buffers[buffer].source = Source::Constant(storage);
    }
    let mut is_folded = folded.into_iter();
    steps.retain(|_| !is_folded.next().unwrap_or(false));
}

fn address(buffer: &Buffer) -> *mut u8 {
    match &buffer.source {
        Source::Constant(storage) => storage.ptr(),
        _ => std::ptr::null_mut(),
    }
}

/// The steps to fold: they read constants and outputs of other folded steps, no other step writes their output, and
/// every reader comes after the last of them. Iterates until nothing changes.
fn foldable(steps: &[Step], buffers: &[Buffer]) -> Vec<bool> {
    // Buffers that other steps write, or read before they are folded.
    let mut not_foldable = vec![false; buffers.len()];
    loop {
        let mut outputs = vec![false; buffers.len()];
        let mut read = vec![false; buffers.len()];
        let mut changed = false;
        let mut folded = Vec::with_capacity(steps.len());
        for step in steps {
            let constant = |slice: &BufferView| {
                let b = slice.buffer as usize;
                matches!(buffers[b].source, Source::Constant(_)) || outputs[b] && !not_foldable[b]
            };
            let out = step.writes.first().map_or(0, |out| out.buffer as usize);
            let fold =
                is_pure(step, buffers) && !not_foldable[out] && step.reads.iter().all(constant);
            folded.push(fold);
            if fold {
                outputs[out] = true;
                not_foldable[out] = read[out];
                changed |= read[out];
                continue;
            }
            for written in &step.writes {
                let b = written.buffer as usize;
                changed |= outputs[b] && !not_foldable[b];
                not_foldable[b] = true;
            }
            step.reads.iter().for_each(|slice| read[slice.buffer as usize] = true);
        }
        if !changed {
            return folded;
        }
    }
}

/// Whether a step depends on its operands alone, and writes only small temporaries.
fn is_pure(step: &Step, buffers: &[Buffer]) -> bool {
    let pure =
        matches!(step.action, Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..));
    pure && step.writes.iter().all(|out| {
        let buffer = &buffers[out.buffer as usize];
        matches!(buffer.source, Source::Temporary) && buffer.nbytes <= MAX_CONSTANT_BYTES
    })
}

/// Replaces small strided constants by contiguous copies.
fn make_contiguous(steps: &mut [Step], buffers: &mut Vec<Buffer>) {
    let mut copies: HashMap<BufferView, BufferView> = HashMap::new();
    for step in steps {
        let has_strided =
            |map: &&Map| map.ins.iter().any(|argument| is_strided_constant(argument, buffers));
        let Some(map) = step.map().filter(has_strided) else {
            continue;
        };
        let mut contiguous = map.clone();
        for argument in &mut contiguous.ins {
            if !is_strided_constant(argument, buffers) {
                continue;
            }
            let MapOperand::BufferView(slice) = argument else { continue };
            let nbytes = slice.numel() * slice.dtype.size();
            let copy = match copies.get(slice) {
                Some(copy) => copy.clone(),
                None => match contiguous_copy(slice, nbytes, buffers) {
                    Ok(copy) => copy,
                    Err(_) => return,
                },
            };
            copies.insert(slice.clone(), copy.clone());
            *slice = copy;
        }
        *step = Step::from_map(step.name, contiguous);
    }
}

/// Whether an operand is a small constant that is not contiguous.
fn is_strided_constant(argument: &MapOperand, buffers: &[Buffer]) -> bool {
    let MapOperand::BufferView(slice) = argument else { return false };
    matches!(buffers[slice.buffer as usize].source, Source::Constant(_))
        && !slice.is_contiguous()
        && !slice.is_value()
        && slice.numel() * slice.dtype.size() <= MAX_CONSTANT_BYTES
}

/// A new constant with a contiguous copy of these elements.
fn contiguous_copy(
    slice: &BufferView,
    nbytes: usize,
    buffers: &mut Vec<Buffer>,
) -> Result<BufferView> {
    let storage = Storage::alloc(nbytes)?;
    let source = Source::Constant(storage);
    let copy = BufferView::contiguous(buffers.len() as BufferId, slice.dtype, &slice.dims);
    buffers.push(Buffer { source, nbytes });
    let (from, to) = (&buffers[slice.buffer as usize], &buffers[copy.buffer as usize]);
    let addresses = [address(from), address(to)];
    let (reads, writes) = (smallvec![slice.clone().within(0)], smallvec![copy.clone().within(1)]);
    let step = Step { name: "copy", reads, writes, action: Action::Copy };
    // SAFETY: the step reads a constant and writes memory allocated here, at these addresses.
    unsafe { run_step(&step, &addresses, &mut Vec::new())? };
    Ok(copy)
}

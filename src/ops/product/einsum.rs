//! Einstein summation: any product and sum of tensors whose axes are named by letters.
//!
//! Owns: the order of the pairwise contractions and their reduction to matrix products. Never reads the text:
//! that is `einsum_text`.
//! Invariant: an operand is a view with one axis per label; only the product of matrices and sums compute.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::multiplies_rows;
use crate::ops::core::arguments::Tensors;
use crate::ops::core::broadcast::{astype, permute_axes, reshape_dims, sum_over};
use crate::ops::core::elementwise::binary;
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::product::einsum_parse::{Label, Labels, Plan, plan};
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;

/// Elements behind the summed axis from which on a product for each index before it pays.
const WIDE: usize = 16;

/// A tensor with a different label on each axis.
#[derive(Clone)]
struct Part {
    x: Tensor,
    labels: Labels,
}

impl Part {
    /// An operand with repeated labels read along their diagonal, and without the axes of size 1 that broadcast.
    fn new(x: &Tensor, labels: &Labels, plan: &Plan) -> Result<Part> {
        let (mut labels, mut steps) = (Labels::from_slice(labels), Vec::new());
        while let Some((axis1, axis2)) = repeated(&labels) {
            steps.push(ViewStep::Diagonal { offset: 0, axis1, axis2 });
            let label = labels.remove(axis2);
            labels.remove(axis1);
            labels.push(label);
        }
        let x = if steps.is_empty() { x.clone() } else { view_through(x, "diagonal", steps)? };
        let (mut dims, mut kept) = (ShapeVec::new(), Labels::new());
        for (&label, &d) in labels.iter().zip(x.shape()) {
            if d == plan.size(label) {
                dims.push(d);
                kept.push(label);
            }
        }
        Ok(Part { x: reshape_dims(&x, &dims)?, labels: kept })
    }

    /// Summed over the labels that nobody asks for any more.
    fn summed(self, keep: impl Fn(Label) -> bool) -> Result<Part> {
        if self.labels.iter().all(|&label| keep(label)) {
            return Ok(self);
        }
        let axes: ShapeVec = (0..self.labels.len()).filter(|&i| !keep(self.labels[i])).collect();
        let x = astype(&sum_over(&self.x, &axes, false)?, self.x.dtype())?;
        Ok(Part { x, labels: self.labels.into_iter().filter(|&label| keep(label)).collect() })
    }

    /// The axes in the order of these labels, all of which it has.
    fn ordered(&self, labels: &[Label]) -> Result<Tensor> {
        if self.labels[..] == *labels {
            return Ok(self.x.clone());
        }
        let axes: ShapeVec =
            labels.iter().filter_map(|l| self.labels.iter().position(|k| k == l)).collect();
        permute_axes(&self.x, &axes)
    }

    /// Whether the summed labels are neighbours in memory behind all others, and their products have a loop.
    fn is_rows(&self, batch: &Labels, inner: &Labels) -> bool {
        let order = [&batch[..], &inner[..]].concat();
        self.labels[..] == order && self.x.is_contiguous() && multiplies_rows(self.x.dtype())
    }

    /// The axes in the order of these labels, with size 1 where it has none of the label.
    fn spread(&self, labels: &[Label], plan: &Plan) -> Result<Tensor> {
        let has = |label: &Label| self.labels.contains(label);
        let own: Labels = labels.iter().copied().filter(has).collect();
        let dims: ShapeVec =
            labels.iter().map(|l| if has(l) { plan.size(*l) } else { 1 }).collect();
        reshape_dims(&self.ordered(&own)?, &dims)
    }
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (1..labels.len()).find_map(|k| labels[..k].iter().position(|&l| l == labels[k]).map(|i| (i, k)))
}

/// Labels of several parts, one after the other.
fn joined<const N: usize>(parts: [&Labels; N]) -> Labels {
    let mut all = Labels::new();
    parts.into_iter().for_each(|part| all.extend_from_slice(part));
    all
}

/// The product of two parts, summed over the labels that `keep` does not want.
fn pair(a: Part, b: Part, plan: &Plan, keep: &dyn Fn(Label) -> bool) -> Result<Part> {
    let (own_a, own_b) = (Labels::from_slice(&a.labels), Labels::from_slice(&b.labels));
    let a = a.summed(|l| keep(l) || own_b.contains(&l))?;
    let b = b.summed(|l| keep(l) || own_a.contains(&l))?;
    let pick = |from: &Labels, want: &dyn Fn(Label) -> bool| {
        from.iter().copied().filter(|&l| want(l)).collect::<Labels>()
    };
    let batch = pick(&a.labels, &|l| own_b.contains(&l) && keep(l));
    let inner = pick(&a.labels, &|l| own_b.contains(&l) && !keep(l));
    let rows = pick(&a.labels, &|l| !own_b.contains(&l));
    let columns = pick(&b.labels, &|l| !own_a.contains(&l));
    if let Some(found) = around([&a, &b], &batch, &inner, plan)? {
        return Ok(found);
    }
    if let Some(found) = around([&b, &a], &batch, &inner, plan)? {
        return Ok(found);
    }
    let labels = joined([&batch, &rows, &columns]);
    let dots = rows.is_empty() && columns.is_empty() && !batch.is_empty();
    if inner.is_empty() || (dots && ![&a, &b].iter().all(|part| part.is_rows(&batch, &inner))) {
        let all = joined([&labels, &inner]);
        let x = binary(&MULTIPLY, &a.spread(&all, plan)?, &b.spread(&all, plan)?)?;
        return Part { x, labels: all }.summed(keep);
    }
    let lead = plan.dims(&batch);
    let matrix = |part: &Part, first: &Labels, second: &Labels| {
        let order = joined([&batch, first, second]);
        let mut dims = lead.clone();
        dims.push(plan.count(first));
        dims.push(plan.count(second));
        reshape_dims(&part.ordered(&order)?, &dims)
    };
    let x = product(&matrix(&a, &rows, &inner)?, &matrix(&b, &inner, &columns)?)?;
    Ok(Part { x: reshape_dims(&x, &plan.dims(&labels))?, labels })
}

/// The product where the summed labels of one part stand between others, and the other part has no label with it: a
/// matrix of the second times each matrix of the first, which is read where it lies.
fn around([a, b]: [&Part; 2], batch: &Labels, inner: &Labels, plan: &Plan) -> Result<Option<Part>> {
    let first = a.labels.iter().position(|l| inner.contains(l)).unwrap_or(0);
    let end = (first + inner.len()).min(a.labels.len());
    let (lead, middle, rest) = (&a.labels[..first], &a.labels[first..end], &a.labels[end..]);
    let run = middle.iter().all(|l| inner.contains(l)) && a.x.is_contiguous();
    let rest_size = plan.count(rest);
    if !batch.is_empty() || lead.is_empty() || inner.is_empty() || !run || rest_size < WIDE {
        return Ok(None);
    }
    let (middle, lead) = (Labels::from_slice(middle), Labels::from_slice(lead));
    let own: Labels = b.labels.iter().copied().filter(|l| !inner.contains(l)).collect();
    let size = plan.count(&middle);
    let left = reshape_dims(&b.ordered(&joined([&own, &middle]))?, &[plan.count(&own), size])?;
    let right = reshape_dims(&a.x, &[plan.count(&lead), size, rest_size])?;
    let labels = joined([&lead, &own, &Labels::from_slice(rest)]);
    let x = reshape_dims(&product(&left, &right)?, &plan.dims(&labels))?;
    Ok(Some(Part { x, labels }))
}

/// The two parts whose product takes the fewest multiplications; the earliest of equals.
fn cheapest(parts: &[Part], plan: &Plan) -> (usize, usize) {
    let cost = |i: usize, k: usize| {
        let both = parts[i]
            .labels
            .iter()
            .chain(parts[k].labels.iter().filter(|l| !parts[i].labels.contains(l)));
        both.map(|&l| plan.size(l) as f64).product::<f64>()
    };
    let pairs = (0..parts.len()).flat_map(|i| (i + 1..parts.len()).map(move |k| (i, k)));
    let best = pairs
        .min_by(|&(i, k), &(p, q)| cost(i, k).partial_cmp(&cost(p, q)).unwrap_or(Ordering::Equal));
    best.unwrap_or((0, 1))
}

crate::operations! { family "products" [float32];
    /// Einstein summation: `"ij,jk->ik"` names the axes of the operands and of the result; labels that the result leaves out are summed, a repeated label reads the diagonal, `...` broadcasts. Without `->`, labels that appear once are kept, in alphabetical order. Derivatives: the same summation with `g` in the operand's place.
    [numpy("einsum"), ignores(("optimize", None))]
    fn einsum(subscripts: String, operands: Tensors) -> Tensor {
        let plan = plan(&subscripts, operands)?;
        let common = operands.iter().skip(1).fold(operands[0].dtype(), |d, x| d.promote(x.dtype()));
        let dtype = if common == DType::Bool { DType::I64 } else { common };
        let mut parts = SmallVec::<[Part; 4]>::new();
        for (x, labels) in operands.iter().zip(&plan.inputs) {
            parts.push(Part::new(&astype(x, dtype)?, labels, &plan)?);
        }
        while parts.len() > 1 {
            let (i, k) = if parts.len() == 2 { (0, 1) } else { cheapest(&parts, &plan) };
            let (b, a) = (parts.remove(k), parts.remove(i));
            let wanted = |l: Label| plan.output.contains(&l) || parts.iter().any(|p| p.labels.contains(&l));
            let joined = pair(a, b, &plan, &wanted)?;
            parts.push(joined);
        }
        let whole = parts.remove(0).summed(|l| plan.output.contains(&l))?;
        astype(&whole.ordered(&plan.output)?, common)
    }
}

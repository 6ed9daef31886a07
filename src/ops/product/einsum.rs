//! `einsum`: pairwise contractions in the cheapest order, each reduced to a matrix product or a
//! broadcast product.
//!
//! `einsum_parse.rs` reads the subscripts. Invariant: an operand is a view with one axis per label;
//! only products and sums compute.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::has_row_dots;
use crate::ops::core::arguments::Tensors;
use crate::ops::core::broadcast::{astype, permute_axes, reshape_dims, sum_over};
use crate::ops::core::elementwise::binary;
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::product::einsum_parse::{EinsumPlan, Label, Labels, parse};
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;

/// Elements after the summed axis from which one product per leading index pays.
const MIN_REST_SIZE: usize = 16;

/// A tensor with a distinct label for each axis.
#[derive(Clone)]
struct LabelledTensor {
    x: Tensor,
    labels: Labels,
}

impl LabelledTensor {
    /// From an operand: takes diagonals of repeated labels and drops broadcast axes of size 1.
    fn new(x: &Tensor, labels: &Labels, plan: &EinsumPlan) -> Result<LabelledTensor> {
        let (mut labels, mut steps) = (Labels::from_slice(labels), Vec::new());
        while let Some((axis1, axis2)) = repeated_label(&labels) {
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
        Ok(LabelledTensor { x: reshape_dims(&x, &dims)?, labels: kept })
    }

    /// Sums over the labels that are not needed any more.
    fn sum_except(self, keep: impl Fn(Label) -> bool) -> Result<LabelledTensor> {
        if self.labels.iter().all(|&label| keep(label)) {
            return Ok(self);
        }
        let axes: ShapeVec = (0..self.labels.len()).filter(|&i| !keep(self.labels[i])).collect();
        let x = astype(&sum_over(&self.x, &axes, false)?, self.x.dtype())?;
        Ok(LabelledTensor {
            x,
            labels: self.labels.into_iter().filter(|&label| keep(label)).collect(),
        })
    }

    /// Permutes the axes to the order of these labels, all of which it has.
    fn permuted(&self, labels: &[Label]) -> Result<Tensor> {
        if self.labels[..] == *labels {
            return Ok(self.x.clone());
        }
        let axes: ShapeVec =
            labels.iter().filter_map(|l| self.labels.iter().position(|k| k == l)).collect();
        permute_axes(&self.x, &axes)
    }

    /// Whether the summed labels are the last ones and contiguous, and a dot product kernel exists.
    fn has_contiguous_rows(&self, batch: &Labels, inner: &Labels) -> bool {
        let order = [&batch[..], &inner[..]].concat();
        self.labels[..] == order && self.x.is_contiguous() && has_row_dots(self.x.dtype())
    }

    /// Permutes the axes to the order of these labels, with size 1 for labels it does not have.
    fn broadcast_to_labels(&self, labels: &[Label], plan: &EinsumPlan) -> Result<Tensor> {
        let has = |label: &Label| self.labels.contains(label);
        let own: Labels = labels.iter().copied().filter(has).collect();
        let dims: ShapeVec =
            labels.iter().map(|l| if has(l) { plan.size(*l) } else { 1 }).collect();
        reshape_dims(&self.permuted(&own)?, &dims)
    }
}

fn repeated_label(labels: &[Label]) -> Option<(usize, usize)> {
    (1..labels.len()).find_map(|k| labels[..k].iter().position(|&l| l == labels[k]).map(|i| (i, k)))
}

/// Concatenates labels.
fn concat_labels<const N: usize>(terms: [&Labels; N]) -> Labels {
    let mut all = Labels::new();
    terms.into_iter().for_each(|part| all.extend_from_slice(part));
    all
}

/// The product of two operands, summed over the labels that `keep` rejects.
fn contract_pair(
    a: LabelledTensor,
    b: LabelledTensor,
    plan: &EinsumPlan,
    keep: &dyn Fn(Label) -> bool,
) -> Result<LabelledTensor> {
    let (own_a, own_b) = (Labels::from_slice(&a.labels), Labels::from_slice(&b.labels));
    let a = a.sum_except(|l| keep(l) || own_b.contains(&l))?;
    let b = b.sum_except(|l| keep(l) || own_a.contains(&l))?;
    let pick = |from: &Labels, want: &dyn Fn(Label) -> bool| {
        from.iter().copied().filter(|&l| want(l)).collect::<Labels>()
    };
    let batch = pick(&a.labels, &|l| own_b.contains(&l) && keep(l));
    let inner = pick(&a.labels, &|l| own_b.contains(&l) && !keep(l));
    let rows = pick(&a.labels, &|l| !own_b.contains(&l));
    let columns = pick(&b.labels, &|l| !own_a.contains(&l));
    if let Some(found) = contract_middle([&a, &b], &batch, &inner, plan)? {
        return Ok(found);
    }
    if let Some(found) = contract_middle([&b, &a], &batch, &inner, plan)? {
        return Ok(found);
    }
    let labels = concat_labels([&batch, &rows, &columns]);
    let dots = rows.is_empty() && columns.is_empty() && !batch.is_empty();
    if inner.is_empty()
        || (dots && ![&a, &b].iter().all(|part| part.has_contiguous_rows(&batch, &inner)))
    {
        let all = concat_labels([&labels, &inner]);
        let x = binary(
            &MULTIPLY,
            &a.broadcast_to_labels(&all, plan)?,
            &b.broadcast_to_labels(&all, plan)?,
        )?;
        return LabelledTensor { x, labels: all }.sum_except(keep);
    }
    let lead = plan.dims(&batch);
    let matrix = |part: &LabelledTensor, first: &Labels, second: &Labels| {
        let order = concat_labels([&batch, first, second]);
        let mut dims = lead.clone();
        dims.push(plan.count(first));
        dims.push(plan.count(second));
        reshape_dims(&part.permuted(&order)?, &dims)
    };
    let x = product(&matrix(&a, &rows, &inner)?, &matrix(&b, &inner, &columns)?)?;
    Ok(LabelledTensor { x: reshape_dims(&x, &plan.dims(&labels))?, labels })
}

/// The product if the summed labels of `a` stand between others and the operands share no other
/// label: a matrix of `b` times each matrix of `a`, without permuting `a`.
fn contract_middle(
    [a, b]: [&LabelledTensor; 2],
    batch: &Labels,
    inner: &Labels,
    plan: &EinsumPlan,
) -> Result<Option<LabelledTensor>> {
    let first = a.labels.iter().position(|l| inner.contains(l)).unwrap_or(0);
    let end = (first + inner.len()).min(a.labels.len());
    let (lead, middle, rest) = (&a.labels[..first], &a.labels[first..end], &a.labels[end..]);
    let run = middle.iter().all(|l| inner.contains(l)) && a.x.is_contiguous();
    let rest_size = plan.count(rest);
    if !batch.is_empty() || lead.is_empty() || inner.is_empty() || !run || rest_size < MIN_REST_SIZE
    {
        return Ok(None);
    }
    let (middle, lead) = (Labels::from_slice(middle), Labels::from_slice(lead));
    let own: Labels = b.labels.iter().copied().filter(|l| !inner.contains(l)).collect();
    let size = plan.count(&middle);
    let left =
        reshape_dims(&b.permuted(&concat_labels([&own, &middle]))?, &[plan.count(&own), size])?;
    let right = reshape_dims(&a.x, &[plan.count(&lead), size, rest_size])?;
    let labels = concat_labels([&lead, &own, &Labels::from_slice(rest)]);
    let x = reshape_dims(&product(&left, &right)?, &plan.dims(&labels))?;
    Ok(Some(LabelledTensor { x, labels }))
}

/// The pair of operands whose product takes the fewest multiplications; the first of equals.
fn cheapest_pair(terms: &[LabelledTensor], plan: &EinsumPlan) -> (usize, usize) {
    let cost = |i: usize, k: usize| {
        let both = terms[i]
            .labels
            .iter()
            .chain(terms[k].labels.iter().filter(|l| !terms[i].labels.contains(l)));
        both.map(|&l| plan.size(l) as f64).product::<f64>()
    };
    let pairs = (0..terms.len()).flat_map(|i| (i + 1..terms.len()).map(move |k| (i, k)));
    let best = pairs
        .min_by(|&(i, k), &(p, q)| cost(i, k).partial_cmp(&cost(p, q)).unwrap_or(Ordering::Equal));
    best.unwrap_or((0, 1))
}

crate::operations! { family "products" [float32];
    /// Einstein summation: `"ij,jk->ik"` names the axes of the operands and of the result; labels that the result leaves out are summed, a repeated label reads the diagonal, `...` broadcasts. Without `->`, labels that appear once are kept, in alphabetical order. Derivatives: the same summation with `g` in the operand's place.
    [numpy("einsum"), ignores(("optimize", None))]
    fn einsum(subscripts: String, operands: Tensors) -> Tensor {
        let plan = parse(&subscripts, operands)?;
        let common = operands.iter().skip(1).fold(operands[0].dtype(), |d, x| d.promote(x.dtype()));
        let dtype = if common == DType::Bool { DType::I64 } else { common };
        let mut terms = SmallVec::<[LabelledTensor; 4]>::new();
        for (x, labels) in operands.iter().zip(&plan.inputs) {
            terms.push(LabelledTensor::new(&astype(x, dtype)?, labels, &plan)?);
        }
        while terms.len() > 1 {
            let (i, k) = if terms.len() == 2 { (0, 1) } else { cheapest_pair(&terms, &plan) };
            let (b, a) = (terms.remove(k), terms.remove(i));
            let wanted = |l: Label| plan.output.contains(&l) || terms.iter().any(|p| p.labels.contains(&l));
            let contracted = contract_pair(a, b, &plan, &wanted)?;
            terms.push(contracted);
        }
        let whole = terms.remove(0).sum_except(|l| plan.output.contains(&l))?;
        astype(&whole.permuted(&plan.output)?, common)
    }
}

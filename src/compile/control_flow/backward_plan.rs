//! Which backward program of the body each iteration of a backward loop runs, depending on the gradients that reach
//! it.

use smallvec::SmallVec;

use super::loop_forward::Loop;
use super::partial_backward::Way;

/// Bound on the backward programs of one body.
const MOST: usize = 16;

/// The backward programs of one backward loop.
pub struct BackwardPlan {
    pub(in crate::compile) variants: SmallVec<[Variant; 1]>,
    /// For each argument, then each closure: the index of its gradient among the gradients of the loop.
    pub(in crate::compile) places: Vec<Option<usize>>,
}

/// An iteration with a given set of cotangents.
pub(in crate::compile) struct Variant {
    /// Which cotangents are present.
    given: Vec<bool>,
    pub(in crate::compile) way: Way,
    /// The arguments and closures whose gradients it computes.
    pub(in crate::compile) derived: Vec<usize>,
    /// The variant of the iteration before it.
    pub(in crate::compile) next: usize,
}

impl BackwardPlan {
    /// For each argument and each closure, whether the loop computes its gradient.
    pub fn gradients(&self) -> impl Iterator<Item = bool> + '_ {
        self.places.iter().map(Option::is_some)
    }

    /// Whether some iteration computes no gradient of this target.
    pub(in crate::compile) fn misses(&self, target: usize) -> bool {
        self.variants.iter().any(|variant| !variant.derived.contains(&target))
    }

    fn of(of: &Loop, variants: SmallVec<[Variant; 1]>) -> BackwardPlan {
        let (carries, mut there) = (of.parts.carries, vec![false; of.parts.grads.len()]);
        let known = of.parts.condition.is_none().then_some(of.parts.length);
        let (mut at, mut last) = (0, 0);
        // Later iterations repeat one of these variants.
        for _ in 0..known.unwrap_or(usize::MAX).min(2 * variants.len()) {
            variants[at].derived.iter().for_each(|&target| there[target] = true);
            at = variants[at].next;
        }
        if let Some(count) = known {
            at = 0;
            (0..count).for_each(|_| (last, at) = (at, variants[at].next));
            let end = &variants[last].derived;
            (0..carries).for_each(|target| there[target] = end.contains(&target));
        }
        let mut next = 0..;
        let place = |there: bool| if there { next.next() } else { None };
        let places = there.into_iter().map(place).collect();
        BackwardPlan { variants, places }
    }
}

impl Loop {
    /// The plan for a backward pass with these cotangents of the results that require grad; `None` means all of them,
    /// in every iteration. Returns `None` if the trace does not determine the programs.
    pub fn backward_plan(&self, given: Option<&[bool]>) -> Option<BackwardPlan> {
        let mut variants: SmallVec<[Variant; 1]> = SmallVec::new();
        let Some(given) = given else {
            variants.push(self.variant(vec![true; self.histories().count()])?);
            return Some(BackwardPlan::of(self, variants));
        };
        let mut wanted = given.to_vec();
        loop {
            let mut variant = self.variant(wanted.clone())?;
            for (number, result) in self.histories().enumerate() {
                if result < self.parts.carries {
                    wanted[number] = variant.derived.contains(&result);
                }
            }
            let known = variants.iter().position(|known| known.given == wanted);
            let own = (variant.given == wanted).then_some(variants.len());
            variant.next = known.or(own).unwrap_or(variants.len() + 1);
            variants.push(variant);
            if known.or(own).is_some() {
                return Some(BackwardPlan::of(self, variants));
            }
            if variants.len() == MOST {
                return None;
            }
        }
    }

    /// The variant for these cotangents; `None` if there is no program.
    fn variant(&self, given: Vec<bool>) -> Option<Variant> {
        let way = Way::of(&self.parts.body, &given)?;
        let has = |number: &Option<usize>| number.is_some_and(|n| way.numbers.contains(&n));
        let derived = (0..).zip(&self.parts.grads).filter(|(_, number)| has(number));
        let derived = derived.map(|(target, _)| target).collect();
        Some(Variant { given, way, derived, next: 0 })
    }
}

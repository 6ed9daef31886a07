//! Which backward program each iteration of a backward loop runs: that for the gradients that come to it.
//!
//! Owns: those programs, found once for a pass. Never runs one. Invariant: an iteration takes no gradient that a pass through
//! iterations in Python would not have.

use smallvec::SmallVec;

use super::loop_forward::Loop;
use super::partial_backward::Way;

/// More ways for gradients through a body than this are not worth a program each.
const MOST: usize = 16;

/// The backward programs of a pass.
pub struct BackwardPlan {
    pub(in crate::compile) variants: SmallVec<[Variant; 1]>,
    /// For each argument and each closure, the number of its gradient among those that the pass gives.
    pub(in crate::compile) places: Vec<Option<usize>>,
}

/// An iteration to which certain gradients come.
pub(in crate::compile) struct Variant {
    /// Which results have one.
    given: Vec<bool>,
    pub(in crate::compile) way: Way,
    /// The arguments and closures that it gives gradients of.
    pub(in crate::compile) derived: Vec<usize>,
    /// What the iteration before it is.
    pub(in crate::compile) next: usize,
}

impl BackwardPlan {
    /// For each argument and each closure, whether the pass gives its gradient.
    pub fn gradients(&self) -> impl Iterator<Item = bool> + '_ {
        self.places.iter().map(Option::is_some)
    }

    /// Whether some iteration may give no gradient of a target.
    pub(in crate::compile) fn misses(&self, target: usize) -> bool {
        self.variants.iter().any(|variant| !variant.derived.contains(&target))
    }

    fn of(of: &Loop, variants: SmallVec<[Variant; 1]>) -> BackwardPlan {
        let (carries, mut there) = (of.parts.carries, vec![false; of.parts.grads.len()]);
        let known = of.parts.condition.is_none().then_some(of.parts.length);
        let (mut at, mut last) = (0, 0);
        // Later iterations are like some of these.
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
    /// The programs for a pass in which these of the results with a history have a gradient; without them, every result has
    /// one in every iteration. None where there are no such programs.
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

    /// An iteration to which these gradients come; none where there is no program for it.
    fn variant(&self, given: Vec<bool>) -> Option<Variant> {
        let way = Way::of(&self.parts.body, &given)?;
        let has = |number: &Option<usize>| number.is_some_and(|n| way.numbers.contains(&n));
        let derived = (0..).zip(&self.parts.grads).filter(|(_, number)| has(number));
        let derived = derived.map(|(target, _)| target).collect();
        Some(Variant { given, way, derived, next: 0 })
    }
}

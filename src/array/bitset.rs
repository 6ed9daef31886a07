//! A set of positions as bits.

/// A set of bits, 64 to a word.
#[derive(Clone)]
pub(super) struct BitSet(Vec<u64>);

/// The bits from `low` to below `high` of a word.
fn mask(low: usize, high: usize) -> u64 {
    let below = |n: usize| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    below(high) & !below(low)
}

impl BitSet {
    /// As many bits, all set or none.
    pub(super) fn new(len: usize, set: bool) -> BitSet {
        BitSet(vec![if set { u64::MAX } else { 0 }; len.div_ceil(64)])
    }

    /// Calls `f` with each word that a run of bits touches, and the mask of the run in it.
    fn words(&mut self, start: usize, len: usize, mut f: impl FnMut(&mut u64, u64)) {
        let (end, mut at) = (start + len, start);
        while at < end {
            let word = at / 64;
            let next = ((word + 1) * 64).min(end);
            if let Some(bits) = self.0.get_mut(word) {
                f(bits, mask(at - word * 64, next - word * 64));
            }
            at = next;
        }
    }

    /// Sets a run of bits.
    pub(super) fn set(&mut self, start: usize, len: usize) {
        self.words(start, len, |word, mask| *word |= mask);
    }

    /// Clears a run of bits.
    pub(super) fn clear(&mut self, start: usize, len: usize) {
        self.words(start, len, |word, mask| *word &= !mask);
    }

    /// The bits of a run that are set, as runs of neighbours behind those in `found`.
    pub(super) fn runs_set(&self, start: usize, len: usize, found: &mut Vec<(usize, usize)>) {
        let (end, mut at) = (start + len, start);
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let bits = self.0.get(word).copied().unwrap_or(0) >> bit;
            if bits == 0 {
                at = (word + 1) * 64;
                continue;
            }
            at += bits.trailing_zeros() as usize;
            let ones = (bits >> bits.trailing_zeros()).trailing_ones() as usize;
            // A run of ones ends with its word; the next one goes on.
            let ones = ones.min((word + 1) * 64 - at).min(end.saturating_sub(at));
            if ones == 0 {
                break;
            }
            match found.last_mut() {
                Some((first, n)) if *first + *n == at => *n += ones,
                _ => found.push((at, ones)),
            }
            at += ones;
        }
    }

    /// The same positions, each of which is now `k` bits.
    pub(super) fn refined(&self, len: usize, k: usize) -> BitSet {
        let mut runs = Vec::new();
        self.runs_set(0, len, &mut runs);
        let mut bits = BitSet::new(len * k, false);
        runs.iter().for_each(|&(start, n)| bits.set(start * k, n * k));
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn runs_are_those_that_were_set() {
        let mut bits = BitSet::new(300, false);
        bits.set(3, 100);
        bits.set(190, 5);
        bits.clear(50, 2);
        let mut found = Vec::new();
        bits.runs_set(0, 300, &mut found);
        assert_eq!(found, [(3, 47), (52, 51), (190, 5)]);
        let mut part = Vec::new();
        bits.runs_set(60, 132, &mut part);
        assert_eq!(part, [(60, 43), (190, 2)]);
        let mut finer = Vec::new();
        bits.refined(300, 2).runs_set(0, 600, &mut finer);
        assert_eq!(finer, [(6, 94), (104, 102), (380, 10)]);
    }

    #[test]
    fn all_bits_are_one_run() {
        let mut found = Vec::new();
        BitSet::new(130, true).runs_set(0, 130, &mut found);
        assert_eq!(found, [(0, 130)]);
    }
}

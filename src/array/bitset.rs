//! A bit set with operations on runs of bits.

/// Bits, 64 to a word.
#[derive(Clone)]
pub(super) struct BitSet(Vec<u64>);

/// A word with the bits `low..high` set.
fn mask(low: usize, high: usize) -> u64 {
    let below = |n: usize| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    below(high) & !below(low)
}

impl BitSet {
    /// `len` bits, all set or all clear.
    pub(super) fn new(len: usize, set: bool) -> BitSet {
        BitSet(vec![if set { u64::MAX } else { 0 }; len.div_ceil(64)])
    }

    /// Calls `f` with each word that a run of bits touches, and the mask of the run in that word.
    fn for_each_word(&mut self, start: usize, len: usize, mut f: impl FnMut(&mut u64, u64)) {
        let (end, mut position) = (start + len, start);
        while position < end {
            let word = position / 64;
            let next = ((word + 1) * 64).min(end);
            if let Some(bits) = self.0.get_mut(word) {
                f(bits, mask(position - word * 64, next - word * 64));
            }
            position = next;
        }
    }

    /// Sets a run of bits.
    pub(super) fn set(&mut self, start: usize, len: usize) {
        self.for_each_word(start, len, |word, mask| *word |= mask);
    }

    /// Clears a run of bits.
    pub(super) fn clear(&mut self, start: usize, len: usize) {
        self.for_each_word(start, len, |word, mask| *word &= !mask);
    }

    /// Appends the set bits of a range to `found` as maximal runs (start, length).
    pub(super) fn append_set_runs(
        &self,
        start: usize,
        len: usize,
        found: &mut Vec<(usize, usize)>,
    ) {
        let (end, mut position) = (start + len, start);
        while position < end {
            let (word, bit) = (position / 64, position % 64);
            let bits = self.0.get(word).copied().unwrap_or(0) >> bit;
            if bits == 0 {
                position = (word + 1) * 64;
                continue;
            }
            position += bits.trailing_zeros() as usize;
            let ones = (bits >> bits.trailing_zeros()).trailing_ones() as usize;
            // A run of ones ends at its word's end; the next round of the loop joins its continuation.
            let ones = ones.min((word + 1) * 64 - position).min(end.saturating_sub(position));
            if ones == 0 {
                break;
            }
            match found.last_mut() {
                Some((first, n)) if *first + *n == position => *n += ones,
                _ => found.push((position, ones)),
            }
            position += ones;
        }
    }

    /// The set in units `k` times finer: bit `i` becomes the bits `k * i .. k * (i + 1)`.
    pub(super) fn refined(&self, len: usize, k: usize) -> BitSet {
        let mut runs = Vec::new();
        self.append_set_runs(0, len, &mut runs);
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
        bits.append_set_runs(0, 300, &mut found);
        assert_eq!(found, [(3, 47), (52, 51), (190, 5)]);
        let mut part = Vec::new();
        bits.append_set_runs(60, 132, &mut part);
        assert_eq!(part, [(60, 43), (190, 2)]);
        let mut finer = Vec::new();
        bits.refined(300, 2).append_set_runs(0, 600, &mut finer);
        assert_eq!(finer, [(6, 94), (104, 102), (380, 10)]);
    }

    #[test]
    fn all_bits_are_one_run() {
        let mut found = Vec::new();
        BitSet::new(130, true).append_set_runs(0, 130, &mut found);
        assert_eq!(found, [(0, 130)]);
    }
}

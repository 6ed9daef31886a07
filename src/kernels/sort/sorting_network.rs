//! Sorting networks for numbers that fit sixteen AVX-512 registers.
//!
//! Invariant: the bits of the numbers stay: zeros of either sign are kept.

/// Compare-exchange: puts the smaller of two registers into the first and the greater into the second, lane
/// by lane. For equals (zeros of either sign) min and max return their second operand, so that both bit
/// patterns stay.
macro_rules! exchanges {
    ($v:ident $min:ident $max:ident; $($a:literal $b:literal),*) => {$(
        if $b < R {
            let (a, b) = ($v[$a], $v[$b]);
            ($v[$a], $v[$b]) = ($min(a, b), $max(b, a));
        }
    )*};
}

/// The same with the second register permuted first; it stays permuted.
macro_rules! flips {
    ($v:ident $min:ident $max:ident $permute:ident $mirror:ident; $($a:literal $b:literal),*) => {$(
        if $b < R {
            let (a, b) = ($v[$a], $permute($mirror, $v[$b]));
            ($v[$a], $v[$b]) = ($min(a, b), $max(b, a));
        }
    )*};
}

/// The same for the lanes of each register and their partners: the lanes of the mask get the greater number.
macro_rules! lanes {
    ($v:ident $min:ident $max_where:ident $permute:ident $partners:expr, $greater:literal; $($a:literal)*) => {
        let partners = $partners;
        $(if $a < R {
            let (a, b) = ($v[$a], $permute(partners, $v[$a]));
            $v[$a] = $max_where($min(a, b), $greater as _, a, b);
        })*
    };
}

/// Bitonic merge of adjacent sequences of lanes, each sorted register by register: first across registers,
/// with the lanes of the second sequence mirrored, then within registers.
macro_rules! merge {
    ($v:ident $min:ident $max:ident $max_where:ident $permute:ident $mirror:expr; $($bits:literal $greater:literal),*) => {
        let mirror = $mirror;
        flips!($v $min $max $permute mirror;
            7 8, 6 9, 5 10, 4 11, 3 12, 2 13, 1 14, 0 15, 3 4, 2 5, 1 6, 0 7, 11 12, 10 13, 9 14, 8 15,
            1 2, 0 3, 5 6, 4 7, 9 10, 8 11, 13 14, 12 15, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15);
        $(lanes!($v $min $max_where $permute partners($bits), $greater; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);)*
    };
}

/// Declares `network`, `sort_small` and their helpers for a module with `L` lanes and numbers up to
/// `INFINITY`.
macro_rules! vector_network {
    ($t:ty, $v:ty, $mask:ty, $features:literal,
     $min:ident $max:ident $max_where:ident $all:ident $permute:ident $load:ident $store:ident) => {
        /// The mask of the first `n` lanes.
        #[inline(always)]
        fn first(n: usize) -> $mask {
            ((1u32 << n.min(L)) - 1) as $mask
        }

        /// The multiples of a number, one per lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn multiples(of: usize) -> __m512i {
            if L == 8 {
                let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
                return _mm512_mullo_epi64(lanes, _mm512_set1_epi64(of as _));
            }
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_mullo_epi32(lanes, _mm512_set1_epi32(of as _))
        }

        /// The partner of each lane in an exchange.
        #[inline]
        #[target_feature(enable = $features)]
        fn partners(bits: usize) -> __m512i {
            let bits = if L == 8 { _mm512_set1_epi64(bits as _) } else { _mm512_set1_epi32(bits as _) };
            _mm512_xor_si512(multiples(1), bits)
        }

        /// Sorts numbers that fit `R` registers, in place or to other memory: each lane across the registers
        /// by Green's network, without the comparators beyond `R`, and then adjacent lanes are merged.
        ///
        /// # Safety
        /// Both places hold the numbers, and the CPU has the features.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn network<const R: usize>(from: *const $t, to: *mut $t, n: usize) {
            let mut v = [$all(INFINITY); 16];
            for (k, v) in v.iter_mut().enumerate().take(R) {
                let valid = first(n.saturating_sub(k * L));
                // SAFETY: the loaded lanes are numbers.
                *v = unsafe { $load($all(INFINITY), valid, from.add(k * L).cast()) };
            }
            exchanges!(v $min $max;
                0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15,
                0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,
                5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4, 7 13, 2 8, 11 14, 2 4, 5 6, 9 10, 11 13, 3 8, 7 12,
                6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9 10, 11 12, 6 7, 8 9);
            merge!(v $min $max $max_where $permute partners(1); 1 0xaaaa_u16);
            merge!(v $min $max $max_where $permute partners(3); 3 0xcccc_u16, 1 0xaaaa_u16);
            merge!(v $min $max $max_where $permute partners(7); 7 0xf0f0_u16, 2 0xcccc_u16, 1 0xaaaa_u16);
            if L == 16 {
                merge!(v $min $max $max_where $permute partners(15);
                    15 0xff00_u16, 4 0xf0f0_u16, 2 0xcccc_u16, 1 0xaaaa_u16);
            }
            for (k, &v) in v.iter().enumerate().take(R) {
                // Without empty stores: later loads from there would wait for them.
                if k * L < n {
                    // SAFETY: as above.
                    unsafe { $store(to.add(k * L).cast(), first(n - k * L), v) };
                }
            }
        }

        /// Sorts at most `NETWORK_NUMBERS` numbers, in place or to other memory.
        ///
        /// # Safety
        /// As `network`.
        #[target_feature(enable = $features)]
        unsafe fn sort_small(from: *const $t, to: *mut $t, n: usize) {
            // SAFETY: the caller's contract.
            unsafe {
                match n.div_ceil(2 * L) {
                    0 | 1 => network::<2>(from, to, n),
                    2 => network::<4>(from, to, n),
                    3 | 4 => network::<8>(from, to, n),
                    5 | 6 => network::<12>(from, to, n),
                    _ => network::<16>(from, to, n),
                }
            }
        }
    };
}
pub(super) use {exchanges, flips, lanes, merge, vector_network};

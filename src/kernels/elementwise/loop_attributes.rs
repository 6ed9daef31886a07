//! `LoopAttributes`: properties of a formula that decide which loops it gets. `loop_table!` takes them in brackets after the
//! domain.

use super::complex_loops::{self, CarefulAngles, CarefulRange, CarefulWhen, NeverCareful};
use super::loop_table::LoopTable;
use super::loops::{self, Formula, FullRange, Predicate};

/// The attributes of a formula. The name of an attribute in a declaration is the method that sets it.
#[derive(Clone, Copy, Debug)]
pub struct LoopAttributes {
    /// Which arguments need the slower evaluation that is accurate for all of them.
    pub full_range: FullRange,
    calls: bool,
    memory_bound: bool,
    /// Which complex arguments need `CAREFUL` lanes; None if the formula does not hold for them.
    complex: Option<CarefulWhen>,
    complex64: bool,
    avx512: bool,
}

impl LoopAttributes {
    /// A formula of floats.
    pub const FLOAT: LoopAttributes = LoopAttributes {
        full_range: FullRange::Never,
        calls: false,
        memory_bound: false,
        complex: None,
        complex64: false,
        avx512: false,
    };
    /// A formula of floats and of complex numbers.
    pub const COMPLEX: LoopAttributes =
        LoopAttributes { complex: Some(CarefulWhen::Range), ..LoopAttributes::FLOAT };

    /// It takes sin, cos or tan: large angles are reduced exactly.
    pub const fn angles(self) -> LoopAttributes {
        LoopAttributes { full_range: FullRange::LargeAngles, ..self }
    }

    /// It is the remainder of its two operands: large quotients are reduced exactly.
    pub const fn quotients(self) -> LoopAttributes {
        LoopAttributes { full_range: FullRange::LargeQuotients, ..self }
    }

    /// It is the inverse error function: arguments near the ends of its domain have another polynomial.
    pub const fn ends(self) -> LoopAttributes {
        LoopAttributes { full_range: FullRange::DomainEnds, ..self }
    }

    /// It calls scalar library functions: nothing vectorises, and one loop serves every instruction-set level.
    pub const fn calls(self) -> LoopAttributes {
        LoopAttributes { calls: true, ..self }
    }

    /// Memory bandwidth limits it: AVX-512 would not be faster, so that level uses the loops of AVX2.
    pub const fn memory_bound(self) -> LoopAttributes {
        LoopAttributes { memory_bound: true, ..self }
    }

    /// It consists of sums and products of complex numbers: none needs `CAREFUL` lanes. It gets loops of complex64.
    pub const fn ring(self) -> LoopAttributes {
        LoopAttributes { complex: Some(CarefulWhen::Never), complex64: true, ..self }
    }

    /// It takes exponentials or trigonometric functions of complex numbers: large angles need `CAREFUL` lanes.
    pub const fn exponential(self) -> LoopAttributes {
        LoopAttributes { complex: Some(CarefulWhen::Angles), ..self }
    }

    /// It gets loops of complex64; without them, complex64 computes in complex128.
    pub const fn complex64(self) -> LoopAttributes {
        LoopAttributes { complex64: true, ..self }
    }

    /// Complex128 gets an AVX-512 loop; without it, AVX-512 uses that of AVX2.
    pub const fn avx512(self) -> LoopAttributes {
        LoopAttributes { avx512: true, ..self }
    }

    /// The loops of a formula with a value.
    pub const fn table<K: Formula<N, P>, const N: usize, const P: usize>(self) -> LoopTable {
        let mut table = match self.calls {
            true => loops::call_table::<K, N, P>(),
            false => loops::float_table::<K, N, P>(),
        };
        if let Some(careful) = self.complex {
            table.c128 = match careful {
                CarefulWhen::Never => complex_loops::complex128_loops::<K, NeverCareful, N, P>(),
                CarefulWhen::Range => complex_loops::complex128_loops::<K, CarefulRange, N, P>(),
                CarefulWhen::Angles => complex_loops::complex128_loops::<K, CarefulAngles, N, P>(),
            };
            table.c64 = match careful {
                _ if !self.complex64 => None,
                CarefulWhen::Never => complex_loops::complex64_loops::<K, NeverCareful, N, P>(),
                CarefulWhen::Range => complex_loops::complex64_loops::<K, CarefulRange, N, P>(),
                CarefulWhen::Angles => complex_loops::complex64_loops::<K, CarefulAngles, N, P>(),
            };
        }
        if let (true, Some(levels)) = (self.avx512, &mut table.c128) {
            levels[2] = complex_loops::complex128_avx512_loop::<K, N, P>();
        }
        self.limit_levels(table)
    }

    /// The loops of a formula whose result is a mask.
    pub const fn mask_table<K: Predicate<N>, const N: usize>(self) -> LoopTable {
        let mut table = loops::mask_table::<K, N>();
        if self.complex.is_some() {
            [table.c128, table.c64] = complex_loops::mask_loops::<K, N>();
        }
        self.limit_levels(table)
    }

    /// AVX-512 uses the loops of AVX2 where memory limits the formula.
    const fn limit_levels(self, mut table: LoopTable) -> LoopTable {
        if self.memory_bound {
            (table.f64[2], table.f32[2]) = (table.f64[1], table.f32[1]);
        }
        table
    }
}

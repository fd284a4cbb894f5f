//! Which of the vector units of the running machine the kernels use: the best one, or the one that was asked for. Knows
//! the CPU; nothing of what is computed.

use std::sync::atomic::{AtomicU8, Ordering};

use pulp::{Scalar128b, WithSimd};

/// A set of vector units that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kernel {
    /// What every CPU of the platform has.
    Portable = 1,
    /// AVX2 and FMA.
    Avx2 = 2,
    /// AVX-512.
    Avx512 = 3,
    /// AVX-512 with products of bf16 pairs.
    Bf16 = 4,
}

/// The kernel in use; 0 before anyone asked.
static CURRENT: AtomicU8 = AtomicU8::new(0);

impl Kernel {
    /// All kernels, the slowest first.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Bf16];

    /// As settings and messages name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Bf16 => "bf16",
        }
    }

    /// The kernel of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// Whether this CPU can run it.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => pulp::x86::V4::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Bf16 => Self::Avx512.is_here() && super::avx512::Unit::find().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 | Self::Bf16 => false,
        }
    }

    /// The kernels that this CPU can run, the slowest first.
    pub fn here() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kernel| kernel.is_here())
    }

    /// The kernel in use.
    #[must_use]
    pub fn current() -> Self {
        match CURRENT.load(Ordering::Relaxed) {
            1 => Self::Portable,
            2 => Self::Avx2,
            3 => Self::Avx512,
            4 => Self::Bf16,
            _ => {
                let best = Self::here().last().unwrap_or(Self::Portable);
                CURRENT.store(best as u8, Ordering::Relaxed);
                best
            }
        }
    }

    /// Uses this kernel from now on, in the whole process; false, and nothing changes, when this CPU lacks it.
    pub fn force(self) -> bool {
        let here = self.is_here();
        if here {
            CURRENT.store(self as u8, Ordering::Relaxed);
        }
        here
    }
}

/// Runs a loop compiled for the vector units in use. The work must be `#[inline(always)]`, or it is compiled for none.
#[inline(always)]
pub(in crate::rank) fn wide<R>(work: impl FnOnce() -> R) -> R {
    dispatch(work)
}

/// Runs an operation with the vectors in use: of 16, 8 or 4 numbers.
#[inline(always)]
pub(super) fn dispatch<Op: WithSimd>(operation: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use pulp::Simd;
        use pulp::x86::{V3, V4};
        let kernel = Kernel::current();
        if kernel >= Kernel::Avx512
            && let Some(unit) = V4::try_new()
        {
            return Simd::vectorize(unit, operation);
        }
        if kernel >= Kernel::Avx2
            && let Some(unit) = V3::try_new()
        {
            return Simd::vectorize(unit, operation);
        }
    }
    operation.with_simd(Scalar128b)
}

/// Runs a check on every kernel of this CPU. Which one is in use is known to the whole process, so one check at a time.
#[cfg(test)]
pub(in crate::rank) fn on_every_kernel(check: impl Fn(Kernel)) {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = Kernel::current();
    for kernel in Kernel::here() {
        assert!(kernel.force());
        check(kernel);
    }
    assert!(before.force());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_its_name_and_one_that_is_not_there_changes_nothing() {
        for kernel in Kernel::ALL {
            assert_eq!(Kernel::named(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::named("sse9"), None);
        assert_eq!(Kernel::here().next(), Some(Kernel::Portable));
        on_every_kernel(|kernel| {
            assert_eq!(Kernel::current(), kernel);
            for missing in Kernel::ALL.into_iter().filter(|kernel| !kernel.is_here()) {
                assert!(!missing.force());
                assert_eq!(Kernel::current(), kernel);
            }
        });
    }
}

//! How precisely a network is computed. Knows the choices and which of them this CPU has; nothing of networks.

use super::Kernel;

/// Which numbers enter the matrix products of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// f32.
    #[default]
    Exact,
    /// bf16, with sums in f32.
    Fast,
}

impl Precision {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Exact, Self::Fast];

    /// As flags, messages and keys name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fast => "fast",
        }
    }

    /// The choice of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// Fast where the kernel in use is faster in bf16 than in f32, else exact.
    #[must_use]
    pub fn quickest() -> Self {
        if Kernel::current() == Kernel::Bf16 { Self::Fast } else { Self::Exact }
    }
}

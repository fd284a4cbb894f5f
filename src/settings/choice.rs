//! The names that some knobs choose from, one type a knob. Knows the names in flags and traces; nothing of what they do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }
        impl $name {
            /// All values with their names, in the order in which a key steps through them.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($text, Self::$variant)),+];
            /// The names alone.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
            /// The name of this value.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or(())
            }
        }
    };
}

choices! {
    /// Which words of the question become terms.
    TermForm {
        /// The word as written.
        Surface = "surface",
        /// Its lemma.
        Lemma = "lemma",
        /// Either of the two counts as a match.
        Both = "both",
    }
}
choices! {
    /// How a name of several words is searched.
    Names {
        /// Word by word; the name counts as the sum of its words.
        Tokens = "tokens",
        /// Only as one phrase.
        Phrase = "phrase",
        /// As a phrase and word by word.
        Both = "both",
    }
}
choices! {
    /// What a passage is.
    Unit {
        /// One turn, `Speaker: text`.
        Turn = "turn",
        /// Two turns that follow each other, without overlap.
        Window = "window",
        /// One turn without the speaker's name.
        TurnText = "turn-text",
        /// A whole session.
        Session = "session",
    }
}
choices! {
    /// What counts as an occurrence of a term.
    Matching {
        /// The term anywhere, also inside a word.
        Substring = "substring",
        /// The term as a whole word.
        Word = "word",
    }
}
choices! {
    /// What happens with image captions.
    Captions {
        /// Left out.
        Off = "off",
        /// Matched and ranked, but not sent to the answer model and not counted.
        Match = "match",
        /// Matched, ranked, sent and counted.
        Render = "render",
    }
}
choices! {
    /// When names found in hop 1 are searched in hop 2.
    Discovery {
        /// Never.
        Never = "never",
        /// When the question itself has no named entity.
        NoEntity = "no-entity",
        /// When hop 1 found fewer than `discovery-floor` candidates.
        Few = "few",
        /// Always.
        Always = "always",
    }
}
choices! {
    /// When pseudo-relevance feedback runs.
    Prf {
        /// When the history is longer than `prf-words`.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}
choices! {
    /// How a passage of several turns gets its vector scores (second paper).
    Pooler {
        /// Its whole text is read as one, as far as the model reads.
        Text = "text",
        /// Cosine with the mean of the turns' vectors (early interaction).
        Mean = "mean",
        /// The best cosine of a turn (late interaction).
        Max = "max",
        /// Mean of the three best cosines.
        Top3 = "top3",
        /// A soft maximum: the logarithm of the sum of exp(10 cosine), over 10.
        Lse10 = "lse10",
        /// The best token MaxSim of a turn.
        Token = "token",
    }
}
choices! {
    /// Which form of BM25.
    Bm25Form {
        /// Classic, k1 1.5 and b 0.75.
        Classic = "classic",
        /// BM25L, which lifts long passages: δ 0.5.
        L = "l",
    }
}
choices! {
    /// How the rankings become one order.
    Fusion {
        /// Reciprocal rank fusion of cross-encoder and ColBERT (first paper).
        Rrf = "rrf",
        /// λ z(BM25) + (1-λ) z(dense), dense = token MaxSim (second paper, with our dense score).
        Z = "z",
        /// Reciprocal rank fusion of cross-encoder, ColBERT and BM25, equal weights. Tried and rejected by the paper.
        Rrf3 = "rrf3",
        /// w x min-max(CE) + (1-w) x min-max(ColBERT). Tried and rejected by the paper.
        MinMax = "minmax",
        /// w x z(CE) + (1-w) x z(ColBERT). Tried and rejected by the paper.
        ScoreZ = "score-z",
        /// The cross-encoder alone.
        Ce = "ce",
        /// ColBERT alone.
        Colbert = "colbert",
        /// The sentence vector alone.
        Dense = "dense",
        /// Match score: unranked, best match first.
        Match = "match",
        /// Conversation order: unranked.
        Order = "order",
    }
}
choices! {
    /// How the fused order is cut.
    Truncation {
        /// The top n, then α, then the budget as a cap.
        Adaptive = "adaptive",
        /// The budget alone.
        Fixed = "fixed",
        /// Keep until the share of the total score reaches p, then the budget. Tried and rejected by the paper.
        Cumulative = "cumulative",
        /// Reorder the top n by maximal marginal relevance, then the budget. Tried and rejected by the paper.
        Mmr = "mmr",
    }
}
choices! {
    /// What happens at the first passage that does not fit.
    Overflow {
        /// Stop there.
        Stop = "stop",
        /// Skip it and go on with the next.
        Skip = "skip",
        /// Keep it and stop behind it.
        Keep = "keep",
    }
}
choices! {
    /// Whether the words of `[date]` count.
    Header {
        /// On every passage.
        Counted = "counted",
        /// Nowhere.
        Free = "free",
        /// Once for every session.
        PerSession = "per-session",
    }
}

impl Fusion {
    /// True when the order depends on the cross-encoder.
    pub fn reads_ce(self) -> bool {
        matches!(self, Self::Rrf | Self::Rrf3 | Self::MinMax | Self::ScoreZ | Self::Ce)
    }
}

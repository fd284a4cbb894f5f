//! The ablation grid of the first paper's pipeline: settings that differ in one thing from the published one, with what was
//! measured for them before. A table of names, knobs and references; computes nothing.

/// One configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ablation {
    /// What is changed.
    pub name: &'static str,
    /// The knobs, as `knob=value,knob=value`.
    pub knobs: &'static str,
    /// What the paper says of it, where it gives a figure or a verdict.
    pub paper: &'static str,
    /// Measured before on LoCoMo-10 with all-MiniLM-L6-v2, by another implementation; `NAN` where nothing was.
    pub reference: Reference,
}

/// Earlier figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Share of the gold that is found; that is ranked where candidates are capped.
    pub found: f64,
    /// Candidates of a question, mean.
    pub candidates: f64,
    /// Position of the first gold in conversation order, mean.
    pub first_found: f64,
    /// Share of the gold kept in 2,000 words by match score.
    pub by_match: f64,
    /// The same by token MaxSim; in the second table, by the order of the row.
    pub by_maxsim: f64,
}

const NONE: f64 = f64::NAN;

const fn row(name: &'static str, knobs: &'static str, paper: &'static str, reference: [f64; 5]) -> Ablation {
    let [found, candidates, first_found, by_match, by_maxsim] = reference;
    Ablation { name, knobs, paper, reference: Reference { found, candidates, first_found, by_match, by_maxsim } }
}

const fn cut(name: &'static str, knobs: &'static str, paper: &'static str, kept: f64) -> Ablation {
    row(name, knobs, paper, [NONE, NONE, NONE, NONE, kept])
}

/// What changes the search: parser, passage, hops and candidate cap.
pub const SEARCH: [Ablation; 28] = [
    row("as published", "", "98.6 % found, first gold 195", [0.9924, 428.0, 193.0, 0.6263, 0.8017]),
    row("lemmas", "term-form=lemma", "dropped: noisy candidates", [0.9941, 431.0, 194.0, 0.648, NONE]),
    row("words and lemmas", "term-form=both", "", [0.9941, 431.0, 195.0, 0.654, NONE]),
    row("stop words kept", "drop-stop-words=off", "", [0.9924, 435.0, 196.0, NONE, NONE]),
    row("whole words", "matching=word", "", [0.9894, 421.0, 190.0, NONE, NONE]),
    row("names as phrases", "names=phrase", "", [0.9903, 424.0, 192.0, NONE, NONE]),
    row("names as phrases and words", "names=both", "", [0.9924, 428.0, 193.0, NONE, NONE]),
    row("no entity bonus", "entity-bonus=0", "", [NONE, NONE, NONE, 0.629, NONE]),
    row(
        "equal weights",
        "weight-propn=1,weight-noun=1,weight-verb=1,entity-bonus=0",
        "",
        [NONE, NONE, NONE, 0.636, NONE],
    ),
    row("captions matched", "captions=match", "", [0.9924, 429.0, 194.0, NONE, 0.8106]),
    row("captions matched and rendered", "captions=render", "", [NONE, NONE, NONE, NONE, 0.7996]),
    row("turns without speaker", "unit=turn-text", "", [0.6411, 145.0, 70.0, NONE, NONE]),
    row("turns without speaker, whole words", "unit=turn-text,matching=word", "", [0.5881, 132.0, 65.0, NONE, NONE]),
    row("pairs of turns", "unit=window", "", [0.9983, 301.0, 136.0, 0.6636, 0.8025]),
    row("hop 2 without a named entity", "discovery=no-entity", "3 % of questions", [NONE, NONE, NONE, NONE, NONE]),
    row("hop 2 below 30 candidates", "discovery=few", "3 % of questions", [NONE, NONE, NONE, NONE, NONE]),
    row("hop 2 always", "discovery=always", "no effect on LoCoMo", [0.9928, 440.0, NONE, 0.6004, 0.8013]),
    row(
        "hop 2 always, names of the top 50",
        "discovery=always,discovery-top=50",
        "no effect on LoCoMo",
        [0.9932, 462.0, NONE, 0.5576, 0.8013],
    ),
    row("hops 2 and 3 always", "discovery=always,hops=3", "no effect on LoCoMo", [NONE, NONE, NONE, NONE, NONE]),
    row("PRF", "prf=on", "no effect on LoCoMo", [0.9945, 472.0, NONE, 0.6123, 0.8013]),
    row(
        "hop 2 always and PRF",
        "discovery=always,prf=on",
        "no effect on LoCoMo",
        [0.9949, 477.0, NONE, 0.5983, 0.8013],
    ),
    row("everything ranked", "rank-everything=on", "", [NONE, NONE, NONE, NONE, 0.8017]),
    row("50 candidates", "candidate-cap=50", "", [0.6085, NONE, NONE, 0.6085, 0.6085]),
    row("100 candidates", "candidate-cap=100", "", [0.6843, NONE, NONE, NONE, 0.6614]),
    row("150 candidates", "candidate-cap=150", "", [0.7352, NONE, NONE, NONE, 0.6915]),
    row("200 candidates", "candidate-cap=200", "", [0.7814, NONE, NONE, NONE, 0.7157]),
    row("300 candidates", "candidate-cap=300", "", [0.8788, NONE, NONE, NONE, 0.7614]),
    row("400 candidates", "candidate-cap=400", "", [0.9513, NONE, NONE, NONE, 0.7869]),
];

/// What changes the order or the cut.
pub const ORDER: [Ablation; 31] = [
    cut("conversation order", "fusion=order", "22.5 %", 0.221),
    cut("match score", "fusion=match", "", 0.6263),
    cut("cosine of sentence vectors", "fusion=dense", "", 0.6915),
    cut("ColBERT (token MaxSim)", "fusion=colbert", "", 0.8017),
    cut("z, 0.1 BM25", "fusion=z,lambda=0.1", "", NONE),
    cut("z, 0.2 BM25", "fusion=z,lambda=0.2", "", 0.8072),
    cut("z, 0.3 BM25", "fusion=z,lambda=0.3", "", 0.8008),
    cut("z, 0.5 BM25", "fusion=z,lambda=0.5", "", NONE),
    cut("cross-encoder", "fusion=ce", "", NONE),
    cut("RRF, 0.7 cross-encoder", "fusion=rrf", "96.0 % with its models", NONE),
    cut("RRF, 0.5 cross-encoder", "fusion=rrf,w=0.5", "", NONE),
    cut("RRF, 0.3 cross-encoder", "fusion=rrf,w=0.3", "", NONE),
    cut("RRF, k 10", "fusion=rrf,k=10", "", NONE),
    cut("three-way RRF", "fusion=rrf3", "rejected", NONE),
    cut("min-max fusion", "fusion=minmax", "rejected", NONE),
    cut("z fusion of both rankers", "fusion=score-z", "rejected", NONE),
    cut("MaxSim, 1,000 words", "fusion=colbert,budget=1000", "", 0.707),
    cut("MaxSim, 4,000 words", "fusion=colbert,budget=4000", "", 0.888),
    cut("MaxSim, header free", "fusion=colbert,header=free", "", 0.8292),
    cut("MaxSim, header once a session", "fusion=colbert,header=per-session", "", NONE),
    cut("MaxSim, overflow skipped", "fusion=colbert,overflow=skip", "", 0.8021),
    cut("MaxSim, overflow kept", "fusion=colbert,overflow=keep", "", 0.8042),
    cut("MaxSim, cumulative 0.9", "fusion=colbert,truncation=cumulative", "rejected: 2.3 points", NONE),
    cut("MaxSim, MMR 0.7", "fusion=colbert,truncation=mmr", "rejected", NONE),
    cut("RRF, adaptive, α 0", "fusion=rrf,truncation=adaptive,budget=4000,alpha=0", "", NONE),
    cut("RRF, adaptive, α 0.03", "fusion=rrf,truncation=adaptive,budget=4000", "the paper's setting", NONE),
    cut("RRF, adaptive, α 0.1", "fusion=rrf,truncation=adaptive,budget=4000,alpha=0.1", "", NONE),
    cut("RRF, adaptive, α 0.3", "fusion=rrf,truncation=adaptive,budget=4000,alpha=0.3", "", NONE),
    cut("RRF, 4,000 words", "fusion=rrf,budget=4000", "", NONE),
    cut("RRF, cumulative 0.9", "fusion=rrf,truncation=cumulative", "rejected: 2.3 points", NONE),
    cut("RRF, MMR 0.7", "fusion=rrf,truncation=mmr", "rejected", NONE),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::eval::smartsearch::settings;

    #[test]
    fn every_configuration_is_another_setting() {
        for table in [&SEARCH[..], &ORDER[..]] {
            let mut seen = vec![];
            for one in table {
                let found = settings().with(one.knobs).unwrap();
                assert!(!seen.contains(&found), "{}", one.name);
                seen.push(found);
            }
        }
    }
}

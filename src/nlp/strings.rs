//! Knows how strings become 64-bit ids and ids become table rows; must not know what a string means.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// One reserved symbol a line, in ascending order of its id (0..=456). From spaCy's code (MIT).
const SYMBOLS: &str = include_str!("tables/symbols.txt");

/// The longest reserved symbol is below this many bytes: longer strings skip the lookup.
const LONGEST_SYMBOL: usize = 32;

static RESERVED: LazyLock<HashMap<&'static str, u64>> = LazyLock::new(|| SYMBOLS.lines().zip(0..).collect());

/// The id of a string: a reserved small number, or MurmurHash64A of its UTF-8 bytes with seed 1.
pub(super) fn string_id(text: &str) -> u64 {
    if text.len() < LONGEST_SYMBOL
        && let Some(id) = RESERVED.get(text)
    {
        return *id;
    }
    murmur64a(text.as_bytes(), 1)
}

/// MurmurHash64A (MurmurHash2, 64-bit variant for x64, by Austin Appleby).
pub(super) fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let (blocks, tail) = bytes.as_chunks::<8>();
    for block in blocks {
        let mut key = u64::from_le_bytes(*block).wrapping_mul(M);
        key ^= key >> R;
        hash = (hash ^ key.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let word = tail.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        hash = (hash ^ word).wrapping_mul(M);
    }
    hash ^= hash >> R;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> R)
}

/// The four 32-bit hashes that pick the rows of one feature value: 128-bit Murmur3 of an 8-byte key.
pub(super) fn key_hashes(key: u64, seed: u32) -> [u32; 4] {
    let mix = |mut word: u64| {
        word ^= word >> 33;
        word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
        word ^= word >> 33;
        word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        word ^ (word >> 33)
    };
    let seed = u64::from(seed);
    let mut h1 = key.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    h1 ^= seed ^ 8;
    let mut h2 = seed ^ 8;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = mix(h1);
    h2 = mix(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    [h1 as u32, (h1 >> 32) as u32, h2 as u32, (h2 >> 32) as u32]
}

/// The one copy of a label that lives as long as the program.
///
/// Labels come from model files, a few hundred short strings; loading a model again adds nothing.
pub(super) fn intern(label: &str) -> &'static str {
    static LABELS: Mutex<Option<HashMap<&'static str, ()>>> = Mutex::new(None);
    let mut guard = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    let labels = guard.get_or_insert_with(HashMap::new);
    if let Some((known, ())) = labels.get_key_value(label) {
        return known;
    }
    let kept: &'static str = Box::leak(label.to_owned().into_boxed_str());
    labels.insert(kept, ());
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn ids_follow_the_reference_vectors() {
        for (text, id) in [
            ("", 0),
            ("X", 101),
            ("_", 456),
            ("mark", 423),
            ("root", 449),
            ("ORG", 383),
            ("a", 11_901_859_001_352_538_922),
            ("the", 7_425_985_699_627_899_538),
            ("xxx", 4_088_098_365_541_558_500),
            ("t", 15_369_245_168_918_225_700),
        ] {
            assert_eq!(string_id(text), id, "{text:?}");
        }
    }

    #[test]
    fn key_hashes_follow_the_reference_vectors() {
        assert_eq!(key_hashes(0, 8), [0, 0, 0, 0]);
        assert_eq!(key_hashes(0, 13), [1_041_741_114, 1_039_425_791, 1_457_952_615, 394_743_738]);
        let rows = key_hashes(string_id("the"), 8).map(|hash| hash % 5000);
        assert_eq!(rows, [2498, 2909, 2599, 4364]);
    }

    #[test]
    fn interned_labels_are_shared() {
        let first = intern("some label");
        assert!(std::ptr::eq(first, intern(&["some", "label"].join(" "))));
    }

    #[test]
    fn no_symbol_is_longer_than_the_shortcut_assumes() {
        assert_eq!(SYMBOLS.lines().count(), 457);
        assert!(SYMBOLS.lines().all(|line| line.len() < LONGEST_SYMBOL));
    }
}

//! The stop words of the tagger's language data: words that never become terms. Knows only words.

/// Lower-case stop words, sorted for binary search. The list is spaCy's for English, 326 words.
const STOP_WORDS: &[&str] = &[
    "'d", "'ll", "'m", "'re", "'s", "'ve", "a", "about", "above", "across", "after", "afterwards", "again", "against",
    "all", "almost", "alone", "along", "already", "also", "although", "always", "am", "among", "amongst", "amount",
    "an", "and", "another", "any", "anyhow", "anyone", "anything", "anyway", "anywhere", "are", "around", "as", "at",
    "back", "be", "became", "because", "become", "becomes", "becoming", "been", "before", "beforehand", "behind",
    "being", "below", "beside", "besides", "between", "beyond", "both", "bottom", "but", "by", "ca", "call", "can",
    "cannot", "could", "did", "do", "does", "doing", "done", "down", "due", "during", "each", "eight", "either",
    "eleven", "else", "elsewhere", "empty", "enough", "even", "ever", "every", "everyone", "everything", "everywhere",
    "except", "few", "fifteen", "fifty", "first", "five", "for", "former", "formerly", "forty", "four", "from",
    "front", "full", "further", "get", "give", "go", "had", "has", "have", "he", "hence", "her", "here", "hereafter",
    "hereby", "herein", "hereupon", "hers", "herself", "him", "himself", "his", "how", "however", "hundred", "i",
    "if", "in", "indeed", "into", "is", "it", "its", "itself", "just", "keep", "last", "latter", "latterly", "least",
    "less", "made", "make", "many", "may", "me", "meanwhile", "might", "mine", "more", "moreover", "most", "mostly",
    "move", "much", "must", "my", "myself", "n't", "name", "namely", "neither", "never", "nevertheless", "next",
    "nine", "no", "nobody", "none", "noone", "nor", "not", "nothing", "now", "nowhere", "n‘t", "n’t", "of", "off",
    "often", "on", "once", "one", "only", "onto", "or", "other", "others", "otherwise", "our", "ours", "ourselves",
    "out", "over", "own", "part", "per", "perhaps", "please", "put", "quite", "rather", "re", "really", "regarding",
    "same", "say", "see", "seem", "seemed", "seeming", "seems", "serious", "several", "she", "should", "show", "side",
    "since", "six", "sixty", "so", "some", "somehow", "someone", "something", "sometime", "sometimes", "somewhere",
    "still", "such", "take", "ten", "than", "that", "the", "their", "them", "themselves", "then", "thence", "there",
    "thereafter", "thereby", "therefore", "therein", "thereupon", "these", "they", "third", "this", "those", "though",
    "three", "through", "throughout", "thru", "thus", "to", "together", "too", "top", "toward", "towards", "twelve",
    "twenty", "two", "under", "unless", "until", "up", "upon", "us", "used", "using", "various", "very", "via", "was",
    "we", "well", "were", "what", "whatever", "when", "whence", "whenever", "where", "whereafter", "whereas",
    "whereby", "wherein", "whereupon", "wherever", "whether", "which", "while", "whither", "who", "whoever", "whole",
    "whom", "whose", "why", "will", "with", "within", "without", "would", "yet", "you", "your", "yours", "yourself",
    "yourselves", "‘d", "‘ll", "‘m", "‘re", "‘s", "‘ve", "’d", "’ll", "’m", "’re", "’s", "’ve",
];

/// True for a lower-case word that says too little to search for.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_complete() {
        assert_eq!(STOP_WORDS.len(), 326);
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(["when", "did", "go", "'s", "n't"].into_iter().all(is_stop_word));
        assert!(!is_stop_word("pottery"));
    }
}

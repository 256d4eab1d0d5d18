//! The word that somebody meant.

/// The most that two spellings of one word differ by.
const DIFFERENCE: usize = 2;

/// The known word that is spelled most like this one; none if no word is like it.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // In a short word, two letters are most of it.
    let most = DIFFERENCE.min(word.chars().count() / 2);
    let distance = |known: &str| strsim::osa_distance(&word, &known.to_lowercase());
    let distances = known.into_iter().map(|known| (distance(known), known));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognized_and_another_word_is_not() {
        let known = ["replicas", "paused", "strategy", "web"];
        for (word, meant) in [
            ("replicsa", Some("replicas")),
            ("Replicas", Some("replicas")),
            ("stategy", Some("strategy")),
            ("wbe", Some("web")),
            ("db", None),
            ("selector", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }
}

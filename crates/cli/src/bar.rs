//! The progress bar.

/// Its squares.
const BAR: usize = 20;

/// Available pods of the new revision, of the number that there should be, with a mark at each step.
pub(crate) fn bar(done: i64, desired: i64, marks: &[i64]) -> String {
    let all = desired.max(1);
    let squares = |pods: i64| {
        BAR * usize::try_from(pods.clamp(0, all)).unwrap_or(0) / usize::try_from(all).unwrap_or(1)
    };
    let marks: Vec<usize> = marks.iter().map(|pods| squares(*pods)).collect();
    let square = |at: usize| {
        let mark = if at > 0 && marks.contains(&at) { "|" } else { "" };
        format!("{mark}{}", if at < squares(done) { "■" } else { "·" })
    };
    format!("[{}] {done}/{desired}", (0..BAR).map(square).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_mark_at_each_step() {
        assert_eq!(bar(2, 4, &[]), "[■■■■■■■■■■··········] 2/4");
        assert_eq!(bar(3, 10, &[1, 3, 5]), "[■■|■■■■|····|··········] 3/10");
        assert_eq!(bar(0, 10, &[0, 1, 1, 10]), "[··|··················] 0/10");
        assert_eq!(bar(0, 0, &[0]), "[····················] 0/0");
        assert_eq!(bar(1, 1000, &[1, 500]), "[··········|··········] 1/1000");
    }
}

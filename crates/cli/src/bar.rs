//! The progress bar of `status`.

use crate::rollout::Rollout;

/// Its squares.
const BAR: usize = 20;

/// Available pods of the current template, of the number that there should be, with a mark at each step.
pub(crate) fn bar(rollout: &Rollout, marks: &[i64]) -> String {
    let counts = rollout.counts;
    let all = counts.desired.max(1);
    let squares = |pods: i64| {
        BAR * usize::try_from(pods.clamp(0, all)).unwrap_or(0) / usize::try_from(all).unwrap_or(1)
    };
    let done = counts.updated.min(counts.available);
    let marks: Vec<usize> = marks.iter().map(|pods| squares(*pods)).collect();
    let square = |at: usize| {
        let mark = if at > 0 && marks.contains(&at) { "|" } else { "" };
        format!("{mark}{}", if at < squares(done) { "■" } else { "·" })
    };
    format!("[{}] {done}/{}", (0..BAR).map(square).collect::<String>(), counts.desired)
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use serde_json::json;

    use super::*;
    use crate::rollout;

    fn drawn(updated: i64, desired: i64, marks: &[i64]) -> String {
        let body = json!({"spec": {"replicas": desired},
                          "status": {"updatedReplicas": updated, "availableReplicas": desired}});
        bar(&rollout::of(Flavour::Rollwright, "web", &body), marks)
    }

    #[test]
    fn a_bar_has_a_mark_at_each_step() {
        assert_eq!(drawn(2, 4, &[]), "[■■■■■■■■■■··········] 2/4");
        assert_eq!(drawn(3, 10, &[1, 3, 5]), "[■■|■■■■|····|··········] 3/10");
        assert_eq!(drawn(0, 10, &[0, 1, 1, 10]), "[··|··················] 0/10");
        assert_eq!(drawn(0, 0, &[0]), "[····················] 0/0");
        assert_eq!(drawn(1, 1000, &[1, 500]), "[··········|··········] 1/1000");
    }
}

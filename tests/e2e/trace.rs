//! Every state that the ReplicaSets of a namespace pass through.
//!
//! One watch delivers all changes in order, so the sums over all ReplicaSets are states that really
//! were: what holds for a rollout at any moment can be checked on them.

use std::collections::BTreeMap;

use crate::failure::{Outcome, ensure};
use crate::objects::{Set, summaries};

/// The ReplicaSets of a namespace at one moment, by name.
pub(crate) type Moment = BTreeMap<String, Set>;

/// All moments, in order.
pub(crate) struct Recording(pub(crate) Vec<Moment>);

impl Recording {
    /// Sizes of the ReplicaSets of an image over time.
    pub(crate) fn sizes(&self, image: &str) -> Vec<i64> {
        let size =
            |moment: &Moment| moment.values().filter(|set| set.image == image).map(|set| set.size).sum();
        self.0.iter().map(size).collect()
    }

    /// The ReplicaSets never had more pods than this together (S6.7).
    #[track_caller]
    pub(crate) fn ensure_at_most(&self, bound: i64) -> Outcome {
        let total = |moment: &Moment| moment.values().map(|set| set.size).sum::<i64>();
        let worst = self.0.iter().max_by_key(|moment| total(moment));
        ensure(
            worst.is_none_or(|moment| total(moment) <= bound),
            &format!("at most {bound} pods at any moment"),
            worst.map(describe),
        )
    }

    /// The ReplicaSets never reported fewer available pods than this together (S6.9, S6.11).
    #[track_caller]
    pub(crate) fn ensure_available(&self, floor: i64) -> Outcome {
        let available = |moment: &Moment| moment.values().map(|set| set.available).sum::<i64>();
        let worst = self.0.iter().min_by_key(|moment| available(moment));
        ensure(
            worst.is_some_and(|moment| available(moment) >= floor),
            &format!("at least {floor} available pods at every moment"),
            worst.map(describe),
        )
    }

    /// No two ReplicaSets ever had the same template.
    #[track_caller]
    pub(crate) fn ensure_one_per_template(&self) -> Outcome {
        let is_broken = |moment: &&Moment| {
            let mut images: Vec<&str> = moment.values().map(|set| set.image.as_str()).collect();
            images.sort_unstable();
            images.windows(2).any(|pair| pair[0] == pair[1])
        };
        let twice = self.0.iter().find(is_broken);
        ensure(twice.is_none(), "one set per template", twice.map(describe))
    }
}

fn describe(moment: &Moment) -> String {
    summaries(&moment.values().cloned().collect::<Vec<_>>())
}

//! Rollouts that wait long for a slot report it in their status, a few at a time, and complete all the
//! same.

use jiff::Timestamp;

use super::*;

const MANY: usize = 144;
/// Of more than twice as many as may be under way, those that wait for all before them.
const LAST: std::ops::Range<usize> = 128..MANY;

fn name(number: usize) -> String {
    format!("web-{number:03}")
}

/// Status and reason of a condition.
async fn condition(rig: &Rig, name: &str, kind: &str) -> Option<(String, String)> {
    let found = rig.condition(name, kind).await;
    Some((found["status"].as_str()?.to_owned(), found["reason"].as_str()?.to_owned()))
}

/// When the statuses of the last ones were written.
fn statuses(rig: &Rig) -> Vec<Timestamp> {
    let of_last =
        |line: &&String| LAST.into_iter().any(|number| line.ends_with(&format!("{}/status", name(number))));
    let writes = rig.faults.take_writes();
    writes.iter().filter(of_last).map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_long_say_so() {
    for flavour in BOTH {
        let rig = Rig::new(flavour);
        for number in 0..MANY {
            rig.create(&name(number), 1, "app:v1").await;
        }
        for number in 0..MANY {
            rig.settle(&name(number), SOON).await;
        }
        tokio::time::sleep(SOON).await;
        // Those before them begin, and get no further for a minute.
        rig.faults.arm(On::Write("replicasets"), Fault::RefuseFor(429, 60), 128);
        rig.faults.take_writes();
        for number in 0..MANY {
            rig.set_image(&name(number), "app:v2").await;
        }
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(statuses(&rig), [], "nothing is said before ten seconds have passed");
        tokio::time::sleep(Duration::from_secs(18)).await;
        let told = statuses(&rig);
        if flavour == Flavour::AppsV1 {
            assert_eq!(told, []);
        } else {
            assert_eq!(told.len(), LAST.len(), "each once: {told:?}");
            assert!(
                told.windows(2).all(|pair| pair[1].duration_since(pair[0]).as_millis() >= 200),
                "{told:?}"
            );
            let queued = |status: &str| Some((status.to_owned(), "Queued".to_owned()));
            for number in LAST {
                assert_eq!(condition(&rig, &name(number), "Progressing").await, queued("Unknown"));
                assert_eq!(condition(&rig, &name(number), "Reconciling").await, queued("True"));
                let object = rig.object(&name(number)).await;
                assert_eq!(object["status"]["observedGeneration"], 1);
            }
        }
        for number in (0..MANY).rev() {
            rig.settle(&name(number), Duration::from_secs(300)).await;
            assert_eq!(condition(&rig, &name(number), "Reconciling").await, None);
        }
        is_quiet(&rig).await;
    }
}

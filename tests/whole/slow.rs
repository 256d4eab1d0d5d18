//! A server that takes longer to refuse a huge object than answers are waited for otherwise.

use engine::durations::ANSWER_LIMIT;

use super::*;

/// How long the server needs to refuse it: more than one limit, and more than the next.
const REFUSED_AFTER: Duration = Duration::from_secs(25);

/// The message of the condition Progressing.
async fn said(rig: &Rig) -> String {
    rig.condition("huge", "Progressing").await["message"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the condition contains a text; returns after which time it does.
async fn until_said(rig: &Rig, begin: Instant, text: &str) -> u64 {
    while !said(rig).await.contains(text) {
        assert!(begin.elapsed() < Duration::from_secs(300), "{text:?} is not in {:?}", said(rig).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    begin.elapsed().as_secs()
}

/// On apps/v1, as upstream, the status waits for the server's words.
async fn wait_is_told(rig: &Rig, flavour: Flavour, begin: Instant) {
    if flavour == Flavour::Rollwright {
        let waits = "did not answer within 10 s; the next try waits for up to 20 s";
        let first = until_said(rig, begin, waits).await;
        assert!((10..=11).contains(&first), "said after {first} s");
    } else {
        tokio::time::sleep(ANSWER_LIMIT + Duration::from_secs(2)).await;
        assert!(!said(rig).await.contains("did not answer"));
    }
}

async fn is_told(rig: &Rig, flavour: Flavour, faults: &faults::Faulty) {
    faults.arm(On::Write("replicasets"), Fault::RefuseLate(422, REFUSED_AFTER), 1000);
    rig.create("huge", 3, "app:v1").await;
    let begin = Instant::now();
    wait_is_told(rig, flavour, begin).await;
    // 10 s and a pause of 5 s, 20 s and a pause of 10 s, and then the answer.
    let cause = until_said(rig, begin, "injected").await;
    assert!((70..=72).contains(&cause), "said after {cause} s");
    let said = said(rig).await;
    assert!(said.len() < 2200 && said.ends_with(" more bytes)"), "{}", said.len());
    assert_eq!(faults.heal(), 3, "three requests until then");
    while rig.sizes("huge") != [3] {
        assert!(begin.elapsed() < Duration::from_secs(300), "it is not created");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_words_are_waited_for() {
    for flavour in BOTH {
        let rig = Rig::new(flavour);
        is_told(&rig, flavour, &rig.faults).await;
    }
}

/// The lease is renewed more than once during that time.
#[tokio::test(start_paused = true)]
async fn the_servers_words_are_waited_for_under_a_lease() {
    let rig = Rig::without_operator(Flavour::Rollwright);
    let (operator, faults) = rig.candidate(&[]);
    tokio::time::sleep(ANSWER_LIMIT).await;
    is_told(&rig, Flavour::Rollwright, &faults).await;
    operator.end().await;
}

/// The server has a limit of its own, and would work on the next request for it all the time.
#[tokio::test(start_paused = true)]
async fn a_server_that_gives_up_is_spared() {
    let rig = Rig::new(Flavour::Rollwright);
    rig.faults.arm(On::Write("replicasets"), Fault::RefuseLate(504, REFUSED_AFTER), 1000);
    rig.create("huge", 3, "app:v1").await;
    // Without an answer at 10 s and 35 s, then given up at 70 s, 115 s, and 170 s.
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert_eq!(rig.faults.heal(), 5);
}

use std::path::PathBuf;
use std::time::Duration;

use lease::Timings;
use plan::Flavour;

use super::*;

fn parse(line: &str) -> Result<RunArguments, String> {
    let arguments = Arguments::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
    match arguments.command {
        Command::Run(arguments) => Ok(arguments),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn the_command_line_of_a_stand_in_for_the_built_in_controller() {
    let line = "rollwright run --kubeconfig FILE --api apps/v1 --leader-elect=false --bind-address=0";
    let arguments = parse(line).expect("valid");
    assert_eq!(arguments.api, [Flavour::AppsV1]);
    assert_eq!(arguments.bind_address, Bind::Nowhere);
    assert_eq!(arguments.client.kubeconfig, Some(PathBuf::from("FILE")));
    assert!(!arguments.election.leader_elect);
    assert_eq!(arguments.election.timings(), Ok(None));
    assert!(arguments.watch_namespace.is_empty());
}

#[test]
fn a_log_level_that_would_log_nothing_is_refused() {
    let log = |level: &str| Arguments::try_parse_from(["rollwright", "version", "--log-level", level]);
    for level in ["warn", "INFO", "off", "", "info,rollwright::write=debug", "rollwright=trace"] {
        assert!(log(level).is_ok(), "{level}");
    }
    for level in ["warning", "2", "none", "rollwright", "rollwright=loud"] {
        let error = log(level).expect_err(level);
        assert_eq!(error.exit_code(), 2, "{level}");
        let text = error.to_string();
        assert!(text.contains(level) && text.contains("off, error, warn, info, debug, trace"), "{text}");
    }
}

#[test]
fn both_apis_can_be_named() {
    let both = [Flavour::AppsV1, Flavour::Rollwright];
    assert_eq!(parse("rollwright run --api apps/v1,rollwright.dev/v1").expect("list").api, both);
    assert_eq!(parse("rollwright run --api apps/v1 --api rollwright.dev/v1").expect("twice").api, both);
    assert_eq!(parse("rollwright run").expect("default").api, [Flavour::Rollwright]);
}

#[test]
fn a_port_alone_means_every_address() {
    let expected = Bind::At("0.0.0.0:9090".parse().expect("address"));
    assert_eq!(parse("rollwright run --bind-address=:9090").expect("valid").bind_address, expected);
}

#[test]
fn errors_name_the_flag() {
    for (line, flag, words) in [
        ("rollwright run --api apps/v2", "--api", "rollwright.dev/v1 or apps/v1"),
        ("rollwright run --bind-address=nowhere", "--bind-address", "ADDRESS:PORT"),
        ("rollwright run --leader-elect=maybe", "--leader-elect", "true, false"),
        ("rollwright run --leader-elect-retry-period=0s", "--leader-elect-retry-period", "at least a second"),
        (
            "rollwright run --leader-elect-lease-duration=1.5s",
            "--leader-elect-lease-duration",
            "30s, 5m or 1h",
        ),
        ("rollwright run --leader-elect-resource-namespace=A", "-resource-namespace", "lower case"),
        ("rollwright run --leader-elect-resource-name=a/b", "-resource-name", "lower case"),
        ("rollwright run --watch-namespace=", "--watch-namespace", "namespace name"),
        ("rollwright run --watch-namespace=a,,b", "--watch-namespace", "namespace name"),
        ("rollwright run --watch-namespace=a.b", "--watch-namespace", "lower case"),
        ("rollwright run --watch-namespace=-a", "--watch-namespace", "either end"),
        ("rollwright run --selector=", "--selector", "such as shard=a"),
        ("rollwright run --selector=shard=a,", "--selector", "take the comma out"),
        ("rollwright run --selector=shard~a", "--selector", "key in (a,b)"),
        ("rollwright run --selector=shard=a=b", "--selector", "no value of a label"),
        ("rollwright run --selector=shard>1", "--selector", "by size"),
        ("rollwright run --selector=shard(a)", "--selector", "key notin (a,b)"),
        ("rollwright run --selector=sh(a", "--selector", "without its )"),
        ("rollwright run --selector=a_b/shard", "--selector", "no key of a label"),
        ("rollwright run --selector=shard=a --watch-namespace=b", "--selector", "cannot be used with"),
        ("rollwright run --adopt=all", "--adopt", "any"),
        ("rollwright run --workers=0", "--workers", "1..=256"),
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains(flag) && error.contains(words), "{line}: {error}");
    }
}

#[test]
fn an_election_has_the_timings_of_client_go() {
    let seconds = Duration::from_secs;
    let default = Timings::new(seconds(15), seconds(10), seconds(2)).map(Some);
    for line in ["rollwright run --leader-elect", "rollwright run --leader-elect=true"] {
        let election = parse(line).expect(line).election;
        assert_eq!(election.timings(), Ok(default.expect("valid")), "{line}");
        assert_eq!(election.lease_name(None), "rollwright");
        assert_eq!(election.leader_elect_resource_namespace, None);
    }
}

/// Two shards that shared a lease would leave one without a leader.
#[test]
fn each_selector_has_a_lease_of_its_own() {
    let name = |flags: &str| {
        let arguments = parse(&format!("rollwright run --leader-elect {flags}")).expect(flags);
        arguments.election.lease_name(arguments.selector.as_ref())
    };
    let of_a = name("--selector=shard=a");
    assert!(of_a.starts_with("rollwright-"), "{of_a}");
    assert_eq!(of_a, name("--selector=shard==a"));
    assert_ne!(of_a, name("--selector=!shard"));
    assert_eq!(name("--selector=shard=a --leader-elect-resource-name=mine"), "mine");
}

#[test]
fn timings_that_do_not_fit_together_are_refused_by_the_names_of_the_flags() {
    for (flags, words) in [
        ("--leader-elect-lease-duration=10s", ["--leader-elect-lease-duration 10s", "renew-deadline 10s"]),
        ("--leader-elect-renew-deadline=20s", ["--leader-elect-lease-duration 15s", "renew-deadline 20s"]),
        ("--leader-elect-retry-period=9s", ["--leader-elect-renew-deadline 10s", "retry-period 9s"]),
    ] {
        let line = format!("rollwright run --leader-elect {flags}");
        let error = parse(&line).expect("each is valid").election.timings().expect_err(flags);
        assert!(words.iter().all(|word| error.contains(word)), "{flags}: {error}");
        // Nobody minds when there is no election.
        let line = format!("rollwright run {flags}");
        assert_eq!(parse(&line).expect("valid").election.timings(), Ok(None));
    }
}

#[test]
fn namespaces_come_one_by_one_or_as_a_list() {
    let line = "rollwright run --watch-namespace a,b --watch-namespace=c-1";
    assert_eq!(parse(line).expect("valid").watch_namespace, ["a", "b", "c-1"]);
}

fn parse_shadow(line: &str) -> Result<ShadowArguments, String> {
    let arguments = Arguments::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
    match arguments.command {
        Command::Shadow(arguments) => Ok(arguments),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn shadow_looks_at_the_built_in_kind_for_ever_unless_told_otherwise() {
    let arguments = parse_shadow("rollwright shadow").expect("valid");
    assert_eq!(arguments.api, Flavour::AppsV1);
    assert_eq!((arguments.report_every, arguments.duration), (Some(Duration::from_secs(60)), None));
    let line =
        "rollwright shadow --api rollwright.dev/v1 --for 2h --report-every=0 --divergences d --hash-names";
    let arguments = parse_shadow(line).expect("valid");
    assert_eq!(arguments.api, Flavour::Rollwright);
    assert_eq!((arguments.report_every, arguments.duration), (None, Some(Duration::from_secs(7200))));
}

#[test]
fn errors_of_shadow_name_the_flag() {
    for (line, flag, words) in [
        ("rollwright shadow --api apps/v1,rollwright.dev/v1", "--api", "rollwright.dev/v1 or apps/v1"),
        ("rollwright shadow --for soon", "--for", "30s, 5m or 1h"),
        ("rollwright shadow --report-every=99999999999999999999h", "--report-every", "30s, 5m or 1h"),
        ("rollwright shadow --report-every=9999999999h", "--report-every", "at most a year"),
        ("rollwright shadow --hash-names", "--divergences", "required"),
        ("rollwright shadow --output=yaml", "--output", "json"),
    ] {
        let error = parse_shadow(line).expect_err(line);
        assert!(error.contains(flag) && error.contains(words), "{line}: {error}");
    }
}

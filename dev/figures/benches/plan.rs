//! How long one plan takes, and what comes before it: an object is decoded at each of its events,
//! a plan is made at each reconcile. Nothing is read or written.
//!
//! `make bench-plan` runs it; docs/internals/benchmarks.md has the last result.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::hint::black_box;

use api::decode::{self, Defaults};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use figures::snapshots::{self, NOW, REPLICAS, Specimen, template};
use plan::Flavour;

/// As in the operator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FLAVOURS: [(&str, Flavour); 2] = [("rollwright", Flavour::Rollwright), ("apps", Flavour::AppsV1)];
/// 3 is what the target of 500,000 plans a second is about.
const SETS: [i64; 4] = [2, 3, 10, 100];

/// Nothing to do: the most frequent reconcile of all.
fn at_rest(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/at rest"));
        for sets in SETS {
            let observed = snapshots::at_rest(flavour, sets).unwrap();
            group.throughput(Throughput::Elements(1));
            group.bench_with_input(BenchmarkId::from_parameter(sets), &observed, |bencher, observed| {
                bencher.iter(|| plan::plan(black_box(observed), NOW));
            });
        }
    }
}

/// In the middle of a rollout: sets are scaled and the status is written.
fn rolling(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/rolling"));
        for sets in SETS {
            let observed = snapshots::rolling(flavour, sets).unwrap();
            group.throughput(Throughput::Elements(1));
            group.bench_with_input(BenchmarkId::from_parameter(sets), &observed, |bencher, observed| {
                bencher.iter(|| plan::plan(black_box(observed), NOW));
            });
        }
    }
}

/// What each event costs before anything is planned.
fn decoding(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/decode"));
        group.throughput(Throughput::Elements(1));
        let specimen = Specimen { flavour, number: 0 };
        let (deployment, set) = (specimen.deployment(1), specimen.replica_set(1, REPLICAS));
        let length = template(1).to_string().len();
        assert!((4608..=5632).contains(&length), "a template of {length} bytes is not of 5 KiB");
        group.bench_function("Deployment", |bencher| {
            bencher.iter(|| decode::workload(flavour, black_box(&deployment), Defaults::of(flavour)));
        });
        group.bench_function("ReplicaSet", |bencher| {
            bencher.iter(|| decode::replica_set(flavour, black_box(&set)));
        });
    }
}

criterion_group!(benches, at_rest, rolling, decoding);
criterion_main!(benches);

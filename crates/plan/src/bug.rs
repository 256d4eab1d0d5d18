//! Bugs that others had, to be put back in: a simulator that does not find them is worth nothing.
//!
//! Where our code could have the bug, one line asks [`has`]. Without the feature `reinjected-bugs`
//! that is the constant `false`, and the line is gone from the program. With it, the bug is there
//! in the threads that called [`inject`]. One feature of this one crate serves `pass`, `api` and
//! `dispatch` too: they depend on this crate and ask the same function.
//!
//! Cargo unites features over everything that one command builds. So the feature must never be
//! reachable by default: only the feature `mutants` of `crates/sim` and of `crates/explore`
//! switches it on, which is off unless `--features mutants` is given to a command about one of them
//! alone. Two things
//! hold that: `crates/plan/tests/structure.rs` reads all manifests, and the operator does not
//! compile where [`REINJECTABLE`] is true.

/// Whether this build can have bugs put back in.
pub const REINJECTABLE: bool = cfg!(feature = "reinjected-bugs");

macro_rules! bugs {
    ($($name:ident: $source:literal => $consequence:literal;)*) => {
        /// A bug of the past. `docs/mutants.md` says which check finds each.
        ///
        /// S and # with a number are those of the project's bug catalogue where no issue is named.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Bug {
            $(
                #[doc = concat!($source, ": ", $consequence, ".")]
                $name,
            )*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in code.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Who had it.
            #[must_use]
            pub fn source(self) -> &'static str {
                match self { $(Self::$name => $source,)* }
            }

            /// What comes of it.
            #[must_use]
            pub fn consequence(self) -> &'static str {
                match self { $(Self::$name => $consequence,)* }
            }
        }
    };
}

bugs! {
    // Which set is the new one, and how many there are.
    TemplatesCompared: "kubernetes#57167, #58032" =>
        "the new set is the one whose stored template equals the Deployment's text: none ever does";
    RetriesUnbounded: "kubernetes#57167, PR #142189" =>
        "a set that is not recognised is made again under another name, without end";
    CollisionNotHashed: "kubernetes#29735, #43449" =>
        "the name stays the same after a collision: it is taken for ever";
    TakenNameBelieved: "kubernetes#59213, #59212" =>
        "whoever has the name is taken for the new set, which is never created";
    NameFromVersion: "anvil#648" =>
        "the name of the new set follows from the resourceVersion: a stale cache makes a second set";
    HistoryUnbounded: "kubernetes#40068, #41432, #81761" =>
        "history is cleaned up after complete rollouts only: it leaks where none completes";
    // Scaling.
    StaleAnnotationKept: "kubernetes#102551, argo-rollouts#412" =>
        "one set of the right size with a stale annotation: every pass is a scaling pass";
    RecreateNotScaled: "kubernetes 1.36.2, S8.13" =>
        "several active sets under Recreate and another size: every pass is a scaling pass";
    EqualSizeNotAnnotated: "kubernetes#28145, #28162" =>
        "sets whose share is their size keep a stale annotation: every pass is a scaling pass";
    MaxAnnotationTrusted: "kubernetes PR #128535" =>
        "an annotation of 0 is divided by";
    ProductOverflows: "kubernetes 1.36.2, S4" =>
        "size times maximum overflows (here at 7 bits, so that a dozen pods will do): shares are wrong";
    NewSetTakesAll: "argo-rollouts#738" =>
        "the new set is created at full size beside the old ones";
    SaturatedBySize: "argo-rollouts#3275" =>
        "a scaling pass takes all old pods away once the new set has its size, available or not";
    // Availability.
    ReadyCountsAsAvailable: "kubernetes#26834" =>
        "minReadySeconds is ignored where old pods are cut";
    OldSetGrows: "kubernetes#21810, #22719" =>
        "a status that lags behind a cut makes the cut negative: the old set is scaled up";
    CutTwice: "kubernetes 1.36.2, S6.10 clamped" =>
        "a status that lags behind a cut counts for the next one: availability is spent twice";
    UnhealthyNotCut: "kubernetes#16737" =>
        "crash-looping old pods are never cut: the rollout stands still";
    OldSetsDropped: "anvil VDeployment" =>
        "all old sets go to 0 in the pass that creates the new one";
    UnavailableRoundsUp: "kubernetes, the proposal of 2016" =>
        "maxUnavailable is rounded up";
    RecreateOverlaps: "kubernetes#27362, #58814" =>
        "Recreate does not wait for pods that terminate: two versions run";
    // Errors and waiting.
    CutErrorSwallowed: "kubernetes 1.36.2, S2" =>
        "a refused cut counts as done: nobody tries again";
    KeyDropped: "kubernetes 1.36.2, S3" =>
        "a Deployment is forgotten after 15 failures in a row";
    NoBackoff: "kube#1916" =>
        "a failing Deployment is tried again every 5 ms";
    LedgerIgnored: "opensearch-k8s-operator#1471" =>
        "a pass starts from a cache that does not show the last pass's writes";
    OwnerChangeUnnoticed: "kubernetes#32829" =>
        "a set that lost its owner reference wakes nobody: it is not adopted again";
    AnnotationsUnnoticed: "a filter by generation, as operators on custom resources have it" =>
        "a change of annotations alone makes no pass";
    DeadlineInherited: "kubernetes#49637" =>
        "a new rollout starts with the old one's time: its deadline has passed at once";
    DeadlineNotAwaited: "kubernetes#44657, #40207" =>
        "nobody looks again when the deadline passes: a stuck rollout is never reported";
    StatusWrittenAlways: "openshift/origin#11656" =>
        "an equal status is written again: each write is an event, which makes a write";
    // Status and revisions.
    CountersNegative: "kubernetes#41641, #41697" =>
        "a counter is below zero while a status lags: the server refuses the status for ever";
    GenerationAhead: "knative, among others" =>
        "observedGeneration is written before the counters that belong to it";
    RevisionOverflows: "kubernetes#141853" =>
        "the revision after the largest is negative";
    RevisionGarbageKept: "kubernetes 1.36.2, S7" =>
        "a new set with a garbled revision gets no annotations any more";
    RevisionAsText: "kubernetes#49701" =>
        "9 counts as more than 10: revisions repeat";
    RevisionNotRaised: "kubernetes#51315" =>
        "a set that becomes the new one again keeps its old revision";
    CleanUpByAge: "kubernetes#82570" =>
        "the oldest sets are deleted, not the lowest revisions: the one just rolled back from goes";
    BusySetDeleted: "kubernetes, S11.5 without its check" =>
        "a set of size 0 is deleted while its pods still run";
    DeleteUnconditional: "kubernetes 1.36.2, S8" =>
        "a set is deleted by name: somebody has scaled it up meanwhile";
    RollbackDropsAnnotations: "kubernetes 1.36.2, S11" =>
        "a rollback removes annotations of other people";
    // Ownership and preconditions.
    BlindPatch: "argo-rollouts#3080, PR #3332" =>
        "patches name no version: a stale view is written over a newer object";
    ForeignSetsTaken: "kubernetes#30028, #24152" =>
        "sets of another owner that match the selector are scaled";
    AdoptedWhileOrphaned: "kubernetes#42639" =>
        "a set that the garbage collector orphans is adopted again by the Deployment that goes";
    RollsWhilePaused: "kubernetes, S13.2 without its check" =>
        "a paused Deployment rolls out";
}

#[cfg(feature = "reinjected-bugs")]
thread_local! {
    static INJECTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Puts a bug into this thread, in the place of the one that is there; `None` takes it out.
#[cfg(feature = "reinjected-bugs")]
pub fn inject(bug: Option<Bug>) {
    INJECTED.with(|injected| injected.set(bug));
}

/// Whether this thread has the bug.
#[cfg(feature = "reinjected-bugs")]
#[must_use]
pub fn has(bug: Bug) -> bool {
    INJECTED.with(std::cell::Cell::get) == Some(bug)
}

/// Never: this build cannot have bugs put back in.
#[cfg(not(feature = "reinjected-bugs"))]
#[must_use]
pub const fn has(_: Bug) -> bool {
    false
}

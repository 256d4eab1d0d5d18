//! Candidates that race: slow networks, lost requests and answers, pauses, wrong clocks, restarts.
//! At no moment do two of them lead, and in the end one does.

#![expect(clippy::indexing_slicing, clippy::expect_used, reason = "a test")]

use std::time::{Duration, Instant};

use lease::{Elector, Record, Reply, Request, Timings, Todo};

const RUNS: u64 = 300;
const CANDIDATES: usize = 3;
const TICK: Duration = Duration::from_millis(100);
/// Ticks with faults, and then without.
const STORMY: u64 = 1_200;
const CALM: u64 = 400;

/// Marsaglia's xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn part(&mut self) -> f64 {
        f64::from(u32::try_from(self.below(1000)).unwrap_or(0)) / 999.0
    }
}

/// A request on its way.
struct Flight {
    request: Request,
    sent: Instant,
    arrives: u64,
    answers: u64,
    /// `None` until it was carried out, which may be never.
    reply: Option<Reply>,
    gives_up: u64,
    is_carried_out: bool,
}

struct Candidate {
    elector: Elector,
    flight: Option<Flight>,
    /// Nothing is done before this tick: the process is stopped.
    paused_until: u64,
    clock_off: i64,
}

struct World {
    dice: Dice,
    start: Instant,
    tick: u64,
    version: u64,
    lease: Option<Record>,
    candidates: Vec<Candidate>,
    /// Requests with a sender that has died, or waits no more: they arrive all the same.
    stray: Vec<Flight>,
    names: u64,
    leads: u64,
    last_shown: Reply,
}

fn elector(name: u64) -> Elector {
    let seconds = Duration::from_secs;
    let timings = Timings::new(seconds(15), seconds(10), seconds(2)).expect("timings");
    Elector::new(format!("candidate-{name}"), timings)
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            start: Instant::now(),
            tick: 0,
            version: 0,
            lease: None,
            candidates: Vec::new(),
            stray: Vec::new(),
            names: 0,
            leads: 0,
            last_shown: Reply::Missing,
        };
        for _ in 0..CANDIDATES {
            let candidate = world.candidate();
            world.candidates.push(candidate);
        }
        world
    }

    fn candidate(&mut self) -> Candidate {
        self.names += 1;
        let clock_off = i64::try_from(self.dice.below(200)).unwrap_or(0) - 100;
        Candidate { elector: elector(self.names), flight: None, paused_until: 0, clock_off }
    }

    fn now(&self) -> Instant {
        self.start + TICK * u32::try_from(self.tick).unwrap_or(u32::MAX)
    }

    fn carry_out(&mut self, request: &Request) -> Reply {
        let version = self.version.to_string();
        let put = match (request, &self.lease) {
            (Request::Read, Some(record)) => return Reply::Lease { version, record: record.clone() },
            (Request::Read | Request::Replace { .. }, None) => return Reply::Missing,
            (Request::Create(record), None) => record,
            (Request::Replace { version: known, record }, Some(_)) if *known == version => record,
            (Request::Create(_) | Request::Replace { .. }, Some(_)) => return Reply::Failed,
        };
        self.version += 1;
        self.lease = Some(put.clone());
        Reply::Lease { version: self.version.to_string(), record: put.clone() }
    }

    fn step(&mut self, is_stormy: bool) {
        self.tick += 1;
        let mut strays = std::mem::take(&mut self.stray);
        strays.retain(|flight| {
            let is_due = flight.arrives <= self.tick;
            if is_due {
                self.carry_out(&flight.request);
            }
            !is_due
        });
        self.stray.extend(strays);
        for index in 0..self.candidates.len() {
            self.arrive(index);
            self.trouble(index, is_stormy);
            self.act(index, is_stormy);
        }
    }

    fn arrive(&mut self, index: usize) {
        let Some(mut flight) = self.candidates[index].flight.take() else { return };
        if flight.arrives <= self.tick && !flight.is_carried_out {
            flight.is_carried_out = true;
            flight.reply = Some(self.carry_out(&flight.request));
        }
        self.candidates[index].flight = Some(flight);
    }

    fn trouble(&mut self, index: usize, is_stormy: bool) {
        if !is_stormy {
            return;
        }
        match self.dice.below(1500) {
            // Stopped for up to 40 s, as by SIGSTOP.
            0..3 => self.candidates[index].paused_until = self.tick + self.dice.below(400),
            // Killed, and started again under another name.
            3..5 => {
                let flight = self.candidates[index].flight.take();
                self.stray.extend(flight.filter(|flight| !flight.is_carried_out));
                self.candidates[index] = self.candidate();
            }
            5..7 => self.candidates[index].clock_off = 0,
            7 => self.version += 1,
            8..200 => self.shown(index),
            _ => {}
        }
    }

    /// A watch shows the lease, as it is or as it was.
    fn shown(&mut self, index: usize) {
        let now = self.now();
        let version = self.version.to_string();
        if self.candidates[index].paused_until > self.tick || self.candidates[index].flight.is_some() {
            return;
        }
        if self.dice.below(4) > 0 || self.last_shown == Reply::Missing {
            self.last_shown = match &self.lease {
                Some(record) => Reply::Lease { version, record: record.clone() },
                None => Reply::Missing,
            };
        }
        let shown = self.last_shown.clone();
        self.candidates[index].elector.observe(now, shown);
    }

    fn act(&mut self, index: usize, is_stormy: bool) {
        let (tick, now) = (self.tick, self.now());
        if self.candidates[index].paused_until > tick {
            return;
        }
        if let Some(flight) = self.candidates[index].flight.take() {
            let reply = match flight.reply {
                Some(ref reply) if flight.answers <= tick => reply.clone(),
                _ if flight.gives_up <= tick => Reply::Failed,
                _ => {
                    self.candidates[index].flight = Some(flight);
                    return;
                }
            };
            self.candidates[index].elector.answered(flight.sent, now, reply);
            self.stray.extend((!flight.is_carried_out).then_some(flight));
        }
        let chance = self.dice.part();
        let candidate = &mut self.candidates[index];
        let wall = jiff::Timestamp::UNIX_EPOCH
            + jiff::SignedDuration::from_secs(
                2_000_000_000 + i64::try_from(tick / 10).unwrap_or(0) + candidate.clock_off,
            );
        if let Todo::Send(request) = candidate.elector.next(now, wall, chance) {
            let slow = if is_stormy { self.dice.below(8) } else { 1 };
            let delay = if slow == 0 { self.dice.below(120) } else { self.dice.below(3) };
            let is_lost = is_stormy && self.dice.below(20) == 0;
            let is_unanswered = is_stormy && self.dice.below(20) == 0;
            let arrives = if is_lost { u64::MAX } else { tick + delay };
            let answers = if is_unanswered { u64::MAX } else { arrives.saturating_add(delay) };
            let flight = Flight {
                request,
                sent: now,
                arrives,
                answers,
                reply: None,
                gives_up: tick + 50,
                is_carried_out: false,
            };
            self.candidates[index].flight = Some(flight);
        }
    }

    /// Who could write at this moment; one that is stopped could the moment it continues.
    fn leaders(&self) -> Vec<&Elector> {
        let electors = self.candidates.iter().map(|candidate| &candidate.elector);
        electors.filter(|elector| elector.lead(self.now()).is_some()).collect()
    }
}

#[test]
fn two_never_lead_and_one_does_in_the_end() {
    let mut leads = 0;
    for seed in 1..=RUNS {
        let mut world = World::new(seed);
        for round in 0..STORMY + CALM {
            world.step(round < STORMY);
            let leaders = world.leaders();
            assert!(leaders.len() <= 1, "seed {seed}, tick {}: {leaders:?}", world.tick);
            world.leads += leaders.len() as u64;
        }
        assert_eq!(world.leaders().len(), 1, "seed {seed}: nobody leads after 40 s of calm");
        leads += world.leads;
    }
    // Were the lease hardly ever held, the test would show nothing.
    assert!(leads > RUNS * (STORMY + CALM) / 2, "held in {leads} ticks only");
}

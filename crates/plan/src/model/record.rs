//! The record of one rollout: what `status.rollout` and `status.history` hold (rollwright.dev). It is for people.
//! A decision reads at most whether one is open.

use jiff::Timestamp;

use crate::model::trigger::Trigger;

/// The most records that the history holds.
pub const RECORDS_MAX: usize = 10;
/// The most bytes that a record has as JSON.
pub const RECORD_BYTES_MAX: usize = BYTES_MAX + PROMOTIONS_MAX * PROMOTION_BYTES_MAX;
/// The most bytes of everything but its promotions.
const BYTES_MAX: usize = 600;
/// What of it an open record leaves to its end: the time, the outcome, its reason, and some of its message. Until then,
/// the step has it.
const ROOM_FOR_THE_END: usize = 140;
/// The most promotions that are remembered: as many as a list may have steps.
const PROMOTIONS_MAX: usize = 20;
/// The most bytes of one as JSON.
const PROMOTION_BYTES_MAX: usize = 120;
/// The names of all members, and what separates them.
const NAMES: usize = 235;
const QUOTES: usize = 2;
/// A time as text.
const TIME: usize = 20 + QUOTES;
/// The most images that are named; the others are counted.
const IMAGES_MAX: usize = 8;
/// The most bytes of a text that has others beside it: a name, or a reason.
const NAME_MAX: usize = 48;
/// The most bytes of a user's name: that of a service account has its namespace in it.
const USER_MAX: usize = 64;
/// All ids are below this: what every reader of JSON can hold.
pub const ID_MAX: i64 = (1 << 53) - 1;

/// How a rollout ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// All pods are new and available.
    Succeeded,
    /// The rollout made no progress until its deadline.
    Failed,
    /// Another template came before it ended.
    Superseded,
    /// A rollback came before it ended.
    Cancelled,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Failed, Self::Superseded, Self::Cancelled];

    /// The word for it in the status and in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Superseded => "Superseded",
            Self::Cancelled => "Cancelled",
        }
    }
}

/// Who changed a template, as far as it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The person, if a policy of the cluster notes it.
    pub user: Option<String>,
}

impl Author {
    /// The author with the person. The person's name is cut to its bound. `None` if nobody is known.
    pub(crate) fn with_user(author: Option<Self>, user: Option<&String>) -> Option<Self> {
        let user = user.map(|user| fit(user, USER_MAX));
        let author = author.or_else(|| user.is_some().then(Self::default));
        author.map(|author| Self { user, ..author })
    }
}

/// Who changed `spec.replicas`, as far as it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scaler {
    /// The field manager.
    pub manager: String,
    /// `scale` for autoscalers; empty for the object itself.
    pub subresource: String,
    /// When.
    pub time: Option<Timestamp>,
}

/// Who wrote what of a Deployment, by `metadata.managedFields`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authors {
    /// Of `spec.template`.
    pub template: Option<Author>,
    /// Of `spec.rollbackTo`.
    pub rollback: Option<Author>,
    /// Of `spec.pin`.
    pub pin: Option<Author>,
    /// Of the annotation [`PROMOTE`](crate::model::keys::PROMOTE).
    pub promotion: Option<Author>,
    /// Of `spec.replicas`; `None` once the status reports them.
    pub replicas: Option<Scaler>,
}

/// A promotion that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// The step that it leads to, counted from 1.
    pub step: i64,
    /// The field manager that asked for it; empty if that is not known.
    pub manager: String,
    /// When the operator carried it out, in whole seconds.
    pub time: Option<Timestamp>,
    /// Whether it passed a gate that had not passed (GA-8).
    pub is_forced: bool,
}

impl Promotion {
    /// Cuts a list to its bound: the latest ones stay.
    pub(crate) fn cut(promotions: &mut Vec<Self>) {
        promotions.drain(..promotions.len().saturating_sub(PROMOTIONS_MAX));
        for promotion in promotions {
            promotion.manager = fit(&promotion.manager, NAME_MAX);
        }
    }
}

/// `status.lastScale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastScale {
    /// `spec.replicas` before.
    pub from: i64,
    /// `spec.replicas` now.
    pub to: i64,
    /// Who changed it.
    pub by: Scaler,
}

/// One rollout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Counts rollouts, from 1.
    pub id: i64,
    /// The revision that is rolled out.
    pub revision: i64,
    /// Its `pod-template-hash`.
    pub hash: String,
    /// The revision before.
    pub from: Option<i64>,
    /// Container and image, in the order of the template.
    pub images: Vec<(String, String)>,
    /// How many images there are beside those.
    pub more_images: usize,
    /// Why it began; `None` if that cannot be read.
    pub trigger: Option<Trigger>,
    /// Who changed the template.
    pub author: Option<Author>,
    /// The change-cause.
    pub cause: Option<String>,
    /// When the operator began it.
    pub start_time: Option<Timestamp>,
    /// The fewest available pods that a status reported meanwhile.
    pub lowest_available: i64,
    /// The most pods that a status reported meanwhile.
    pub highest_pods: i64,
    /// The step at which it is, counted from 1, while it runs and has steps (SP-8).
    pub step: Option<i64>,
    /// How many steps there are.
    pub steps: Option<i64>,
    /// Pods that are updated.
    pub updated: Option<i64>,
    /// Pods that this step updates.
    pub target_pods: Option<i64>,
    /// What its deployment process allows, while one runs (CU-2).
    pub allowed: Option<String>,
    /// Since when it waits there, in whole seconds; `None` while it is on its way.
    pub rest_start_time: Option<Timestamp>,
    /// Promotions of the revision, oldest first (SP-6).
    pub promotions: Vec<Promotion>,
    /// How it ended; `None` while it runs.
    pub end: Option<End>,
}

/// How a rollout ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// When.
    pub time: Timestamp,
    /// How.
    pub outcome: Outcome,
    /// One word, if it failed.
    pub reason: Option<String>,
    /// For people, if it failed.
    pub message: Option<String>,
}

/// What is kept of `status.history` while nothing is added to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryHead {
    /// The highest id.
    pub id: i64,
    /// How many entries there are, odd ones too.
    pub length: usize,
    /// The revision of the newest record.
    pub revision: i64,
    /// The revision before that one.
    pub from: Option<i64>,
    /// Why its rollout began.
    pub trigger: Option<Trigger>,
    /// When the newest rollout began.
    pub start_time: Option<Timestamp>,
    /// Places of entries that are no records, rising. Somebody else wrote them; they go with the next write.
    pub odd: Vec<usize>,
}

impl HistoryHead {
    /// How many entries are records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.length.saturating_sub(self.odd.len())
    }
}

impl Record {
    /// The images of a template with these containers and images, separated by commas.
    pub(crate) fn with_images(mut self, containers: &str, images: &str) -> Self {
        let parts = |text: &str| -> Vec<String> { text.split(',').map(str::to_owned).collect() };
        let is_empty = images.is_empty();
        let (names, images) = (parts(containers), parts(images));
        // A container without an image has left no gap: then nobody knows which image belongs to which container.
        if names.len() == images.len() && !is_empty {
            let pairs =
                names.into_iter().zip(images).map(|(name, image)| (fit(&name, NAME_MAX), clean(&image)));
            self.images = pairs.collect();
        }
        self
    }

    /// Cuts an open record to what it may take: images and texts give way to what is counted.
    pub(crate) fn bounded(mut self) -> Self {
        let room = BYTES_MAX.saturating_sub(ROOM_FOR_THE_END);
        self.hash = fit(&self.hash, NAME_MAX / 2);
        if let Some(author) = &mut self.author {
            author.manager = fit(&author.manager, NAME_MAX);
            author.operation = fit(&author.operation, NAME_MAX / 4);
            author.user = author.user.as_deref().map(|user| fit(user, USER_MAX));
        }
        Promotion::cut(&mut self.promotions);
        let cause = self.cause.take();
        let images = std::mem::take(&mut self.images);
        let count = images.len();
        let mut left = room.saturating_sub(self.bytes());
        for (name, image) in images.into_iter().take(IMAGES_MAX) {
            let Some(rest) = left.checked_sub(pair(&name, &image)) else { break };
            left = rest;
            self.images.push((name, image));
        }
        self.more_images = self.more_images.saturating_add(count - self.images.len());
        self.cause = cause.map(|cause| fit(&cause, left.saturating_sub(QUOTES)));
        self.cause.take_if(|cause| cause.is_empty());
        self
    }

    /// The record without a step.
    pub(crate) fn without_step(self) -> Self {
        Self {
            step: None,
            steps: None,
            updated: None,
            target_pods: None,
            allowed: None,
            rest_start_time: None,
            ..self
        }
    }

    /// A status reports these counts.
    pub(crate) fn tally(&mut self, available: i64, pods: i64) {
        self.lowest_available = self.lowest_available.min(available);
        self.highest_pods = self.highest_pods.max(pods);
    }

    /// The record with its end, cut to what a record may take.
    pub(crate) fn ended(mut self, time: Timestamp, outcome: Outcome, reason: Option<(&str, String)>) -> Self {
        // What runs was read from the status, where others can write, too.
        self = self.bounded().without_step();
        let (reason, message) = reason.unzip();
        let reason = reason.map(|reason| fit(reason, NAME_MAX));
        self.end = Some(End { time, outcome, reason, message: None });
        let room = BYTES_MAX.saturating_sub(self.bytes() + QUOTES);
        if let Some(end) = &mut self.end {
            end.message = message.map(|message| fit(&message, room)).filter(|message| !message.is_empty());
        }
        self
    }

    /// How long it took, once it has ended.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        Some(self.end.as_ref()?.time.duration_since(self.start_time?).as_secs_f64().max(0.0))
    }

    /// As many bytes as it has as JSON without its promotions, or a few more.
    fn bytes(&self) -> usize {
        let number = |number: i64| number.to_string().len();
        let quoted = |text: &str| length(text) + QUOTES;
        let word = |word: Option<&str>| word.map_or(0, quoted);
        let more_images = i64::try_from(self.more_images).unwrap_or(i64::MAX);
        let counts =
            [self.id, self.revision, self.from.unwrap_or(0), self.lowest_available, self.highest_pods];
        let counts: usize = counts.into_iter().chain([more_images]).map(number).sum();
        let images: usize = self.images.iter().map(|(name, image)| pair(name, image)).sum();
        let texts = [self.trigger.map(Trigger::as_str), Some(self.hash.as_str()), self.cause.as_deref()];
        let texts: usize = texts.into_iter().map(word).sum();
        let author = self.author.as_ref().map_or(0, |Author { manager, operation, user }| {
            quoted(manager) + quoted(operation) + word(user.as_deref())
        });
        let end = self.end.as_ref().map_or(0, |End { outcome, reason, message, .. }| {
            TIME + quoted(outcome.as_str()) + word(reason.as_deref()) + word(message.as_deref())
        });
        NAMES + counts + images + texts + TIME + author + end
    }
}

/// What an image takes beside others.
fn pair(name: &str, image: &str) -> usize {
    length(name) + length(image) + "\"\":\"\",".len()
}

/// How long a text is in JSON, without its quotes.
fn length(text: &str) -> usize {
    text.chars().map(escaped).sum()
}

fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    }
}

/// Without what a terminal would act on.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As much of a text as has room.
fn fit(text: &str, room: usize) -> String {
    const ELLIPSIS: char = '…';
    let text = clean(text.trim());
    if length(&text) <= room {
        return text;
    }
    let Some(mut left) = room.checked_sub(ELLIPSIS.len_utf8()) else { return String::new() };
    let has_room = |c: &char| {
        let rest = left.checked_sub(escaped(*c));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(has_room).chain([ELLIPSIS]).collect()
}

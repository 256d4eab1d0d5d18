//! Texts: those that nearly every object has are one byte, digests and uids half their length.

use std::borrow::Cow;

use plan::keys::{self, condition, reason};

use super::codec::{Reader, unsigned};
use crate::uid::{Uid, from_hex, hex, uuid, uuid_text};

/// A fingerprint that stands before: how many bytes before this one its digest begins. A ReplicaSet has one twice: in
/// the annotation, and read from it.
const AGAIN: u8 = 0x7c;
/// A UUID: 16 bytes.
const UUID: u8 = 0x7d;
/// A fingerprint: the 32 bytes of its digest.
const FINGERPRINT: u8 = 0x7e;
/// A length, and that many bytes.
const LONG: u8 = 0x7f;
/// From here on the length is in the same byte.
const SHORT: u8 = 0x80;
const FINGERPRINT_PREFIX: &str = "v1:";

/// Texts that are stored as their place in this table.
pub(super) const KNOWN: &[&str] = &[
    "",
    "0",
    "1",
    "True",
    "False",
    "Unknown",
    "25%",
    "0/0",
    "app",
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "Helm",
    "helm.sh/chart",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    keys::HASH_LABEL,
    keys::MANAGED_LABEL,
    keys::MANAGED_VALUE,
    keys::FINGERPRINTS,
    keys::REVISION,
    keys::REVISION_HISTORY,
    keys::DESIRED_REPLICAS,
    keys::MAX_REPLICAS,
    keys::LAST_APPLIED,
    keys::CHANGE_CAUSE,
    condition::AVAILABLE,
    condition::PROGRESSING,
    condition::REPLICA_FAILURE,
    condition::READY,
    reason::MINIMUM_REPLICAS_AVAILABLE,
    reason::NEW_REPLICA_SET_AVAILABLE,
    reason::ROLLOUT_COMPLETE,
    "Deployment has minimum availability.",
    "Update",
    "Apply",
    "kubectl-client-side-apply",
    "kubectl",
    "kubectl-set",
    "kubectl-edit",
    "kubectl-rollout",
    "kubectl-create",
    "argocd-controller",
    "kustomize-controller",
    "helm",
    "helm-controller",
    "scale",
];

const _: () = assert!(KNOWN.len() <= AGAIN as usize);

/// A text as it was packed.
pub(crate) enum Text<'a> {
    Plain(Cow<'a, str>),
    Uuid([u8; 16]),
    Fingerprint([u8; 32]),
}

pub(super) fn pack(text: &str, out: &mut Vec<u8>) {
    // The last byte first: most texts are in no need of more.
    let is_known = |known: &str| known.as_bytes().last() == text.as_bytes().last() && known == text;
    if let Some(place) = KNOWN.iter().copied().position(is_known) {
        out.extend(u8::try_from(place));
    } else if let Some(bytes) = uuid(text) {
        out.push(UUID);
        out.extend(bytes);
    } else if let Some(digest) = digest(text) {
        if let Some(place) = out.windows(digest.len()).rposition(|bytes| *bytes == digest) {
            let back = out.len() - place;
            out.push(AGAIN);
            unsigned(back as u64, out);
            return;
        }
        out.push(FINGERPRINT);
        out.extend(digest);
    } else {
        match u8::try_from(text.len()).ok().and_then(|length| length.checked_add(SHORT)) {
            Some(short) => out.push(short),
            None => {
                out.push(LONG);
                unsigned(text.len() as u64, out);
            }
        }
        out.extend(text.as_bytes());
    }
}

/// Takes a text off the front.
pub(crate) fn text<'a>(from: &mut Reader<'a>) -> Text<'a> {
    let at = from.position();
    let length = match from.byte() {
        AGAIN => {
            let back = usize::try_from(from.unsigned()).unwrap_or(usize::MAX);
            return Text::Fingerprint(from.array_at(at.saturating_sub(back)));
        }
        UUID => return Text::Uuid(from.array()),
        FINGERPRINT => return Text::Fingerprint(from.array()),
        LONG => usize::try_from(from.unsigned()).unwrap_or(usize::MAX),
        short if short >= SHORT => usize::from(short - SHORT),
        place => return Text::Plain(KNOWN.get(usize::from(place)).copied().unwrap_or_default().into()),
    };
    let bytes = from.bytes(length);
    // The lossy way alone takes several times as long.
    Text::Plain(str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed))
}

impl<'a> From<Text<'a>> for Cow<'a, str> {
    fn from(text: Text<'a>) -> Self {
        match text {
            Text::Plain(text) => text,
            Text::Uuid(bytes) => uuid_text(&bytes).into(),
            Text::Fingerprint(digest) => {
                let mut text = Vec::with_capacity(FINGERPRINT_PREFIX.len() + 2 * digest.len());
                text.extend(FINGERPRINT_PREFIX.as_bytes());
                text.extend(digest.into_iter().flat_map(hex));
                String::from_utf8(text).unwrap_or_default().into()
            }
        }
    }
}

impl From<Text<'_>> for Uid {
    fn from(text: Text<'_>) -> Self {
        match text {
            Text::Uuid(bytes) => Self::Uuid(bytes),
            text => Self::from(&*Cow::from(text)),
        }
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    from_hex(text.strip_prefix(FINGERPRINT_PREFIX)?.bytes())
}

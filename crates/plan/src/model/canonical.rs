//! Writes JSON in a canonical form: the members of objects in order, and without those that mean nothing.
//!
//! The JSON is a text or a tree. The writer makes no tree of a text: a tree takes up to ninety times the bytes of its
//! text, and everyone who may write an object would decide how much memory that is.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What is neither an object nor an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(&'a str),
}

/// What was between brackets, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// An object with this number of members.
    Object(usize),
    /// An array with this number of items.
    Array(usize),
}

/// How the value at one place is written.
pub(crate) trait Form: Copy {
    /// The form of a member of the object here.
    fn member(self, key: &str) -> Self;
    /// The form of an item of the array here.
    fn item(self) -> Self;
    /// An object begins here.
    fn begins(self) {}
    /// Whether it counts as a member.
    fn counts(self) -> bool {
        true
    }
    /// Writes what stands here. Returns whether a member with it is the same as none.
    fn scalar(self, scalar: Scalar<'_>, out: &mut Vec<u8>) -> bool;
    /// An object or array was `written` here. Returns whether a member with it is the same as none.
    fn is_absent(self, brackets: Brackets, written: &[u8]) -> bool;
}

/// Writes JSON in a form. Returns whether it would be absent as a member.
pub(crate) fn write<'de, D: Deserializer<'de>>(
    json: D,
    form: impl Form,
    out: &mut Vec<u8>,
) -> Result<bool, D::Error> {
    Writer { form, out }.deserialize(json)
}

/// A scalar as serde_json writes it.
pub(crate) fn write_scalar(scalar: Scalar<'_>, out: &mut Vec<u8>) {
    match scalar {
        Scalar::Null => out.extend_from_slice(b"null"),
        Scalar::Bool(flag) => write_json(&flag, out),
        Scalar::Signed(number) => write_json(&number, out),
        Scalar::Unsigned(number) => write_json(&number, out),
        Scalar::Float(number) => write_json(&number, out),
        Scalar::Text(text) => write_text(text, out),
    }
}

/// A text as serde_json writes it; mostly nothing of it has to be escaped.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let is_plain = |plain: bool, byte: u8| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\');
    if text.bytes().fold(true, is_plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        write_json(text, out);
    }
}

fn write_json(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    // Texts, numbers and truth values can be written, and memory takes what is written to it.
    _ = serde_json::to_writer(out, value);
}

struct Writer<'a, F> {
    form: F,
    out: &'a mut Vec<u8>,
}

impl<'de, F: Form> DeserializeSeed<'de> for Writer<'_, F> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_any(self)
    }
}

impl<F: Form> Writer<'_, F> {
    fn scalar<E>(self, scalar: Scalar<'_>) -> Result<bool, E> {
        Ok(self.form.scalar(scalar, self.out))
    }
}

impl<'de, F: Form> Visitor<'de> for Writer<'_, F> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.scalar(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<bool, E> {
        self.scalar(Scalar::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<bool, E> {
        self.scalar(Scalar::Signed(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<bool, E> {
        self.scalar(Scalar::Unsigned(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<bool, E> {
        self.scalar(Scalar::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        self.scalar(Scalar::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let (start, mut count) = (self.out.len(), 0);
        self.out.push(b'[');
        loop {
            let end = self.out.len();
            if count > 0 {
                self.out.push(b',');
            }
            if items.next_element_seed(Writer { form: self.form.item(), out: &mut *self.out })?.is_none() {
                self.out.truncate(end);
                break;
            }
            count += 1;
        }
        self.out.push(b']');
        Ok(self.form.is_absent(Brackets::Array(count), self.out.get(start..).unwrap_or_default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let (form, out) = (self.form, self.out);
        let (start, mut count) = (out.len(), 0);
        form.begins();
        let mut object = Object { start, last: None, is_in_order: true, members: Vec::new() };
        while let Some(form) = members.next_key_seed(Key { form, object: &mut object, out: &mut *out })? {
            count += usize::from(form.counts());
            let is_absent = members.next_value_seed(Writer { form, out: &mut *out })?;
            object.end_member(is_absent, out);
        }
        object.end(out);
        Ok(form.is_absent(Brackets::Object(count), out.get(start..).unwrap_or_default()))
    }
}

/// An object while it is written.
struct Object {
    start: usize,
    /// The greatest key so far, while they are in order.
    last: Option<String>,
    is_in_order: bool,
    members: Vec<Member>,
}

/// Where a member is written. One that is absent has a key and no value.
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Object {
    fn begin_member(&mut self, key: &str, out: &mut Vec<u8>) {
        // Each has a separator before it, and the first one the bracket.
        out.push(if out.len() == self.start { b'{' } else { b',' });
        let start = out.len();
        write_text(key, out);
        let key_end = out.len();
        out.push(b':');
        self.is_in_order &= self.last.as_deref().is_none_or(|last| last < key);
        let last = self.last.get_or_insert_default();
        last.clear();
        last.push_str(key);
        self.members.push(Member { start, key_end, end: key_end });
    }

    fn end_member(&mut self, is_absent: bool, out: &mut Vec<u8>) {
        let Some(member) = self.members.last_mut() else { return };
        if !is_absent {
            member.end = out.len();
        } else if self.is_in_order {
            // None of the same key came before it.
            out.truncate(member.start - 1);
            self.members.pop();
        } else {
            out.truncate(member.key_end);
        }
    }

    fn end(mut self, out: &mut Vec<u8>) {
        if out.len() == self.start {
            out.push(b'{');
        }
        if !self.is_in_order {
            self.put_in_order(out);
        }
        out.push(b'}');
    }

    /// Of members with the same key the last one counts, even if it is absent.
    fn put_in_order(&mut self, out: &mut Vec<u8>) {
        let of = |range: Range<usize>| out.get(range).unwrap_or_default();
        let key = |member: &Member| -> String {
            serde_json::from_slice(of(member.start..member.key_end)).unwrap_or_default()
        };
        self.members.sort_by_cached_key(key);
        let mut ordered = Vec::with_capacity(out.len() - self.start);
        let mut members = self.members.iter().peekable();
        while let Some(member) = members.next() {
            let text = |member: &Member| of(member.start..member.key_end);
            let is_last = members.peek().is_none_or(|next| text(next) != text(member));
            if is_last && member.end > member.key_end {
                ordered.push(if ordered.is_empty() { b'{' } else { b',' });
                ordered.extend_from_slice(of(member.start..member.end));
            }
        }
        if ordered.is_empty() {
            ordered.push(b'{');
        }
        out.truncate(self.start);
        out.append(&mut ordered);
    }
}

/// Writes a key. Gives the form of its value.
struct Key<'a, F> {
    form: F,
    object: &'a mut Object,
    out: &'a mut Vec<u8>,
}

impl<'de, F: Form> DeserializeSeed<'de> for Key<'_, F> {
    type Value = F;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<F, D::Error> {
        key.deserialize_str(self)
    }
}

impl<F: Form> Visitor<'_> for Key<'_, F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<F, E> {
        self.object.begin_member(key, self.out);
        Ok(self.form.member(key))
    }
}

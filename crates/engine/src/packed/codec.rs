//! How values become bytes and values again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::text;

/// A value that can be packed. Unpacking what [`Pack::pack`] wrote gives an equal value; from other
/// bytes comes any value, and never a panic.
pub trait Pack: Sized {
    /// Appends it.
    fn pack(&self, out: &mut Vec<u8>);
    /// Takes it off the front.
    fn unpack(from: &mut Reader<'_>) -> Self;
}

/// Bytes that are read from the front; behind their end are zeros.
pub struct Reader<'a> {
    all: &'a [u8],
    rest: &'a [u8],
    /// How many values of JSON are being read, each in the one before.
    depth: u8,
}

/// Values that are nested deeper are not read: more than `serde_json` reads (128).
const DEPTH_MAX: u8 = 200;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { all: bytes, rest: bytes, depth: 0 }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// This many bytes, or as many as are left.
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap_or([0; N])
    }

    /// How many bytes were read.
    pub(crate) fn position(&self) -> usize {
        self.all.len().saturating_sub(self.rest.len())
    }

    /// What stands elsewhere.
    pub(crate) fn array_at<const N: usize>(&self, position: usize) -> [u8; N] {
        let from = self.all.get(position..).and_then(|rest| rest.first_chunk());
        from.copied().unwrap_or([0; N])
    }

    /// A number as [`unsigned`] writes it.
    pub(crate) fn unsigned(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    /// The length of a list; every entry has at least one byte.
    fn length(&mut self) -> usize {
        usize::try_from(self.unsigned()).unwrap_or(usize::MAX).min(self.rest.len())
    }
}

/// Seven bits to a byte, the lowest first.
pub(crate) fn unsigned(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

impl Pack for i64 {
    /// Small numbers in few bytes, whatever their sign.
    fn pack(&self, out: &mut Vec<u8>) {
        unsigned((self << 1 ^ self >> 63).cast_unsigned(), out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        let number = from.unsigned();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

impl Pack for i32 {
    fn pack(&self, out: &mut Vec<u8>) {
        i64::from(*self).pack(out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self::try_from(i64::unpack(from)).unwrap_or_default()
    }
}

impl Pack for usize {
    fn pack(&self, out: &mut Vec<u8>) {
        unsigned(*self as u64, out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self::try_from(from.unsigned()).unwrap_or_default()
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        from.byte() != 0
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Vec<u8>) {
        text::pack(self, out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Cow::from(text::text(from)).into_owned()
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        bool::unpack(from).then(|| T::unpack(from))
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        T::pack(self, out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self::new(T::unpack(from))
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, out: &mut Vec<u8>) {
        self.0.pack(out);
        self.1.pack(out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        (A::unpack(from), B::unpack(from))
    }
}

impl<T: Pack> Pack for Arc<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        T::pack(self, out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self::new(T::unpack(from))
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        unsigned(self.len() as u64, out);
        self.iter().for_each(|item| item.pack(out));
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        (0..from.length()).map(|_| T::unpack(from)).collect()
    }
}

fn pack_members<'a, T: Pack + 'a>(
    members: impl ExactSizeIterator<Item = (&'a String, &'a T)>,
    out: &mut Vec<u8>,
) {
    unsigned(members.len() as u64, out);
    for (key, value) in members {
        key.pack(out);
        value.pack(out);
    }
}

impl<T: Pack> Pack for BTreeMap<String, T> {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_members(self.iter(), out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        (0..from.length()).map(|_| (String::unpack(from), T::unpack(from))).collect()
    }
}

impl Pack for Timestamp {
    fn pack(&self, out: &mut Vec<u8>) {
        self.as_second().pack(out);
        self.subsec_nanosecond().pack(out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        let (second, nanosecond) = (i64::unpack(from), i32::unpack(from));
        Self::new(second, nanosecond).unwrap_or(Self::MIN)
    }
}

impl<const N: usize> Pack for [u8; N] {
    /// Zeros, which stand for nothing, are not written.
    fn pack(&self, out: &mut Vec<u8>) {
        let is_something = *self != [0; N];
        is_something.pack(out);
        if is_something {
            out.extend(self);
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        if bool::unpack(from) { from.array() } else { [0; N] }
    }
}

impl Pack for serde_json::Map<String, Value> {
    fn pack(&self, out: &mut Vec<u8>) {
        pack_members(self.iter(), out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        (0..from.length()).map(|_| (String::unpack(from), Value::unpack(from))).collect()
    }
}

impl Pack for Value {
    fn pack(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::Bool(value) => out.push(1 + u8::from(*value)),
            Self::Number(number) => pack_number(number, out),
            Self::String(text) => {
                out.push(6);
                text.pack(out);
            }
            Self::Array(items) => {
                out.push(7);
                items.pack(out);
            }
            Self::Object(members) => {
                out.push(8);
                members.pack(out);
            }
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        if from.depth >= DEPTH_MAX {
            return Self::Null;
        }
        from.depth += 1;
        let value = unpack_value(from);
        from.depth -= 1;
        value
    }
}

fn unpack_value(from: &mut Reader<'_>) -> Value {
    match from.byte() {
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => i64::unpack(from).into(),
        4 => from.unsigned().into(),
        5 => Number::from_f64(f64::from_le_bytes(from.array())).map_or(Value::Null, Value::Number),
        6 => Value::String(String::unpack(from)),
        7 => Value::Array(Vec::unpack(from)),
        8 => Value::Object(Pack::unpack(from)),
        9 => serde_json::from_str(&String::unpack(from)).unwrap_or_default(),
        _ => Value::Null,
    }
}

fn pack_number(number: &Number, out: &mut Vec<u8>) {
    if let Some(number) = number.as_i64() {
        out.push(3);
        number.pack(out);
    } else if let Some(number) = number.as_u64() {
        out.push(4);
        unsigned(number, out);
    } else if let Some(float) = number.as_f64().filter(|f| Number::from_f64(*f).as_ref() == Some(number)) {
        out.push(5);
        out.extend(float.to_le_bytes());
    } else {
        // Only with serde_json's feature `arbitrary_precision`.
        out.push(9);
        number.to_string().pack(out);
    }
}

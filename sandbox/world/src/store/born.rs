//! How objects are counted as they come: their uids and generated names follow from that.

/// The objects of a namespace that is set apart are counted from here: nobody else counts so far.
const APART: u64 = 1 << 40;

/// How many objects there have been.
#[derive(Clone, Debug, Default)]
pub(super) struct Born {
    all: u64,
    /// A namespace that has a count of its own.
    apart: Option<(String, u64)>,
}

impl Born {
    pub(super) fn set_apart(&mut self, namespace: &str) {
        self.apart = Some((namespace.to_owned(), APART));
    }

    fn count(&mut self, namespace: &str) -> &mut u64 {
        match &mut self.apart {
            Some((apart, count)) if apart == namespace => count,
            _ => &mut self.all,
        }
    }

    /// The uid of the next object.
    pub(super) fn uid(&mut self, namespace: &str) -> String {
        let count = self.count(namespace);
        *count += 1;
        format!("00000000-0000-4000-8000-{count:012x}")
    }

    /// The end of the name that is generated for the next object.
    pub(super) fn suffix(&mut self, namespace: &str) -> String {
        suffix(*self.count(namespace) + 1)
    }
}

/// Five characters of the alphabet that the API server uses, different for different numbers.
fn suffix(number: u64) -> String {
    const ALPHABET: [char; 27] = [
        'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z',
        '2', '4', '5', '6', '7', '8', '9',
    ];
    // A multiplier without common divisor with 27⁵ spreads neighbours apart.
    let mut rest = number.wrapping_mul(7_368_787) % 27_u64.pow(5);
    let mut text = String::new();
    for _ in 0..5 {
        let digit = usize::try_from(rest % 27).unwrap_or(0);
        text.extend(ALPHABET.get(digit));
        rest /= 27;
    }
    text
}

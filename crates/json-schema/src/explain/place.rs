//! Where a JSON text is, that may have ended anywhere.
//!
//! A grammar has read the text, so what is not JSON is read as well as it goes.

/// A step down from a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// What is open around a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Open {
    /// An object: the keys that it has, the last one included.
    Object { keys: Vec<String> },
    /// An array: how many items it has, one that is an array or object as soon as it begins.
    Array { n_items: usize },
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// A value that begins at this byte, or that is to begin there.
    Value(usize),
    /// A key, the same.
    Key(usize),
    /// The colon after a key.
    Colon,
    /// What follows a member or item, or the end of the text.
    After,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) open: Vec<Open>,
    pub(super) spot: Spot,
}

impl Place {
    /// The place after a text.
    pub(super) fn after(text: &[u8]) -> Place {
        let mut open: Vec<Open> = Vec::new();
        let mut spot = Spot::Value(0);
        let mut at = 0;
        while at < text.len() {
            if text[at].is_ascii_whitespace() {
                at += 1;
                spot = match spot {
                    Spot::Value(_) => Spot::Value(at),
                    Spot::Key(_) => Spot::Key(at),
                    other => other,
                };
                continue;
            }
            match (spot, text[at]) {
                (Spot::Value(_), b'{') => {
                    count_item(&mut open);
                    open.push(Open::Object { keys: Vec::new() });
                    spot = Spot::Key(at + 1);
                }
                (Spot::Value(_), b'[') => {
                    count_item(&mut open);
                    open.push(Open::Array { n_items: 0 });
                    spot = Spot::Value(at + 1);
                }
                (Spot::Value(_) | Spot::Key(_) | Spot::After, b'}' | b']') => {
                    open.pop();
                    spot = Spot::After;
                }
                (Spot::Value(_), _) => {
                    let begin = at;
                    let Some(length) = scalar_length(&text[begin..]) else {
                        return Place { open, spot: Spot::Value(begin) };
                    };
                    count_item(&mut open);
                    at = begin + length;
                    spot = Spot::After;
                    continue;
                }
                (Spot::Key(_), _) => {
                    let begin = at;
                    let Some(length) = scalar_length(&text[begin..]) else {
                        return Place { open, spot: Spot::Key(begin) };
                    };
                    at = begin + length;
                    if let Some(Open::Object { keys }) = open.last_mut() {
                        keys.push(string_of(&text[begin..at]).unwrap_or_default());
                    }
                    spot = Spot::Colon;
                    continue;
                }
                (Spot::Colon, _) => spot = Spot::Value(at + 1),
                (Spot::After, _) => {
                    spot = match open.last() {
                        Some(Open::Object { .. }) => Spot::Key(at + 1),
                        _ => Spot::Value(at + 1),
                    };
                }
            }
            at += 1;
        }
        Place { open, spot }
    }

    /// The way to the value in progress, or that the place is after; of a key, to the object that has it.
    pub(super) fn path(&self) -> Vec<Step> {
        let is_within = |depth: usize| depth + 1 < self.open.len();
        let steps = self.open.iter().enumerate().filter_map(|(depth, open)| match (open, self.spot) {
            (_, Spot::Key(_) | Spot::After) if !is_within(depth) => None,
            (Open::Object { keys }, _) => keys.last().map(|key| Step::Key(key.clone())),
            (Open::Array { n_items }, Spot::Value(_)) if !is_within(depth) => Some(Step::Item(*n_items)),
            (Open::Array { n_items }, _) => Some(Step::Item(n_items.saturating_sub(1))),
        });
        steps.collect()
    }
}

fn count_item(open: &mut [Open]) {
    if let Some(Open::Array { n_items }) = open.last_mut() {
        *n_items += 1;
    }
}

/// How long the string, number or word is that a text begins with; `None` if it may not be over.
pub(super) fn scalar_length(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        let is_over = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace();
        return text.iter().position(is_over);
    }
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The string that a literal writes, also one that has not ended; `None` if what is there of it is none. An
/// escape that is cut off is left out.
pub(super) fn string_of(literal: &[u8]) -> Option<String> {
    // Two escapes of a pair have twelve bytes, a character four.
    let cut = |n_less: usize| {
        let text = std::str::from_utf8(literal.get(..literal.len().checked_sub(n_less)?)?).ok()?;
        serde_json::from_str(&format!("{text}\"")).ok()
    };
    serde_json::from_slice(literal).ok().or_else(|| (0..12).find_map(cut))
}

/// The most characters of a keyword's value that are shown.
const MAX_SHOWN: usize = 80;

/// A text with its end left out if it is long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => maskwright_error::shown(text),
        Some((end, _)) => format!("{}…", maskwright_error::shown(&text[..end])),
    }
}

/// The JSON pointer of a path.
pub(super) fn pointer(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Step::Item(index) => format!("/{index}"),
    };
    path.iter().map(step).collect()
}

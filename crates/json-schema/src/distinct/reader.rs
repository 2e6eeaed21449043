//! What a session has read of a text: the open arrays and objects, and the keys and items that were there.
//!
//! See [`Distinct`](super::Distinct) for what it keeps, and for the costs.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Mark, Marks, Watching};
use rpds::{ListSync, RedBlackTreeSetSync, VectorSync};

use crate::source::json_value::{JsonValue, begins_with, escape_goes_on, unescaped_so_far};

/// Classes of no more keys than this are taken as names, in any order.
pub(crate) const FEW_KEYS: u64 = 64;

/// Fewer keys than this never use up those of a class (which has more than [`FEW_KEYS`]), nor do those of one
/// more token that is of no doubt.
const MANY_KEYS: usize = FEW_KEYS as usize / 2;

/// How many characters are looked at that may come next in a key that was there.
const MAX_NEXT: usize = 1_000;

/// Names without their quotes and escapes.
type Names = RedBlackTreeSetSync<Arc<[u8]>>;

/// The open arrays and objects, and the key or value being written in the innermost.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// The innermost first.
    levels: ListSync<Level>,
    /// How many of the levels are watched arrays.
    n_watched: usize,
    /// How many of the levels keep names.
    n_naming: usize,
    /// How many of them keep so many names of few that those could run out.
    n_few: usize,
    /// The most names that any level has kept.
    most_names: usize,
    /// Whether a key of the innermost object is what comes or has just been.
    is_at_key: bool,
    /// The bytes of a key, or of a scalar in a watched array, that is being written or has just been.
    token: Vec<u8>,
    string: StringPhase,
    /// An array or object of a watched array that has just been closed.
    value: Option<Arc<JsonValue>>,
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader {
            levels: ListSync::new_sync(),
            n_watched: 0,
            n_naming: 0,
            n_few: 0,
            most_names: 0,
            is_at_key: false,
            token: Vec::new(),
            string: StringPhase::Outside,
            value: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum StringPhase {
    #[default]
    Outside,
    Inside,
    Escaped,
}

#[derive(Clone, Debug)]
enum Level {
    Array {
        /// Kept where the array is a part of an item of a watched one, like members.
        items: VectorSync<Arc<JsonValue>>,
        /// Kept where the array is watched itself.
        seen: Option<Seen>,
    },
    Object {
        names: Names,
        has_few: bool,
        members: Arc<BTreeMap<Box<[u8]>, Arc<JsonValue>>>,
        key: Option<Box<[u8]>>,
    },
}

/// The items of a watched array.
#[derive(Clone, Debug)]
struct Seen {
    strings: Names,
    others: VectorSync<Arc<JsonValue>>,
}

impl Seen {
    fn new() -> Seen {
        Seen { strings: Names::new_sync(), others: VectorSync::new_sync() }
    }

    fn add(&mut self, value: Arc<JsonValue>) {
        match &*value {
            JsonValue::String(text) => self.strings.insert_mut(text.clone()),
            _ => self.others.push_back_mut(value),
        }
    }

    fn contains(&self, value: &JsonValue) -> bool {
        match value {
            JsonValue::String(text) => self.strings.contains(text),
            _ => self.others.iter().any(|other| **other == *value),
        }
    }
}

impl Level {
    fn is_watched(&self) -> bool {
        matches!(self, Level::Array { seen: Some(_), .. })
    }

    fn has_names(&self) -> bool {
        matches!(self, Level::Object { names, .. } if !names.is_empty())
    }
}

impl Reader {
    /// Changes the innermost level.
    fn change(&mut self, change: impl FnOnce(&mut Level)) {
        if let Some(mut level) = self.levels.first().cloned() {
            self.levels.drop_first_mut();
            change(&mut level);
            self.levels.push_front_mut(level);
        }
    }

    /// Whether the bytes of what is being written are kept.
    fn keeps_text(&self) -> bool {
        self.is_at_key || self.n_watched > 0
    }

    /// The whole value that has just been written, if one has.
    fn whole(&self) -> Option<Arc<JsonValue>> {
        if self.string != StringPhase::Outside {
            return None;
        }
        let scalar = || (!self.token.is_empty()).then(|| Arc::new(JsonValue::scalar(&self.token)));
        self.value.clone().or_else(scalar)
    }

    /// Puts the value that has just been written where it belongs.
    fn settle(&mut self) {
        if self.n_watched == 0 {
            return;
        }
        let whole = self.whole();
        self.token.clear();
        self.value = None;
        let Some(value) = whole else { return };
        let n_watched = self.n_watched;
        self.change(|level| match level {
            Level::Array { items, seen } => {
                if n_watched > usize::from(seen.is_some()) {
                    items.push_back_mut(value.clone());
                }
                if let Some(seen) = seen {
                    seen.add(value);
                }
            }
            Level::Object { members, key, .. } => {
                if let Some(key) = key.take() {
                    Arc::make_mut(members).insert(key, value);
                }
            }
        });
    }

    fn open(&mut self, level: Level) {
        self.is_at_key = matches!(level, Level::Object { .. });
        self.levels.push_front_mut(level);
    }

    fn close(&mut self) {
        self.settle();
        self.is_at_key = false;
        let Some(level) = self.levels.first().cloned() else { return };
        self.levels.drop_first_mut();
        self.n_naming -= usize::from(level.has_names());
        self.n_few -= usize::from(matches!(level, Level::Object { has_few: true, .. }));
        self.n_watched -= usize::from(level.is_watched());
        if self.n_watched > 0 {
            self.value = Some(Arc::new(match level {
                Level::Array { items, .. } => JsonValue::Array(items),
                Level::Object { members, .. } => JsonValue::Object(members),
            }));
        }
    }

    /// A colon: the key before it is kept if the colon is marked.
    fn end_key(&mut self, marks: Marks) {
        self.is_at_key = false;
        let is_kept = marks.contains(Mark::Parts) || marks.contains(Mark::Names);
        if !is_kept && self.n_watched == 0 {
            self.token.clear();
            return;
        }
        let name = self.name();
        self.token.clear();
        let is_value_kept = self.n_watched > 0;
        let mut could_run_out = false;
        let mut most_names = self.most_names;
        if let Some(Level::Object { names, has_few, .. }) = self.levels.first() {
            could_run_out = marks.contains(Mark::Parts) && names.size() >= MANY_KEYS;
            most_names = most_names.max(names.size() + 1);
            self.n_naming += usize::from(is_kept && names.is_empty());
            self.n_few += usize::from(could_run_out && !has_few);
        }
        self.most_names = most_names;
        self.change(|level| {
            if let Level::Object { names, has_few, key, .. } = level {
                *has_few |= could_run_out;
                if is_kept {
                    names.insert_mut(name[..].into());
                }
                *key = is_value_kept.then(|| name.into());
            }
        });
    }

    /// The key that has just been written, or what is there of it, and an escape that is not complete.
    fn name_so_far(&self) -> (Vec<u8>, &[u8]) {
        let end = self.token.len() - usize::from(self.string == StringPhase::Outside && self.token.len() > 1);
        unescaped_so_far(self.token.get(1..end).unwrap_or_default())
    }

    fn name(&self) -> Vec<u8> {
        self.name_so_far().0
    }

    /// The names that the key being written must not be, if there are any.
    fn kept_names(&self) -> Option<&Names> {
        match self.levels.first() {
            Some(Level::Object { names, .. }) if self.is_at_key && !names.is_empty() => Some(names),
            _ => None,
        }
    }

    /// Whether the key that is being written may be one of those before it.
    fn may_repeat_key(&self) -> bool {
        self.kept_names().is_some_and(|names| self.may_be_one_of(names))
    }

    /// Whether the string being written may become one of `names`. It may still be empty.
    fn may_be_one_of(&self, names: &Names) -> bool {
        if self.token.is_empty() || names.is_empty() {
            return !names.is_empty();
        }
        let (name, open) = self.name_so_far();
        match self.string {
            StringPhase::Outside => names.contains(&name[..]),
            _ if open.is_empty() => next_name(names, &name).is_some_and(|next| next.starts_with(&name)),
            _ => !bytes_to(names, &name, open).is_empty(),
        }
    }

    /// The strings that the string being written must not be as an item of a watched array, if there are any.
    fn kept_strings(&self) -> Option<&Names> {
        let Some(Level::Array { seen: Some(seen), .. }) = self.levels.first() else { return None };
        let is_string = self.value.is_none() && matches!(self.token.first(), None | Some(b'"'));
        (is_string && !seen.strings.is_empty()).then_some(&seen.strings)
    }

    /// Whether the item being written in a watched array may be one before it.
    fn may_repeat_item(&self) -> bool {
        self.kept_strings().is_some_and(|strings| self.may_be_one_of(strings)) || self.may_repeat_other()
    }

    /// The same of items that are no strings.
    fn may_repeat_other(&self) -> bool {
        let has_others = |level: &Level| match level {
            Level::Array { seen: Some(seen), .. } => !seen.others.is_empty(),
            _ => false,
        };
        if self.n_watched == 0 || !self.levels.iter().any(has_others) {
            return false;
        }
        let mut levels: Vec<&Level> = self.levels.iter().collect();
        levels.reverse();
        levels.iter().enumerate().any(|(depth, level)| match level {
            Level::Array { seen: Some(seen), .. } => {
                seen.others.iter().any(|item| self.may_become(item, &levels[depth + 1..]))
            }
            _ => false,
        })
    }

    /// Whether the value that is being written at `levels` may still become `value`.
    fn may_become(&self, value: &JsonValue, levels: &[&Level]) -> bool {
        let Some((level, inner)) = levels.split_first() else {
            return match (&self.value, self.string) {
                (Some(whole), _) => **whole == *value,
                (None, StringPhase::Outside) if self.token.is_empty() => true,
                (None, StringPhase::Outside) if self.token[0] == b'"' => {
                    JsonValue::scalar(&self.token) == *value
                }
                (None, _) => value.may_begin_with(&self.token),
            };
        };
        match (level, value) {
            (Level::Array { items, .. }, JsonValue::Array(others)) => {
                others.len() >= items.len()
                    && items.iter().eq(others.iter().take(items.len()))
                    && match others.get(items.len()) {
                        Some(next) => self.may_become(next, inner),
                        // All items are there; what is begun is one more.
                        None => inner.is_empty() && self.token.is_empty() && self.value.is_none(),
                    }
            }
            (Level::Object { members, key, .. }, JsonValue::Object(others)) => {
                members.iter().all(|(name, value)| others.get(name) == Some(value))
                    && match key {
                        Some(key) => others.get(key).is_some_and(|next| self.may_become(next, inner)),
                        None => self.may_have_key(others),
                    }
            }
            _ => false,
        }
    }

    /// Whether the key that is being written in the innermost object may be one of `members`.
    fn may_have_key(&self, members: &BTreeMap<Box<[u8]>, Arc<JsonValue>>) -> bool {
        if self.token.is_empty() {
            return true;
        }
        let (name, open) = self.name_so_far();
        match self.string {
            StringPhase::Outside => members.contains_key(&name[..]),
            _ => members.keys().any(|member| begins_with(member, &name, open)),
        }
    }
}

/// The first of `names` that is not less than `name`.
fn next_name<'n>(names: &'n Names, name: &[u8]) -> Option<&'n Arc<[u8]>> {
    names.range::<[u8], _>((Bound::Included(name), Bound::Unbounded)).next()
}

/// The bytes with which a key that begins with `name` and the beginning of an escape may go on to be one of
/// `names`; all, if those are too many to be looked at. Takes time in the characters that come next in
/// `names`, not in the names.
fn bytes_to(names: &Names, name: &[u8], open: &[u8]) -> ByteSet {
    let mut bytes = ByteSet::EMPTY;
    let mut from = name.to_vec();
    for _ in 0..MAX_NEXT {
        let Some(next) = next_name(names, &from).and_then(|next| next.strip_prefix(name)) else {
            return bytes;
        };
        from.truncate(name.len());
        if open.is_empty() {
            // As it is, or as an escape.
            let &[byte, ..] = next else {
                bytes.insert(b'"');
                from.push(0);
                continue;
            };
            bytes.extend([byte, b'\\']);
            let Some(after) = byte.checked_add(1) else { return bytes };
            from.push(after);
        } else {
            let next = std::str::from_utf8(next).map(|next| next.chars().next());
            let Ok(next) = next else { return ByteSet::FULL };
            let Some(character) = next else {
                from.push(0);
                continue;
            };
            bytes = bytes.union(&escape_goes_on(open, character));
            // Behind all that begin with this character: no name has a byte like that.
            from.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            from.push(0xff);
        }
    }
    ByteSet::FULL
}

impl Watching for Reader {
    fn read(&mut self, byte: u8, marks: Marks) -> bool {
        if self.ignores(byte) {
            return false;
        }
        if self.levels.is_empty() && !marks.contains(Mark::Opens) && !marks.contains(Mark::Holds) {
            return false;
        }
        match (self.string, byte) {
            (StringPhase::Inside, b'"') => self.string = StringPhase::Outside,
            (StringPhase::Inside, b'\\') => self.string = StringPhase::Escaped,
            (StringPhase::Escaped, _) => self.string = StringPhase::Inside,
            (StringPhase::Outside, b'"') => self.string = StringPhase::Inside,
            (StringPhase::Inside, _) => {}
            (StringPhase::Outside, b'[') => {
                let is_watched = marks.contains(Mark::Opens);
                self.n_watched += usize::from(is_watched);
                self.open(Level::Array { items: VectorSync::new_sync(), seen: is_watched.then(Seen::new) });
                return true;
            }
            (StringPhase::Outside, b'{') => {
                let names = Names::new_sync();
                self.open(Level::Object { names, has_few: false, members: Arc::default(), key: None });
                return true;
            }
            (StringPhase::Outside, b']' | b'}') => {
                self.close();
                return true;
            }
            (StringPhase::Outside, b',') => {
                self.settle();
                self.is_at_key = matches!(self.levels.first(), Some(Level::Object { .. }));
                return true;
            }
            (StringPhase::Outside, b':') => {
                self.end_key(marks);
                return true;
            }
            (StringPhase::Outside, _) => {}
        }
        if self.keeps_text() {
            self.token.push(byte);
        }
        true
    }

    fn ignores(&self, byte: u8) -> bool {
        if self.levels.is_empty() {
            return !matches!(byte, b'[' | b'{');
        }
        match self.string {
            StringPhase::Outside => match byte {
                b' ' | b'\t' | b'\n' | b'\r' => true,
                b'"' | b'[' | b']' | b'{' | b'}' | b',' | b':' => false,
                _ => !self.keeps_text(),
            },
            StringPhase::Inside => !matches!(byte, b'"' | b'\\') && !self.keeps_text(),
            StringPhase::Escaped => false,
        }
    }

    fn refuses(&self) -> bool {
        if self.is_at_key {
            let is_whole = self.string == StringPhase::Outside && !self.token.is_empty();
            return is_whole && self.kept_names().is_some_and(|names| names.contains(&self.name()[..]));
        }
        let Some(Level::Array { seen: Some(seen), .. }) = self.levels.first() else { return false };
        self.whole().is_some_and(|value| seen.contains(&value))
    }

    fn is_at_risk(&self) -> bool {
        self.may_repeat_key() || self.may_repeat_item()
    }

    fn risky_bytes(&self) -> ByteSet {
        // All that may be repeated is a string, and is being written.
        if self.string == StringPhase::Outside || self.may_repeat_other() {
            return ByteSet::FULL;
        }
        let (name, open) = self.name_so_far();
        let of = |names: Option<&Names>| names.map_or(ByteSet::EMPTY, |names| bytes_to(names, &name, open));
        of(self.kept_names()).union(&of(self.kept_strings()))
    }

    fn is_idle(&self) -> bool {
        self.n_watched == 0 && self.n_naming == 0
    }

    fn n_kept(&self) -> usize {
        self.most_names
    }

    fn keeps_parts(&self) -> bool {
        self.n_watched > 0 || self.n_few > 0
    }

    fn copied(&self) -> Arc<dyn Watching> {
        Arc::new(self.clone())
    }
}

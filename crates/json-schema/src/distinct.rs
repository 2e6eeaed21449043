//! The watch over arrays whose items all differ.
//!
//! `uniqueItems` over an open domain is not context-free. The arrays that ask for it have marked brackets and
//! commas in the grammar; this watch reads the text as JSON from the opening bracket of the outermost such
//! array on, keeps the values that its items have, and refuses the comma or bracket behind an item that was there before.
//! Outside such arrays it remembers nothing and does next to nothing.
//!
//! What it promises (see [`Watch`]): a text is not at risk where in every open watched array the item being
//! written can be none of those before it any more; the grammar's own completions close it then, and arrays that are
//! opened later are completed with different items, since `lower_array` lets in only those whose items have as many
//! values as `minItems` asks for. Costs: a byte takes constant time, a question time linear in the values kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Watch, Watching};

use crate::json_value::{JsonValue, unescaped};

/// The watch of all schemas.
#[derive(Debug)]
pub(crate) struct DistinctItems;

impl Watch for DistinctItems {
    fn start(&self) -> Box<dyn Watching> {
        Box::new(Reader::default())
    }

    fn parting_bytes(&self) -> ByteSet {
        [b',', b']'].into_iter().collect()
    }
}

/// The open arrays and objects, and the value being written in the innermost.
#[derive(Clone, Default, Debug)]
struct Reader {
    /// Empty outside watched arrays.
    levels: Vec<Level>,
    /// The bytes of a scalar that is being written or has just been.
    token: Vec<u8>,
    string: StringPhase,
    /// An array or object that has just been closed.
    value: Option<Arc<JsonValue>>,
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
    Array { items: Arc<Vec<Arc<JsonValue>>>, is_watched: bool },
    Object { members: Arc<BTreeMap<Box<[u8]>, Arc<JsonValue>>>, key: Option<Box<[u8]>> },
}

impl Reader {
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
        let whole = self.whole();
        self.token.clear();
        self.value = None;
        match (self.levels.last_mut(), whole) {
            (Some(Level::Array { items, .. }), Some(value)) => Arc::make_mut(items).push(value),
            (Some(Level::Object { members, key }), Some(value)) => {
                if let Some(key) = key.take() {
                    Arc::make_mut(members).insert(key, value);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self) {
        self.settle();
        let value = match self.levels.pop() {
            Some(Level::Array { items, .. }) => JsonValue::Array(items),
            Some(Level::Object { members, .. }) => JsonValue::Object(members),
            None => return,
        };
        if !self.levels.is_empty() {
            self.value = Some(Arc::new(value));
        }
    }

    /// Whether the value that is being written at `depth` may still become `value`.
    fn may_become(&self, value: &JsonValue, depth: usize) -> bool {
        let Some(level) = self.levels.get(depth) else {
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
                others.starts_with(items)
                    && match others.get(items.len()) {
                        Some(next) => self.may_become(next, depth + 1),
                        // All items are there; what is begun is one more.
                        None => {
                            depth + 1 == self.levels.len() && self.token.is_empty() && self.value.is_none()
                        }
                    }
            }
            (Level::Object { members, key }, JsonValue::Object(others)) => {
                members.iter().all(|(name, value)| others.get(name) == Some(value))
                    && match key {
                        Some(key) => others.get(key).is_some_and(|next| self.may_become(next, depth + 1)),
                        None => self.may_have_key(others),
                    }
            }
            _ => false,
        }
    }

    /// Whether the key that is being written in the innermost object may be one of `members`.
    fn may_have_key(&self, members: &BTreeMap<Box<[u8]>, Arc<JsonValue>>) -> bool {
        let Some((_, text)) = self.token.split_first() else { return true };
        match self.string {
            StringPhase::Outside => {
                members.contains_key(&unescaped(&text[..text.len().saturating_sub(1)])[..])
            }
            _ => {
                let begun = unescaped(text);
                members.keys().any(|name| name.starts_with(&begun))
            }
        }
    }
}

impl Watching for Reader {
    fn read(&mut self, byte: u8, opens: bool) -> bool {
        let open = |is_watched| Level::Array { items: Arc::default(), is_watched };
        if self.levels.is_empty() {
            if opens && byte == b'[' {
                self.levels.push(open(true));
                return true;
            }
            return false;
        }
        match (self.string, byte) {
            (StringPhase::Inside, b'"') => self.string = StringPhase::Outside,
            (StringPhase::Inside, b'\\') => self.string = StringPhase::Escaped,
            (StringPhase::Escaped, _) => self.string = StringPhase::Inside,
            (StringPhase::Outside, b'"') => self.string = StringPhase::Inside,
            (StringPhase::Inside, _) => {}
            (StringPhase::Outside, b' ' | b'\t' | b'\n' | b'\r') => return false,
            (StringPhase::Outside, b'[') => {
                self.levels.push(open(opens));
                return true;
            }
            (StringPhase::Outside, b'{') => {
                self.levels.push(Level::Object { members: Arc::default(), key: None });
                return true;
            }
            (StringPhase::Outside, b']' | b'}') => {
                self.close();
                return true;
            }
            (StringPhase::Outside, b',') => {
                self.settle();
                return true;
            }
            (StringPhase::Outside, b':') => {
                let end = self.token.len().saturating_sub(1);
                let name = unescaped(self.token.get(1..end).unwrap_or_default());
                self.token.clear();
                if let Some(Level::Object { key, .. }) = self.levels.last_mut() {
                    *key = Some(name.into());
                }
                return true;
            }
            (StringPhase::Outside, _) => {}
        }
        self.token.push(byte);
        true
    }

    fn refuses(&self) -> bool {
        let Some(Level::Array { items, is_watched: true }) = self.levels.last() else { return false };
        !items.is_empty() && self.whole().is_some_and(|value| items.contains(&value))
    }

    fn is_at_risk(&self) -> bool {
        self.levels.iter().enumerate().any(|(depth, level)| match level {
            Level::Array { items, is_watched: true } => {
                items.iter().any(|item| self.may_become(item, depth + 1))
            }
            _ => false,
        })
    }

    fn boxed_clone(&self) -> Box<dyn Watching> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Box<dyn Watching> {
        let mut watching = DistinctItems.start();
        for &byte in text.as_bytes() {
            watching.read(byte, byte == b'[');
        }
        watching
    }

    #[test]
    fn an_item_that_was_there_is_refused_at_its_end() {
        for text in [
            "[1,1",
            "[1, 1.0 ",
            r#"["a","b","\u0061""#,
            r#"[{"a":1,"b":[2]}, {"b": [2], "a": 1}"#,
            r#"[[1,2],[1,2]"#,
            r#"{"x":[true,null,true"#,
        ] {
            assert!(after(text).refuses(), "{text}");
        }
        for text in ["[1,2", r#"["a","a"#, r#"["1",1"#, "[[1],1", r#"[{"a":1},{"a":2}"#, r#"{"x":[1],"y":[1"#]
        {
            assert!(!after(text).refuses(), "{text}");
        }
    }

    #[test]
    fn risk_ends_where_an_item_differs() {
        for text in ["[1,", r#"["abc","ab"#, r#"[{"a":"x","b":1},{"b":1,"a":""#, "[[1,2],[1", "[[],[", "[5,5"]
        {
            assert!(after(text).is_at_risk(), "{text}");
        }
        for text in ["[", "[1", r#"["abc","b"#, r#"[{"a":"x"},{"a":"y"#, "[[1,2],[2", "[[],[1", "[1,2]"] {
            assert!(!after(text).is_at_risk(), "{text}");
        }
    }
}

//! Options as a JSON object that is taken apart by name.

use maskwright_syntax::nearest_name;
use serde_json::{Map, Value};

use crate::special_text::shortened;
use crate::{Error, ErrorKind, TokenId};

/// The options of a grammar of some kind that are not read yet.
pub(super) struct Given {
    kind: String,
    options: Map<String, Value>,
    /// All that were asked for.
    known: Vec<&'static str>,
}

impl Given {
    /// Reads a JSON object; the empty text is one without members.
    pub(super) fn read(kind: &str, options: &str) -> Result<Given, Error> {
        let options = match options.trim() {
            "" | "null" => Map::new(),
            text => serde_json::from_str(text).map_err(|error| {
                argument(format!("the options are no JSON object: {}", shortened(&error.to_string())))
            })?,
        };
        Ok(Given { kind: kind.to_owned(), options, known: Vec::new() })
    }

    /// The value of an option; null is none.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.options.shift_remove(name).filter(|value| !value.is_null())
    }

    fn of_type<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => {
                let given = value.to_string();
                Err(argument(format!("the option {name} is {}, expected {expected}", shortened(&given))))
            }
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Error> {
        self.of_type(name, "true or false", Value::as_bool)
    }

    pub(super) fn count(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        self.of_type(name, "a whole number, 0 or more", Value::as_u64)
    }

    /// A count that fits memory; a greater one is the greatest.
    pub(super) fn size(&mut self, name: &'static str) -> Result<Option<usize>, Error> {
        Ok(self.count(name)?.map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
    }

    pub(super) fn ids(&mut self, name: &'static str) -> Result<Option<Vec<TokenId>>, Error> {
        let ids = self.of_type(name, "an array of token ids", |value| {
            serde_json::from_value::<Vec<u32>>(value.clone()).ok()
        });
        Ok(ids?.map(|ids| ids.into_iter().map(TokenId).collect()))
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        self.of_type(name, "a text", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Error> {
        self.of_type(name, "an array of texts", |value| serde_json::from_value(value.clone()).ok())
    }

    pub(super) fn object(&mut self, name: &'static str) -> Result<Option<Map<String, Value>>, Error> {
        self.of_type(name, "an object", |value| value.as_object().cloned())
    }

    /// The value that the text of an option names.
    pub(super) fn one_of<T: Clone>(
        &mut self,
        name: &'static str,
        values: &[(&str, T)],
    ) -> Result<Option<T>, Error> {
        let names: Vec<String> = values.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        self.of_type(name, &names.join(" or "), |value| {
            let name = value.as_str()?;
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        })
    }

    /// Refuses what nobody has asked for.
    pub(super) fn end(self) -> Result<(), Error> {
        let Some(name) = self.options.keys().next() else { return Ok(()) };
        let kind = &self.kind;
        let expected = match nearest_name(name, self.known.iter().copied()) {
            Some((_, meant)) => format!("did you mean {meant}?"),
            None => format!("it has {}", self.known.join(", ")),
        };
        Err(argument(format!("a {kind} has no option {}, {expected}", shortened(name))))
    }
}

/// The error for what was given.
pub(super) fn argument(message: String) -> Error {
    Error::message(ErrorKind::Argument, message)
}

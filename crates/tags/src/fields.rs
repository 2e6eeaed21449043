//! The fields of a JSON object, read one by one, with errors that say where and what was expected.

use serde_json::{Map, Value};

use crate::TagError;

/// The greatest count that a field may give.
pub(crate) const MAX_COUNT: u32 = i32::MAX as u32;

/// An object all of whose fields are known.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// The pointer of the object.
    pub(crate) at: String,
    /// What messages call the object.
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// The fields of the object `value` at `at`, which are among `known`.
    ///
    /// # Errors
    /// If it is no object, or has another field.
    pub(crate) fn new(
        value: &'a Value,
        at: &str,
        what: &'static str,
        known: &[&'static str],
    ) -> Result<Fields<'a>, TagError> {
        let Value::Object(object) = value else {
            return Err(TagError::malformed(
                at,
                format!("{}, expected {what}, which is an object", shown(value)),
            ));
        };
        if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
            let message = format!("{what} has no field `{key}`, but {}", listed(known));
            return Err(TagError::malformed(below(at, key), message).suggesting(key, known.iter().copied()));
        }
        Ok(Fields { object, at: at.to_owned(), what })
    }

    /// The pointer of a field.
    pub(crate) fn below(&self, name: &str) -> String {
        below(&self.at, name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name)
    }

    /// The value of a field that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&'a Value, TagError> {
        self.get(name)
            .ok_or_else(|| TagError::malformed(&self.at, format!("{} needs the field `{name}`", self.what)))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, TagError> {
        text(self.required(name)?, &self.below(name), "a string")
    }

    /// A string that is not empty.
    pub(crate) fn some_text(&self, name: &str) -> Result<&'a str, TagError> {
        some_text(self.required(name)?, &self.below(name))
    }

    /// `default` if the field is not there.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, TagError> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(TagError::malformed(
                self.below(name),
                format!("{}, expected true or false", shown(other)),
            )),
        }
    }

    /// A greatest number; `None` if the field is null or not there.
    pub(crate) fn limit(&self, name: &str) -> Result<Option<u32>, TagError> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match count(value) {
                Some(count) => Ok(Some(count)),
                None => Err(TagError::malformed(
                    self.below(name),
                    format!("{}, expected a whole number from 0 to {MAX_COUNT}, or null", shown(value)),
                )),
            },
        }
    }

    /// The items of a list, with the pointer of each.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<(&'a Value, String)>, TagError> {
        list(self.required(name)?, &self.below(name))
    }

    /// The same for a list of at least one item.
    pub(crate) fn some_list(&self, name: &str) -> Result<Vec<(&'a Value, String)>, TagError> {
        let items = self.list(name)?;
        if items.is_empty() {
            return Err(TagError::malformed(
                self.below(name),
                "the list is empty, expected at least one item",
            ));
        }
        Ok(items)
    }

    /// The same; empty if the field is not there.
    pub(crate) fn optional_list(&self, name: &str) -> Result<Vec<(&'a Value, String)>, TagError> {
        self.get(name).map_or(Ok(Vec::new()), |value| list(value, &self.below(name)))
    }

    /// The strings of a list, none empty; none if the field is not there.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&'a str>, TagError> {
        self.optional_list(name)?.into_iter().map(|(value, at)| some_text(value, &at)).collect()
    }
}

/// The pointer of the member `key` of the object at `at`.
pub(crate) fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The items of a list, with the pointer of each.
pub(crate) fn list<'a>(value: &'a Value, at: &str) -> Result<Vec<(&'a Value, String)>, TagError> {
    match value {
        Value::Array(items) => {
            Ok(items.iter().enumerate().map(|(index, item)| (item, format!("{at}/{index}"))).collect())
        }
        other => Err(TagError::malformed(at, format!("{}, expected a list", shown(other)))),
    }
}

/// A string; `expected` says what else may stand there.
pub(crate) fn text<'a>(value: &'a Value, at: &str, expected: &str) -> Result<&'a str, TagError> {
    value.as_str().ok_or_else(|| TagError::malformed(at, format!("{}, expected {expected}", shown(value))))
}

/// A string that is not empty.
pub(crate) fn some_text<'a>(value: &'a Value, at: &str) -> Result<&'a str, TagError> {
    match text(value, at, "a string")? {
        "" => Err(TagError::malformed(at, "the string is empty, expected at least one character")),
        text => Ok(text),
    }
}

/// A whole number from 0 to [`MAX_COUNT`], however it is written.
pub(crate) fn count(value: &Value) -> Option<u32> {
    let number = value.as_number()?;
    let count = number.as_u64().or_else(|| {
        let whole = number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0)?;
        (whole <= f64::from(MAX_COUNT)).then_some(whole as u64)
    })?;
    u32::try_from(count).ok().filter(|&count| count <= MAX_COUNT)
}

/// What a value is, for messages.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null is given".into(),
        Value::Bool(flag) => format!("{flag} is given"),
        Value::Number(number) => format!("{number} is given"),
        Value::String(_) => "a string is given".into(),
        Value::Array(_) => "a list is given".into(),
        Value::Object(_) => "an object is given".into(),
    }
}

/// Names in a sentence: `a`, `b` and `c`.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

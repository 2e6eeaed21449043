//! From the JSON of a format to a [`Format`]: which fields there are, and what they hold.
//!
//! Nothing is built here, and no schema, pattern or grammar is looked into. Linear in the document; recursion
//! is as deep as formats are nested, at most [`MAX_DEPTH`].

use std::borrow::Cow;

use maskwright_automata::Fuel;
use maskwright_json_schema::Style;
use serde_json::Value;

use crate::TagError;
use crate::fields::{Fields, MAX_COUNT, below, count, list, listed, shown, some_text, text};
use crate::format::{
    AnyText, Begin, Dispatch, End, Format, How, Kind, Schema, Separated, Tag, Token, TokenDispatch,
    TokenTriggered, Triggered,
};

/// How deep formats may be nested.
const MAX_DEPTH: usize = 100;

/// The types of formats.
pub(crate) const TYPES: [&str; 21] = [
    "const_string",
    "regex",
    "grammar",
    "json_schema",
    "any_text",
    "sequence",
    "or",
    "optional",
    "plus",
    "star",
    "repeat",
    "tag",
    "triggered_tags",
    "tags_with_separator",
    "dispatch",
    "token",
    "exclude_token",
    "any_tokens",
    "token_triggered_tags",
    "token_dispatch",
    "qwen_xml_parameter",
];

/// Reads the formats of one document.
pub(crate) struct Reader<'a, 'f> {
    fuel: &'f Fuel,
    /// How many formats are open.
    depth: usize,
    /// The tokens that were read, each with its JSON pointer.
    pub(crate) tokens: Vec<(Token<'a>, String)>,
    /// Whether some free text has a limit on tokens.
    pub(crate) has_token_limits: bool,
}

impl<'a, 'f> Reader<'a, 'f> {
    pub(crate) fn new(fuel: &'f Fuel) -> Reader<'a, 'f> {
        Reader { fuel, depth: 0, tokens: Vec::new(), has_token_limits: false }
    }

    pub(crate) fn spend(&self, at: &str) -> Result<(), TagError> {
        self.fuel.spend(1).map_err(|error| TagError::fuel(at, error))
    }

    /// The format that is described at `at`.
    ///
    /// # Errors
    /// If a type or field is unknown, a field is missing or holds something else, or a limit is reached.
    pub(crate) fn format(&mut self, value: &'a Value, at: &str) -> Result<Format<'a>, TagError> {
        self.spend(at)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("formats are nested more than {MAX_DEPTH} deep, which is the limit");
            return Err(TagError::limit(at, message));
        }
        let kind = self.kind(value, at)?;
        self.depth -= 1;
        Ok(Format { at: at.to_owned(), kind, region: None })
    }

    fn kind(&mut self, value: &'a Value, at: &str) -> Result<Kind<'a>, TagError> {
        let name = type_of(value, at)?;
        Ok(match name {
            "const_string" => {
                Kind::Text(Fields::new(value, at, "`const_string`", &["type", "value"])?.text("value")?)
            }
            "regex" => {
                Kind::Pattern(Fields::new(value, at, "`regex`", &["type", "pattern"])?.some_text("pattern")?)
            }
            "grammar" => Kind::Grammar(
                Fields::new(value, at, "`grammar`", &["type", "grammar"])?.some_text("grammar")?,
            ),
            "json_schema" => {
                let known = ["type", "json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"];
                let fields = Fields::new(value, at, "`json_schema`", &known)?;
                let mut schema = schema(&fields, style(&fields)?)?;
                schema.excludes = excludes_of_strings(&fields, schema.style)?;
                Kind::Schema(schema)
            }
            "qwen_xml_parameter" => {
                let fields = Fields::new(value, at, "`qwen_xml_parameter`", &["type", "json_schema"])?;
                Kind::Schema(schema(&fields, Style::QwenXml)?)
            }
            "any_text" => {
                let known = ["type", "excludes", "max_tokens", "max_chars"];
                let fields = Fields::new(value, at, "`any_text`", &known)?;
                let max_tokens = fields.limit("max_tokens")?;
                self.has_token_limits |= max_tokens.is_some();
                Kind::AnyText(AnyText {
                    is_up_to_end: false,
                    excludes: fields.texts("excludes")?,
                    max_tokens,
                    max_chars: fields.limit("max_chars")?,
                })
            }
            "sequence" => {
                Kind::Sequence(self.formats(&Fields::new(value, at, "`sequence`", &["type", "elements"])?)?)
            }
            "or" => Kind::Choice(self.formats(&Fields::new(value, at, "`or`", &["type", "elements"])?)?),
            "optional" => {
                self.repeat(&Fields::new(value, at, "`optional`", &["type", "content"])?, 0, Some(1))?
            }
            "plus" => self.repeat(&Fields::new(value, at, "`plus`", &["type", "content"])?, 1, None)?,
            "star" => self.repeat(&Fields::new(value, at, "`star`", &["type", "content"])?, 0, None)?,
            "repeat" => {
                let fields = Fields::new(value, at, "`repeat`", &["type", "min", "max", "content"])?;
                let (min, max) = bounds(&fields)?;
                self.repeat(&fields, min, max)?
            }
            "tag" => Kind::Tag(Box::new(self.tag(value, at)?)),
            "triggered_tags" => Kind::Triggered(self.triggered(value, at)?),
            "tags_with_separator" => Kind::Separated(self.separated(value, at)?),
            "dispatch" => Kind::Dispatch(self.dispatch(value, at)?),
            "token" => Kind::Token(self.token(value, at)?),
            "exclude_token" => {
                let fields = Fields::new(value, at, "`exclude_token`", &["type", "exclude_tokens"])?;
                Kind::Tokens { excludes: self.tokens(&fields)?, min: 1, max: Some(1) }
            }
            "any_tokens" => {
                let known = ["type", "exclude_tokens", "max_tokens"];
                let fields = Fields::new(value, at, "`any_tokens`", &known)?;
                Kind::Tokens { excludes: self.tokens(&fields)?, min: 0, max: fields.limit("max_tokens")? }
            }
            "token_triggered_tags" => Kind::TokenTriggered(self.token_triggered(value, at)?),
            "token_dispatch" => Kind::TokenDispatch(self.token_dispatch(value, at)?),
            other => {
                let message = format!("no format has the type `{other}`, but {}", listed(&TYPES));
                return Err(TagError::malformed(below(at, "type"), message).suggesting(other, TYPES));
            }
        })
    }

    fn triggered(&mut self, value: &'a Value, at: &str) -> Result<Triggered<'a>, TagError> {
        let known = ["type", "triggers", "tags", "at_least_one", "stop_after_first", "excludes"];
        let fields = Fields::new(value, at, "`triggered_tags`", &known)?;
        Ok(Triggered {
            triggers: triggers(&fields)?,
            tags: self.tags(&fields)?,
            excludes: fields.texts("excludes")?,
            how: how(&fields)?,
        })
    }

    fn separated(&mut self, value: &'a Value, at: &str) -> Result<Separated<'a>, TagError> {
        let known = ["type", "tags", "separator", "at_least_one", "stop_after_first"];
        let fields = Fields::new(value, at, "`tags_with_separator`", &known)?;
        Ok(Separated {
            tags: self.tags(&fields)?,
            separator: fields.text("separator")?,
            may_lack_space: false,
            how: how(&fields)?,
        })
    }

    fn dispatch(&mut self, value: &'a Value, at: &str) -> Result<Dispatch<'a>, TagError> {
        let fields = Fields::new(value, at, "`dispatch`", &["type", "rules", "loop", "excludes"])?;
        Ok(Dispatch {
            rules: self.rules(&fields, |_, value, at| some_text(value, at))?,
            is_loop: fields.flag("loop", true)?,
            excludes: fields.texts("excludes")?,
        })
    }

    fn token_triggered(&mut self, value: &'a Value, at: &str) -> Result<TokenTriggered<'a>, TagError> {
        let known = ["type", "trigger_tokens", "tags", "exclude_tokens", "at_least_one", "stop_after_first"];
        let fields = Fields::new(value, at, "`token_triggered_tags`", &known)?;
        let triggers = fields.some_list("trigger_tokens")?.into_iter();
        Ok(TokenTriggered {
            triggers: triggers
                .map(|(value, at)| Ok((self.token_name(value, &at)?, at)))
                .collect::<Result<_, _>>()?,
            tags: self.tags(&fields)?,
            excludes: self.tokens(&fields)?,
            how: how(&fields)?,
        })
    }

    fn token_dispatch(&mut self, value: &'a Value, at: &str) -> Result<TokenDispatch<'a>, TagError> {
        let known = ["type", "rules", "loop", "exclude_tokens"];
        let fields = Fields::new(value, at, "`token_dispatch`", &known)?;
        Ok(TokenDispatch {
            rules: self.rules(&fields, Reader::token_name)?,
            is_loop: fields.flag("loop", true)?,
            excludes: self.tokens(&fields)?,
        })
    }

    /// The elements of a `sequence` or `or`.
    fn formats(&mut self, fields: &Fields<'a>) -> Result<Vec<Format<'a>>, TagError> {
        fields.some_list("elements")?.into_iter().map(|(value, at)| self.format(value, &at)).collect()
    }

    fn repeat(&mut self, fields: &Fields<'a>, min: u32, max: Option<u32>) -> Result<Kind<'a>, TagError> {
        let content = self.format(fields.required("content")?, &fields.below("content"))?;
        Ok(Kind::Repeat { min, max, content: Box::new(content) })
    }

    fn tags(&mut self, fields: &Fields<'a>) -> Result<Vec<Tag<'a>>, TagError> {
        fields.some_list("tags")?.into_iter().map(|(value, at)| self.tag(value, &at)).collect()
    }

    fn tag(&mut self, value: &'a Value, at: &str) -> Result<Tag<'a>, TagError> {
        self.spend(at)?;
        check_type(value, at, "tag")?;
        let fields = Fields::new(value, at, "`tag`", &["type", "begin", "content", "end"])?;
        let (begin_at, end_at) = (fields.below("begin"), fields.below("end"));
        let begin = match fields.required("begin")? {
            value @ Value::Object(_) => Begin::Token(self.token(value, &begin_at)?),
            value => Begin::Text(text(value, &begin_at, "a string or a `token`")?),
        };
        let end = match fields.required("end")? {
            value @ Value::Object(_) => End::Token(self.token(value, &end_at)?),
            value @ Value::Array(_) => {
                let texts = list(value, &end_at)?;
                if texts.is_empty() {
                    let message = "the list is empty, expected at least one string that ends the tag";
                    return Err(TagError::malformed(end_at, message));
                }
                End::Texts(
                    texts
                        .into_iter()
                        .map(|(value, at)| text(value, &at, "a string"))
                        .collect::<Result<_, _>>()?,
                )
            }
            value => End::Texts(vec![text(value, &end_at, "a string, a list of strings or a `token`")?]),
        };
        let content = self.format(fields.required("content")?, &fields.below("content"))?;
        Ok(Tag { at: at.to_owned(), begin, begin_at, content, end, end_at, region: None })
    }

    /// The pairs of a dispatch; `first` reads the first of each.
    fn rules<P>(
        &mut self,
        fields: &Fields<'a>,
        first: impl Fn(&mut Self, &'a Value, &str) -> Result<P, TagError>,
    ) -> Result<Vec<(P, String, Format<'a>)>, TagError> {
        let mut rules = Vec::new();
        for (value, at) in fields.some_list("rules")? {
            let [(pattern, pattern_at), (content, content_at)] = &list(value, &at)?[..] else {
                let message = "expected a list of two: what to look for, and the format after it";
                return Err(TagError::malformed(at, message));
            };
            let pattern = first(self, pattern, pattern_at)?;
            rules.push((pattern, pattern_at.clone(), self.format(content, content_at)?));
        }
        Ok(rules)
    }

    /// A `token` format.
    fn token(&mut self, value: &'a Value, at: &str) -> Result<Token<'a>, TagError> {
        check_type(value, at, "token")?;
        let fields = Fields::new(value, at, "`token`", &["type", "token"])?;
        self.token_name(fields.required("token")?, &fields.below("token"))
    }

    /// `exclude_tokens`.
    fn tokens(&mut self, fields: &Fields<'a>) -> Result<Vec<Token<'a>>, TagError> {
        let tokens = fields.optional_list("exclude_tokens")?.into_iter();
        tokens.map(|(value, at)| self.token_name(value, &at)).collect()
    }

    /// A token by its id or its name.
    fn token_name(&mut self, value: &'a Value, at: &str) -> Result<Token<'a>, TagError> {
        let token = match (value, count(value)) {
            (Value::String(_), _) => Token::Name(some_text(value, at)?),
            (_, Some(id)) => Token::Id(id),
            (_, None) => {
                let shown = shown(value);
                let message = format!("{shown}, expected a token: its name, or its id from 0 to {MAX_COUNT}");
                return Err(TagError::malformed(at, message));
            }
        };
        self.tokens.push((token, at.to_owned()));
        Ok(token)
    }
}

/// The type of a format.
fn type_of<'a>(value: &'a Value, at: &str) -> Result<&'a str, TagError> {
    let Value::Object(object) = value else {
        return Err(TagError::malformed(
            at,
            format!("{}, expected a format, which is an object", shown(value)),
        ));
    };
    match object.get("type") {
        Some(Value::String(name)) => Ok(name),
        Some(other) => {
            let message = format!("{}, expected the name of a format", shown(other));
            Err(TagError::malformed(below(at, "type"), message))
        }
        None => {
            let message = format!("the format has no `type`; it is one of {}", listed(&TYPES));
            Err(TagError::malformed(at, message))
        }
    }
}

/// Checks the type of a format of which only one may stand here; it may be left out.
fn check_type(value: &Value, at: &str, expected: &str) -> Result<(), TagError> {
    match value.get("type") {
        None => Ok(()),
        Some(Value::String(name)) if name == expected => Ok(()),
        Some(_) => {
            Err(TagError::malformed(below(at, "type"), format!("expected `{expected}`, no other format")))
        }
    }
}

/// `triggers`, with the pointer of each.
pub(crate) fn triggers<'a>(fields: &Fields<'a>) -> Result<Vec<(&'a str, String)>, TagError> {
    fields.some_list("triggers")?.into_iter().map(|(value, at)| Ok((some_text(value, &at)?, at))).collect()
}

fn how(fields: &Fields<'_>) -> Result<How, TagError> {
    Ok(How {
        at_least_one: fields.flag("at_least_one", false)?,
        stop_after_first: fields.flag("stop_after_first", false)?,
    })
}

/// `min` and `max` of a repetition; `max` is −1 where there is none.
fn bounds(fields: &Fields<'_>) -> Result<(u32, Option<u32>), TagError> {
    let number = |name: &str, expected: &str| {
        let value = fields.required(name)?;
        let message = || format!("{}, expected {expected}", shown(value));
        count(value).ok_or_else(|| TagError::malformed(fields.below(name), message()))
    };
    let min = number("min", &format!("a whole number from 0 to {MAX_COUNT}"))?;
    if fields.required("max")?.as_f64() == Some(-1.0) {
        return Ok((min, None));
    }
    // xgrammar takes what does not fit for no limit.
    let is_large = |number: f64| number > f64::from(MAX_COUNT) && number.fract() == 0.0;
    if fields.required("max")?.as_f64().is_some_and(is_large) {
        return Ok((min, None));
    }
    let max = number("max", &format!("a whole number from 0 to {MAX_COUNT}, or -1 for no limit"))?;
    if max < min {
        return Err(TagError::malformed(
            &fields.at,
            format!("`max` is {max}, less than `min`, which is {min}"),
        ));
    }
    Ok((min, Some(max)))
}

fn style(fields: &Fields<'_>) -> Result<Style, TagError> {
    let names = Style::ALL.map(Style::name);
    match fields.get("style") {
        None => Ok(Style::Json),
        Some(Value::String(given)) => {
            let style = Style::ALL.into_iter().find(|style| style.name() == given);
            style.ok_or_else(|| {
                let message = format!("no style is called `{given}`, but {}", listed(&names));
                TagError::malformed(fields.below("style"), message).suggesting(given, names)
            })
        }
        Some(other) => {
            let message = format!("{}, expected one of {}", shown(other), listed(&names));
            Err(TagError::malformed(fields.below("style"), message))
        }
    }
}

fn schema<'a>(fields: &Fields<'a>, style: Style) -> Result<Schema<'a>, TagError> {
    let (schema, at) = (fields.required("json_schema")?, fields.below("json_schema"));
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(TagError::malformed(at, format!("{}, expected a JSON Schema", shown(schema))));
    }
    Ok(Schema {
        schema: Cow::Borrowed(schema),
        at,
        style,
        any_order: fields.flag("any_order", false)?,
        max_whitespace: max_whitespace(fields)?,
        shown_at: None,
        excludes: Vec::new(),
        ends: Vec::new(),
        is_one_line: false,
    })
}

/// What strings and names of a schema must not contain. In elements, white space around strings is not told
/// from them.
fn excludes_of_strings<'a>(fields: &Fields<'a>, style: Style) -> Result<Vec<&'a str>, TagError> {
    let texts = fields.texts("excludes")?;
    let is_apart = |text: &&str| text.trim_matches([' ', '\t', '\r', '\n']) != *text;
    let has_elements = !matches!(style, Style::Json | Style::Python | Style::PythonJson | Style::Gemma);
    match texts.iter().position(|text| text.is_empty() || has_elements && is_apart(text)) {
        None => Ok(texts),
        Some(at) => {
            let message = match texts[at] {
                "" => "an empty string is in every text".to_owned(),
                text => format!(
                    "{text:?} begins or ends with white space, which the style {} ignores",
                    style.name()
                ),
            };
            Err(TagError::malformed(format!("{}/{at}", fields.below("excludes")), message))
        }
    }
}

fn max_whitespace(fields: &Fields<'_>) -> Result<Option<u32>, TagError> {
    let name = "max_whitespace_cnt";
    match fields.limit(name)? {
        Some(0) => Err(TagError::malformed(fields.below(name), "0 is given, expected at least 1, or null")),
        max => Ok(max),
    }
}

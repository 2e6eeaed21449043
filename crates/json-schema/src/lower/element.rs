//! The arguments of a call, as [elements](crate::style).
//!
//! The members of an object are separated in most styles by the mark that closes an element, as those of JSON
//! are by commas, so [`crate::lower::object`] makes both. Here are the values: the part of an element after
//! its name, up to its end.

use std::sync::LazyLock;

use maskwright_automata::Regex;
use maskwright_grammar::ExprId;

use crate::forms::node_id::NodeId;
use crate::forms::shape::{Shape, StringConstraint, StringSet};
use crate::lower::{Form, Lowering};
use crate::report::PlaceId;
use crate::strings::terminals::SPACE;
use crate::style::{Elements, End, Kind, Padding};
use crate::{ElementPart, SchemaError, Whitespace};

static ANY_CHAR: LazyLock<Regex> = LazyLock::new(Regex::any_char);
static NOT_SPACE: LazyLock<Regex> = LazyLock::new(|| ANY_CHAR.difference(&SPACE));

impl<'a> Lowering<'_, 'a> {
    /// A value that neither begins nor ends with white space, with what may stand around it.
    fn padded(&mut self, value: ExprId) -> ExprId {
        let padding = match self.padding.clone() {
            Padding::None => return value,
            Padding::Any(space) => space,
            Padding::Lines => Regex::byte(b'\n'),
        };
        let is_optional = matches!(self.padding, Padding::Lines);
        let padding = self.builder.terminal(padding);
        let padded = self.builder.seq(&[padding, value, padding]);
        if is_optional { self.builder.alt(&[value, padded]) } else { padded }
    }

    /// A mark of the style.
    pub(crate) fn mark(&mut self, text: &str) -> ExprId {
        match text {
            "" => self.builder.epsilon(),
            _ => self.builder.terminal(self.surroundings.mark(text)),
        }
    }

    /// A member of an object up to the end of its value, under a name as it is written.
    pub(crate) fn named_element(
        &mut self,
        elements: &Elements,
        name: &[u8],
        schema: NodeId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let mark = |text| self.surroundings.mark(text);
        let end = match elements.end {
            End::Mark => Regex::epsilon(),
            End::Name => Regex::concat([mark(elements.mark), Regex::literal([b"</", name, b">"].concat())]),
        };
        let start = if self.surroundings.is_labelled {
            self.labelled_name(elements, Regex::literal(name))
        } else {
            let (begin, after) = (mark(elements.begin), mark(elements.after_name));
            self.builder.terminal(Regex::concat([begin, Regex::literal(name), after]))
        };
        let value = self.node(Form::Element, schema, depth)?;
        Ok(self.whole_element(elements, start, value, end))
    }

    /// An element, with the white space that belongs to it.
    pub(crate) fn whole_element(
        &mut self,
        elements: &Elements,
        start: ExprId,
        value: ExprId,
        end: Regex,
    ) -> ExprId {
        match elements.end {
            End::Mark => self.builder.seq(&[start, value]),
            End::Name => {
                let space = self.space();
                let end = self.builder.terminal(end);
                self.builder.seq(&[space, start, value, end])
            }
        }
    }

    /// A member of an object up to the end of its value, under a name of a language of names as they are
    /// written.
    pub(crate) fn unnamed_element(
        &mut self,
        elements: &Elements,
        names: Regex,
        schema: NodeId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let name = self.labelled_name(elements, names);
        let value = self.node(Form::Element, schema, depth)?;
        Ok(self.builder.seq(&[name, value]))
    }

    /// What stands before the value of an element with one of some names.
    fn labelled_name(&mut self, elements: &Elements, names: Regex) -> ExprId {
        let begin = self.mark(elements.begin);
        let name = self.builder.terminal(names);
        let name = self.labelled(ElementPart::Name, name);
        let after_name = self.mark(elements.after_name);
        self.builder.seq(&[begin, name, after_name])
    }

    /// A part of an element, with its label if parts are labelled.
    fn labelled(&mut self, part: ElementPart, expr: ExprId) -> ExprId {
        match self.surroundings.is_labelled {
            true => self.builder.labelled(part as u32, expr),
            false => expr,
        }
    }

    /// What stands between the name and the mark of an element with a value of `shape`.
    pub(crate) fn element_value(
        &mut self,
        elements: &Elements,
        node: NodeId,
        shape: &Shape<'a>,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let place = self.graph.place(node);
        let space = self.space();
        let mut ways: Vec<(&str, ExprId)> = Vec::new();
        let is_any_string = shape.strings.iter().any(StringSet::is_any);
        if !shape.strings.is_empty() {
            let strings = self.raw_strings(elements, &shape.strings, place)?;
            ways.push(((elements.open)(Kind::String), strings));
        }
        let is_labelled = self.surroundings.is_labelled;
        let mut others: Vec<(&str, ElementPart, Shape<'a>)> = Vec::new();
        for kind in Kind::OTHERS {
            let open = (elements.open)(kind);
            // Any text is any other value too, where nothing tells them apart. Elements are not text.
            let is_text = elements.item.is_none() || !matches!(kind, Kind::Array | Kind::Object);
            if is_any_string && is_text && open == (elements.open)(Kind::String) && !is_labelled {
                continue;
            }
            let part = shape.of_kind(kind);
            let label = match kind {
                Kind::Array if elements.item.is_some() => ElementPart::List,
                Kind::Object if elements.item.is_some() => ElementPart::Object,
                _ => ElementPart::Json,
            };
            let is_alike = |other: ElementPart| !is_labelled || other == label;
            match others.iter_mut().find(|(known, other, _)| *known == open && is_alike(*other)) {
                Some((_, _, known)) => known.add(&part),
                None => others.push((open, label, part)),
            }
        }
        for (open, label, part) in others.into_iter().filter(|(_, _, part)| part.n_alternatives() > 0) {
            let form = if elements.item.is_some() { Form::Element } else { Form::Value };
            let mut value = self.alternatives(form, node, &part, depth)?;
            // Arrays and objects that are elements have their white space already.
            let is_apart = form == Form::Value || part.arrays.is_empty() && part.objects.is_empty();
            if is_apart && elements.has_space_around_values {
                value = if is_labelled { self.in_any_space(value) } else { self.padded(value) };
            }
            let value = self.labelled(label, value);
            ways.push((open, value));
        }
        let mut members = Vec::with_capacity(ways.len());
        while let Some(&(open, _)) = ways.first() {
            let same: Vec<ExprId> = ways.extract_if(.., |way| way.0 == open).map(|way| way.1).collect();
            let value = self.builder.alt(&same);
            let open = self.mark(open);
            members.push(self.builder.seq(&[open, value]));
        }
        let values = self.builder.alt(&members);
        let before = if elements.has_space_before_open { space } else { self.builder.epsilon() };
        Ok(self.builder.seq(&[before, values]))
    }

    /// A value with any white space around it, which readers take away.
    fn in_any_space(&mut self, value: ExprId) -> ExprId {
        let space = self.builder.terminal(SPACE.star());
        self.builder.seq(&[space, value, space])
    }

    /// Strings as they are.
    fn raw_strings(
        &mut self,
        elements: &Elements,
        sets: &[StringSet<'a>],
        place: PlaceId,
    ) -> Result<ExprId, SchemaError> {
        if self.surroundings.is_labelled {
            return Ok(self.labelled_text(elements));
        }
        if sets.iter().any(StringSet::is_any) {
            let text = self.surroundings.excluded.kept(elements.text.clone());
            return Ok(self.builder.terminal(text));
        }
        let mut listed: Vec<&str> = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                StringSet::Words(words) => {
                    self.graph.spend(place, words.len() as u64)?;
                    listed.extend(words.iter().filter(|word| {
                        !word.contains(elements.mark) && self.surroundings.excluded.allows(word.as_bytes())
                    }));
                }
                StringSet::Constrained(constraint) => {
                    let regex = self.raw_constrained(elements, constraint, place)?;
                    // Patterns say themselves what a string may hold.
                    let is_filtered = constraint.patterns.is_empty();
                    let regex = if is_filtered { self.surroundings.excluded.kept(regex) } else { regex };
                    members.push(self.builder.terminal(regex));
                }
            }
        }
        let listed = Regex::words(listed.into_iter().map(str::as_bytes));
        members.push(self.builder.terminal(self.string_padding(elements).around(listed)));
        Ok(self.builder.alt(&members))
    }

    /// Any string, labelled: who reads labels has a text of the schema already. Readers take a line feed away
    /// on each side where the style has them.
    fn labelled_text(&mut self, elements: &Elements) -> ExprId {
        let has_lines = elements.has_lines && self.graph.config.whitespace != Whitespace::OneLine;
        if has_lines {
            return self.text_between_lines(&elements.text);
        }
        let text = self.builder.terminal(elements.text.clone());
        self.labelled(ElementPart::Text, text)
    }

    /// Any text of `texts`, of which readers take away a line feed on each side.
    fn text_between_lines(&mut self, texts: &Regex) -> ExprId {
        let (line, any) = (Regex::byte(b'\n'), Regex::any_text());
        let first = Regex::concat([line.clone(), any.clone()]);
        let last = Regex::concat([any, line.clone()]);
        let line = self.builder.terminal(line);
        let ways =
            [(true, true), (true, false), (false, true), (false, false)].map(|(has_first, has_last)| {
                let mut text = texts.clone();
                if !has_first {
                    text = text.difference(&first);
                }
                if !has_last {
                    text = text.difference(&last);
                }
                let text = self.builder.terminal(text);
                let text = self.labelled(ElementPart::Text, text);
                let none = self.builder.epsilon();
                let [before, after] =
                    [has_first, has_last].map(|has_line| if has_line { line } else { none });
                self.builder.seq(&[before, text, after])
            });
        self.builder.alt(&ways)
    }

    /// White space around strings that are not any text.
    fn string_padding(&self, elements: &Elements) -> Padding {
        if elements.has_space_around_strings { self.padding.clone() } else { Padding::None }
    }

    /// Strings that satisfy constraints, with white space around them where the style has it.
    fn raw_constrained(
        &mut self,
        elements: &Elements,
        constraint: &StringConstraint,
        place: PlaceId,
    ) -> Result<Regex, SchemaError> {
        let min = self.count(constraint.min, place, "minLength")?;
        let max = constraint.max.and_then(|max| u32::try_from(max).ok());
        let padding = self.string_padding(elements);
        if constraint.patterns.is_empty() && matches!(&padding, Padding::Any(space) if *space == SPACE.star())
        {
            return Ok(elements.without_mark(counted_with_space(min, max)));
        }
        let mut bodies = constraint.patterns.clone();
        for pattern in &constraint.patterns {
            self.graph.spend(place, pattern.size())?;
        }
        if min > 0 || max.is_some() || bodies.is_empty() {
            bodies.push(ANY_CHAR.repeat(min, max));
        }
        Ok(elements.without_mark(padding.around(Regex::intersection(bodies))))
    }

    /// White space or nothing, where it may stand between the parts of elements.
    pub(crate) fn space(&mut self) -> ExprId {
        self.builder.terminal(self.inside.clone())
    }
}

/// `min` to `max` characters with any white space around them.
///
/// A text is one of them iff it has at least `min` characters, and at most `max` from the first to the last
/// that is not white space. Said so, a reader need not keep in mind how many of the first characters count as
/// white space around.
fn counted_with_space(min: u32, max: Option<u32>) -> Regex {
    let most = match max {
        None => ANY_CHAR.star(),
        Some(0) => SPACE.star(),
        Some(max) => {
            let core = Regex::concat([NOT_SPACE.clone(), ANY_CHAR.repeat(0, Some(max - 1))]);
            Regex::concat([SPACE.star(), core.optional(), SPACE.star()])
        }
    };
    if min == 0 { most } else { Regex::intersection([most, ANY_CHAR.repeat(min, None)]) }
}

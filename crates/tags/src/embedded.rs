//! JSON Schemas, patterns and grammars inside of a tag, each read by its own front end.

use maskwright_automata::Regex;
use maskwright_grammar::{Expr, Grammar, Item, Mark};
use maskwright_json_schema::{Around, PropertyOrder, Status, Whitespace, compile_within};
use maskwright_syntax::parse_gbnf_with_names;
use maskwright_syntax::regex::{self, Dialect};

use crate::TagError;
use crate::format::Schema;
use crate::lower::Lowering;

/// Why what a session would have to remember is not enforced.
const UNWATCHED: &str = "sessions watch a schema only where no other text of the tag can stand in its place";

/// The same for the keys of objects.
const REPEATED_KEYS: &str = "a key that the schema does not name may occur twice: sessions watch a schema only where no other text of the tag can \
     stand in its place";

impl Lowering<'_> {
    /// The texts that the whole of a pattern matches. It is in the dialect of JSON Schemas.
    pub(crate) fn pattern(&self, at: &str, pattern: &str) -> Result<Item, TagError> {
        let regex = regex::parse(pattern, Dialect::Ecma, self.fuel);
        regex.map(Item::Regular).map_err(|error| TagError::syntax(format!("{at}/pattern"), error))
    }

    /// The texts of a grammar in xgrammar's notation.
    pub(crate) fn grammar(&mut self, at: &str, text: &str) -> Result<Item, TagError> {
        let grammar = parse_gbnf_with_names(text, "grammar", self.special, self.fuel)
            .map_err(|error| TagError::syntax(format!("{at}/grammar"), error))?;
        self.embed(at, &grammar)
    }

    /// The texts of a JSON Schema.
    pub(crate) fn schema(&mut self, schema: &Schema<'_>) -> Result<Item, TagError> {
        let mut config = *self.config;
        config.style = schema.style;
        if schema.any_order {
            config.property_order = PropertyOrder::Any;
        }
        config.whitespace = match (schema.max_whitespace, config.whitespace) {
            (Some(max), _) => Whitespace::AtMost(max),
            // Around the whole text is inside of a larger one here.
            (None, Whitespace::Any) => Whitespace::AtMost(u32::MAX),
            (None, other) => other,
        };
        if schema.is_one_line && config.whitespace != Whitespace::Compact {
            config.whitespace = Whitespace::OneLine;
        }
        let at = schema.shown_at.as_ref().unwrap_or(&schema.at);
        let around = Around {
            excludes: &schema.excludes,
            ends: &schema.ends,
            special: (!self.special.is_empty()).then_some(self.special),
            is_labelled: self.labels.is_some(),
        };
        let compiled = compile_within(&schema.schema, &around, &config, self.fuel);
        let compiled = compiled.map_err(|error| TagError::schema(at, error))?;
        let has = |mark| compiled.grammar.watched().is_some_and(|watched| watched.has(mark));
        if self.anchored.contains(&schema.at) {
            if let Some(watch) = compiled.watch {
                self.watch = Some(self.watch.unwrap_or_default().and(watch));
            }
            self.report.embed(at, compiled.report, None);
            return self.embed(at, &compiled.grammar);
        }
        if has(Mark::Opens) && self.config.strict {
            let entry = compiled.report.entries().find(|entry| *entry.status == Status::EnforcedBySession);
            let pointer = entry.map_or(String::new(), |entry| entry.pointer);
            return Err(TagError::unsupported(format!("{at}{pointer}"), "uniqueItems", UNWATCHED).with_hint(
                "let the schema stand after a string that free text around it cannot hold, as in a `tag` with a `begin` and an \
                 `end`; leave the keyword out, or give the items a finite list of values",
            ));
        }
        self.report.embed(at, compiled.report, Some(UNWATCHED));
        if has(Mark::Holds) {
            let status = Status::NotEnforced { reason: REPEATED_KEYS.into() };
            self.report.add(at, "additionalProperties", status);
        }
        self.embed(at, &compiled.grammar.without_watch())
    }

    fn embed(&mut self, at: &str, grammar: &Grammar) -> Result<Item, TagError> {
        self.embed_as(at, grammar, &Regex::clone)
    }

    /// The texts of a grammar, with each terminal as `written` makes it.
    pub(crate) fn embed_as(
        &mut self,
        at: &str,
        grammar: &Grammar,
        written: &dyn Fn(&Regex) -> Regex,
    ) -> Result<Item, TagError> {
        if let &Expr::Terminal(only) = grammar.pool().get(grammar.body(grammar.start())) {
            return Ok(Item::Regular(written(&grammar.terminals()[only.index()])));
        }
        let start = self.builder.embed(grammar, self.fuel, |builder, terminal| {
            let regex = written(&grammar.terminals()[terminal.index()]);
            match grammar.watched().and_then(|watched| watched.mark(terminal)) {
                Some(mark) => builder.marked_terminal(regex, mark),
                None => builder.terminal(regex),
            }
        });
        start.map(Item::Expr).map_err(|error| TagError::fuel(at, error))
    }
}

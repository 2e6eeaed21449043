//! JSON Schemas, patterns and grammars inside of a tag, each read by its own front end.

use maskwright_grammar::{Expr, Grammar, Item, Mark};
use maskwright_json_schema::{PropertyOrder, Status, Whitespace, compile};
use maskwright_syntax::parse_gbnf;
use maskwright_syntax::regex::{self, Dialect};

use crate::TagError;
use crate::format::Schema;
use crate::lower::Lowering;

/// Why what a session would have to remember is not enforced.
const UNWATCHED: &str = "inside of a larger text no rules enforce it";

/// Why strings are not kept out of the values of a schema.
const UNEXCLUDED: &str = "strings cannot be kept out of the names and values of a schema";

impl Lowering<'_> {
    /// The texts that the whole of a pattern matches. It is in the dialect of JSON Schemas.
    pub(crate) fn pattern(&self, at: &str, pattern: &str) -> Result<Item, TagError> {
        let regex = regex::parse(pattern, Dialect::Ecma, self.fuel);
        regex.map(Item::Regular).map_err(|error| TagError::syntax(format!("{at}/pattern"), error))
    }

    /// The texts of a grammar in xgrammar's notation.
    pub(crate) fn grammar(&mut self, at: &str, text: &str) -> Result<Item, TagError> {
        let grammar = parse_gbnf(text, "grammar", self.fuel)
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
        let at = &schema.at;
        if schema.has_excludes {
            let format = at.strip_suffix("/json_schema").unwrap_or(at);
            if self.config.strict {
                let place = format!("{format}/excludes");
                return Err(TagError::unsupported(place, "excludes", UNEXCLUDED)
                    .with_hint("leave it out, or give the strings a `pattern`"));
            }
            self.report.add(format, "excludes", Status::NotEnforced { reason: UNEXCLUDED.into() });
        }
        let compiled = compile(&schema.schema, &config, self.fuel);
        let compiled = compiled.map_err(|error| TagError::schema(at, error))?;
        // Keys that no schema names may occur twice then, as everyone is told (`crate`).
        let must_differ = compiled.grammar.watched().is_some_and(|watched| watched.has(Mark::Opens));
        if must_differ && self.config.strict {
            let entry = compiled.report.entries().find(|entry| *entry.status == Status::EnforcedBySession);
            let pointer = entry.map_or(String::new(), |entry| entry.pointer);
            return Err(TagError::unsupported(format!("{at}{pointer}"), "uniqueItems", UNWATCHED).with_hint(
                "leave it out, give the items a finite list of values, or generate the JSON on its own",
            ));
        }
        self.report.embed(at, compiled.report, UNWATCHED);
        self.embed(at, &compiled.grammar.without_watch())
    }

    fn embed(&mut self, at: &str, grammar: &Grammar) -> Result<Item, TagError> {
        if let &Expr::Terminal(only) = grammar.pool().get(grammar.body(grammar.start())) {
            return Ok(Item::Regular(grammar.terminals()[only.index()].clone()));
        }
        let start = self.builder.embed(grammar, self.fuel, |builder, terminal| {
            builder.terminal(grammar.terminals()[terminal.index()].clone())
        });
        start.map(Item::Expr).map_err(|error| TagError::fuel(at, error))
    }
}

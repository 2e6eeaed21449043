//! The JSON Schema front end: schema in, typed grammar and report out.
//!
//! Between a schema document and the grammar layer; it knows automata and grammars, nothing of vocabularies
//! or the engine, and no stage passes text to the next:
//!
//! document → keywords (typed fields of one schema) → `Shape` (the canonical form: a union by JSON
//! type, closed under intersection; one lazily resolved graph for the document) → `Grammar`.
//!
//! # The texts of a schema
//! A text is in the grammar's language iff it writes a value that satisfies the schema, in this written form:
//!
//! * Object members are in [schema order](PropertyOrder::Schema); white space is as [`Whitespace`] says. No
//!   key occurs twice, however it is spelled: for keys that the schema does not name, the grammar has a
//!   [watch](maskwright_grammar::Watch), which the session keeps. Exception: unnamed keys may repeat if
//!   `minProperties` or a complement requires members and a pattern allows more than 64, but finitely many,
//!   keys.
//! * Strings without a constraint, and keys of objects without declared properties, are spelled in any way
//!   RFC 8259 allows, surrogates paired. Strings with a constraint, constants and other keys have the one
//!   spelling of Python's `json.dumps(…, ensure_ascii=False)`. Lengths count code points.
//! * Numbers are [plain](Numbers::Plain) unless the configuration says [`Numbers::Any`]. With it, numbers
//!   without a constraint are any of RFC 8259; `integer`s have no exponent and, except in draft 4, may end in
//!   `.0`. Numbers with a bound are in plain notation, without an exponent, or have an exponent and a single
//!   digit, not zero, before the point (`1e-06`). With `multipleOf`, also below `not`, they are in plain
//!   notation and have no more decimals than it needs. Constants are written as in the schema or plainly,
//!   whole ones (except in draft 4) also with `.0`.
//! * Items of an array with `uniqueItems` differ as values, however they are written. Where they are not of
//!   one finite list of scalars, the watch keeps them too.
//!
//! # Arguments in elements
//! With most [`Style`]s other than JSON, a text writes the members of one object, without braces and commas,
//! each in an element of its own, as xgrammar's structural tags have it. The schema's other values are left
//! out, and a schema without objects is an error. For the members `city` (a string) and `days` (a number):
//!
//! | style | text |
//! |---|---|
//! | `qwen_xml` | `<parameter=city>Berlin</parameter><parameter=days>3</parameter>` |
//! | `minimax_xml` | `<parameter name="city">Berlin</parameter><parameter name="days">3</parameter>` |
//! | `minimax_m3_xml` | `]<]minimax[>[<city>Berlin]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</days>` |
//! | `deepseek_xml` | `<｜DSML｜parameter name="city" string="true">Berlin</｜DSML｜parameter><｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>` |
//! | `deepseek_v4_1_xml` | the same with a blank after each `｜DSML｜` |
//! | `glm_xml` | `<arg_key>city</arg_key><arg_value>Berlin</arg_value><arg_key>days</arg_key><arg_value>3</arg_value>` |
//! | `cohere_xml` | `<cofl:value name="city" type="raw">Berlin</cofl:value><cofl:value name="days" type="json">3</cofl:value>` |
//! | `kimi_k3_xml` | <code><&#124;open&#124;>argument key="city" type="string"<&#124;sep&#124;>Berlin<&#124;close&#124;>argument<&#124;sep&#124;>…</code> |
//! | `python` | `city="Berlin", days=3` |
//! | `gemma` | <code>{city:<&#124;"&#124;>Berlin<&#124;"&#124;>,days:3}</code> |
//!
//! * **Strings are raw**: any text without the closing mark that satisfies the schema's constraints. A text
//!   that contains the mark cannot be written. Where the style does not tell kinds of values apart
//!   (`qwen_xml`, `minimax_xml`, `glm_xml`), a text need only be one of the values that the schema allows:
//!   `3` is a string too.
//! * **Other values are JSON**, whose strings cannot contain the mark either: readers end the element there.
//!   In `cohere_xml` and `minimax_m3_xml` arrays and objects are elements in turn: of type `list` and `dict`,
//!   whose items have no name, and with items of the name `item`.
//! * **`minimax_m3_xml`** ends an element with its name, so only names that the schema lists can be written;
//!   no string contains `]<]minimax[>[`; an empty array or object is an empty element; no white space stands
//!   around values.
//! * **`python`** has Python's literals on one line: strings in either quotes, `True`, `False` and `None`,
//!   lists and dicts, with a blank or none after commas and colons. Names of arguments are names of Python
//!   and no keywords. `python_json` has `true`, `false` and `null` as well.
//! * **`gemma`** has objects, arrays, numbers and words as compact JSON, strings as they are between two
//!   `<|"|>`, and names without quotes. The schema need not be of an object.
//! * **Attributes say the kind** of the value that follows, never of another. `kimi_k3_xml` calls all numbers
//!   `number`.
//! * **White space**, as much as is allowed after a comma, may stand around the members (in `glm_xml` not
//!   before the first if white space is flexible, but before `<arg_value>`). Around a value it is not part of
//!   the value: of flexible white space there, `qwen_xml` has one line feed on each side, and the others have
//!   none, since readers take away no more. If any or so many characters of white space are asked for, they
//!   may stand around each value that is not a string, and, except in `deepseek_xml`, around strings with a
//!   constraint.
//! * **Names** that the schema does not have are those of variables (`[A-Za-z_][A-Za-z0-9_]*`), in
//!   `cohere_xml` any but the empty one, unless `patternProperties` or `propertyNames` say which there may
//!   be. `cohere_xml` and `kimi_k3_xml` escape names as attributes of XML; in the other styles a name of the
//!   schema that contains what ends a name is not enforced.
//! * **No watch.** A name that is not one of the schema's, or of few, may occur twice, also in JSON inside.
//!   `uniqueItems` is enforced only in JSON and for items of a finite list of scalars.
//!
//! # What is not enforced
//! A keyword that is not enforced is an error, or with `strict: false` an entry of the [`Report`]: then the
//! language has all texts of the schema and perhaps others, also where the keyword stands below `not`,
//! `oneOf` or `if`. Unknown keywords are annotations, as the specification says, and are listed as such;
//! those that are nearly a known one, and unknown formats, are [warned about](Report::warnings).
//!
//! Compilation is linear in the document for usual schemas; multiplied-out combinations and everything else
//! that can grow is paid for in `Fuel` and limited.

mod config;
mod distinct;
mod error;
mod explain;
mod formats;
mod forms;
mod graph;
mod lenient;
mod lower;
mod numbers;
mod productive;
mod report;
mod source;
mod strings;
mod style;

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::{Grammar, SpecialNames};
use serde_json::Value;

pub use config::{Numbers, PropertyOrder, SchemaConfig, SchemaLimits, Style, Whitespace};
#[doc(hidden)]
pub use distinct::Distinct;
pub use error::{MissingDocument, SchemaError};
pub use explain::{KeywordLimit, SchemaWords};
pub use report::suggest::{Warning, is_keyword};
pub use report::{Report, ReportEntry, Status};
pub use source::document::{parse_document, parse_json};
pub use source::documents::Documents;
#[doc(hidden)]
pub use strings::names::is_python_name;

use crate::graph::Graph;
use crate::lenient::loose::Losses;
use crate::productive::is_productive;
use crate::report::Step;
use crate::report::remedy::with_remedy;
use crate::strings::excluded::{Excluded, Surroundings};

/// A JSON Schema of schemas that are enforced in full. There are three things that it cannot say: that each
/// `$ref` leads to a schema, that some value is allowed, and that limits suffice.
pub const SUPPORTED: &str = include_str!("supported.schema.json");

/// A schema as a grammar, and what of it is enforced.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_json_schema::{SchemaConfig, compile_str};
/// let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}"#;
/// let compiled = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap();
/// assert!(compiled.report.is_complete());
/// assert!(compiled.grammar.rules().len() > 0);
/// ```
#[derive(Clone, Debug)]
pub struct CompiledSchema {
    /// The texts of the schema.
    pub grammar: Grammar,
    /// What became of each keyword.
    pub report: Report,
    /// The grammar's watch, for embedding the schema in a larger grammar.
    #[doc(hidden)]
    pub watch: Option<Distinct>,
}

/// Compiles a schema. Linear in the document for usual schemas; all work is paid for in `fuel`.
///
/// # Errors
/// If the schema is malformed, nothing satisfies it, it uses a keyword that is not enforced (and `config` is
/// strict), a limit is reached, or the work is cancelled; with the JSON pointer and the keyword.
pub fn compile(schema: &Value, config: &SchemaConfig, fuel: &Fuel) -> Result<CompiledSchema, SchemaError> {
    compile_with_documents(schema, &Documents::default(), config, fuel)
}

/// [Compiles](compile) a schema whose references may lead to other documents.
///
/// # Errors
/// As [`compile`]; a reference to a document that is not among them is one that is not enforced
/// ([`SchemaError::missing_documents`] has all of them).
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_json_schema::{Documents, compile_with_documents, parse_document};
/// let schema = parse_document(r#"{"$ref": "name.json"}"#, "schema.json")?;
/// let mut documents = Documents::default();
/// documents.insert("name.json", parse_document(r#"{"type": "string"}"#, "name.json")?);
/// assert!(compile_with_documents(&schema, &documents, &Default::default(), &Fuel::unlimited()).is_ok());
/// # Ok::<(), maskwright_json_schema::SchemaError>(())
/// ```
pub fn compile_with_documents(
    schema: &Value,
    documents: &Documents,
    config: &SchemaConfig,
    fuel: &Fuel,
) -> Result<CompiledSchema, SchemaError> {
    compile_graph(Graph::new(schema, documents, config, fuel), schema)
}

/// What the text around the values of a schema asks of them.
#[doc(hidden)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Around<'a> {
    /// Texts that no string and no name contains, as it is written: between its quotes, with escapes. Strings
    /// and names for which the schema has a pattern or a format are not looked at. None of these may be
    /// empty.
    pub excludes: &'a [&'a str],
    /// Marks at which readers end the values; none of them empty. Strings of JSON write them with an escape:
    /// `<\/call>`.
    pub ends: &'a [&'a str],
    /// The special tokens that the style's marks name: they are those tokens as well as their text.
    pub special: Option<&'a SpecialNames>,
    /// Whether the parts of elements are labelled, by [`ElementPart`].
    pub is_labelled: bool,
}

/// A labelled part of an [element](Style): its number is the label's. Where a text can be read in two ways,
/// the smaller number counts: a string is what is no other value.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementPart {
    /// A value as JSON, with white space around it.
    Json,
    /// An array whose items are elements.
    List,
    /// An object whose members are elements.
    Object,
    /// The name of a member, as it is written.
    Name,
    /// A string as it is, with white space around it.
    Text,
}

impl ElementPart {
    /// All, by number.
    pub const ALL: [ElementPart; 5] =
        [ElementPart::Json, ElementPart::List, ElementPart::Object, ElementPart::Name, ElementPart::Text];
}

/// [Compiles](compile) a schema whose values stand in a larger text.
///
/// # Errors
/// As [`compile`].
#[doc(hidden)]
pub fn compile_within(
    schema: &Value,
    around: &Around<'_>,
    config: &SchemaConfig,
    fuel: &Fuel,
) -> Result<CompiledSchema, SchemaError> {
    let documents = Documents::default();
    let mut graph = Graph::new(schema, &documents, config, fuel);
    graph.surroundings = Surroundings {
        excluded: Excluded::new(around.excludes),
        ends: Excluded::new(around.ends),
        special: around.special,
        is_labelled: around.is_labelled,
    };
    compile_graph(graph, schema)
}

/// The strings of JSON for the texts of `texts`, without their quotes; canonical ones, and escapes where they
/// hide the marks `ends`.
#[doc(hidden)]
pub fn json_strings(texts: &Regex, ends: &[&str]) -> Regex {
    Excluded::new(ends).all_hidden(strings::escape::spell(texts))
}

fn compile_graph<'a>(mut graph: Graph<'a>, schema: &'a Value) -> Result<CompiledSchema, SchemaError> {
    let config = graph.config;
    match grammar_of(&mut graph, schema) {
        Ok((grammar, watch)) => Ok(CompiledSchema { grammar, report: graph.into_report(), watch }),
        Err(error) if config.strict && error.missing_document().is_some() => {
            Err(report::missing::with_all_missing(&mut graph, error))
        }
        Err(error) if config.strict || !error.may_be_loosened() => Err(with_remedy(error, schema)),
        Err(_) => compile_loosely(graph, schema),
    }
}

/// Compiles a schema without what cannot be enforced. Each pass leaves out more; all spend the same fuel.
fn compile_loosely<'a>(mut graph: Graph<'a>, schema: &'a Value) -> Result<CompiledSchema, SchemaError> {
    let mut losses = Losses::default();
    loop {
        graph = graph.next_pass(losses);
        let mut error = match grammar_of(&mut graph, schema) {
            Ok((grammar, watch)) => {
                return Ok(CompiledSchema { grammar, report: graph.into_report(), watch });
            }
            Err(error) => error,
        };
        // What is returned has no blame: it is about this pass alone.
        let (blame, loose) = (error.take_blame(), graph.loose.take());
        let (Some(blame), Some(loose)) = (blame, loose) else { return Err(error) };
        losses = loose.losses;
        losses.add(blame);
    }
}

fn grammar_of<'a>(
    graph: &mut Graph<'a>,
    schema: &'a Value,
) -> Result<(Grammar, Option<Distinct>), SchemaError> {
    let root = graph.schema_node(schema, 0, Step::Root)?;
    let (grammar, watch) = lower::lower(graph, root)?;
    if is_productive(&grammar, graph, graph.place(root))? {
        Ok((grammar, watch))
    } else {
        Err(report::innermost::unsatisfiable(graph, root))
    }
}

/// The terminals that the grammars of most schemas have: JSON's own strings, numbers and punctuation. An
/// engine may prepare for them.
///
/// ```
/// assert!(!maskwright_json_schema::usual_terminals(&Default::default()).is_empty());
/// ```
pub fn usual_terminals(config: &SchemaConfig) -> Vec<Regex> {
    strings::terminals::usual(config)
}

/// Parses a schema document and [compiles](compile) it.
///
/// # Errors
/// As [`compile`]; and if the document is not JSON, is nested more than 127 deep, repeats a key or has a
/// string with a lone surrogate, with line and column.
pub fn compile_str(schema: &str, config: &SchemaConfig, fuel: &Fuel) -> Result<CompiledSchema, SchemaError> {
    compile(&parse_document(schema, "schema")?, config, fuel)
}

//! What the caller may choose about the texts of a schema, and limits on the work.

use serde::{Deserialize, Serialize};

/// How a schema is compiled.
///
/// # Example: how JSON is written
///
/// ```
/// # mod maskwright { pub use maskwright_json_schema as json_schema; }
/// use maskwright::json_schema::{SchemaConfig, Whitespace};
/// let mut config = SchemaConfig::default();
/// config.whitespace = Whitespace::Compact;
/// assert!(config.strict);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SchemaConfig {
    /// In which order the properties of an object are written.
    pub property_order: PropertyOrder,
    /// Which white space is written.
    pub whitespace: Whitespace,
    /// How numbers are written.
    pub numbers: Numbers,
    /// How the members of the outermost object are written.
    pub style: Style,
    /// Whether a keyword that is not enforced is an error (the default). Otherwise it is left out and the
    /// report lists it, with the reason: the grammar has all texts of the schema, and others. Invalid
    /// schemas, and too much work, are errors in any case.
    pub strict: bool,
    /// Limits on the size of things, against hostile schemas.
    pub limits: SchemaLimits,
}

impl Default for SchemaConfig {
    fn default() -> SchemaConfig {
        SchemaConfig {
            property_order: PropertyOrder::default(),
            whitespace: Whitespace::default(),
            numbers: Numbers::default(),
            style: Style::default(),
            strict: true,
            limits: SchemaLimits::default(),
        }
    }
}

/// In which order the properties of an object are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PropertyOrder {
    /// Those of `properties` in their order there (optional ones may be left out), then the names that
    /// only `required` lists, then additional ones.
    #[default]
    Schema,
    /// In any.
    Any,
}

/// Which white space is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Whitespace {
    /// None.
    Compact,
    /// As common JSON writers produce it, with any indentation. After `,` nothing, one blank, or a line feed
    /// with an indentation; after `:` nothing or one blank; none before `,` and `:`, at the end of a line, or
    /// around the whole text. Brackets are padded on both sides or on neither, with one blank or a line feed
    /// with an indentation. Empty brackets may have one padding. An indentation is up to
    /// [`max_indent`](SchemaLimits::max_indent) blanks, or half as many tabs.
    #[default]
    Flexible,
    /// On one line: a blank or none after `,` and `:`, and nowhere else.
    OneLine,
    /// Any amount wherever RFC 8259 allows it, around the whole text too.
    Any,
    /// At most so many characters wherever RFC 8259 allows white space, except around the whole text.
    /// [`u32::MAX`] stands for any number of them.
    AtMost(u32),
}

/// How numbers are written.
///
/// # Example: any spelling
///
/// ```
/// # mod maskwright { pub use maskwright_json_schema as json_schema; }
/// use maskwright::json_schema::{Numbers, SchemaConfig};
/// let mut config = SchemaConfig::default();
/// assert_eq!(config.numbers, Numbers::Plain);
/// config.numbers = Numbers::Any;
/// # let fuel = maskwright_automata::Fuel::unlimited();
/// # assert!(maskwright_json_schema::compile_str(r#"{"type": "integer"}"#, &config, &fuel).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Numbers {
    /// As common JSON writers write them, within the range of doubles; every double has a spelling. An
    /// integer has no fraction and no exponent, and is not `-0`. Another number with a fraction has at most
    /// 17 digits, including trailing zeros (`19.90`). It has an exponent only where Python or JavaScript
    /// writes one (`1e-07`, `1e-7`, `1.5e+300`). A value that the schema lists is written in digits or as in
    /// the schema. If no plain number is within the bounds, all spellings are allowed.
    #[default]
    Plain,
    /// In any way that the schema allows: integers may end in `.0`, and numbers without a bound are any of
    /// RFC 8259.
    Any,
}

/// How the members of the outermost object are written: as JSON, or as the elements in which a model writes
/// the arguments of a call.
///
/// Most styles are named after the models that write them, as in xgrammar's structural tags. With any but
/// [`Json`](Style::Json) and [`Gemma`](Style::Gemma), the schema must have objects. The
/// [crate's page](crate#arguments-in-elements) says what is written.
///
/// # Example: elements
///
/// ```
/// # mod maskwright { pub use maskwright_json_schema as json_schema; }
/// use maskwright::json_schema::{SchemaConfig, Style};
/// let mut config = SchemaConfig::default();
/// config.style = Style::QwenXml;
/// # let fuel = maskwright_automata::Fuel::unlimited();
/// # let compile = |schema| maskwright_json_schema::compile_str(schema, &config, &fuel);
/// # assert!(compile(r#"{"properties": {"city": {"type": "string"}}}"#).is_ok());
/// # assert!(compile(r#"{"type": "string"}"#).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Style {
    /// `{"city": "Berlin", "days": 3}`.
    #[default]
    Json,
    /// `<parameter=city>Berlin</parameter>`.
    QwenXml,
    /// `<parameter name="city">Berlin</parameter>`.
    MinimaxXml,
    /// `]<]minimax[>[<city>Berlin]<]minimax[>[</city>`.
    MinimaxM3Xml,
    /// `<｜DSML｜parameter name="city" string="true">Berlin</｜DSML｜parameter>`.
    DeepseekXml,
    /// `<｜DSML｜ parameter name="city" string="true">Berlin</｜DSML｜ parameter>`.
    #[serde(rename = "deepseek_v4_1_xml")]
    DeepseekV41Xml,
    /// `<arg_key>city</arg_key><arg_value>Berlin</arg_value>`.
    GlmXml,
    /// `<cofl:value name="city" type="raw">Berlin</cofl:value>`.
    CohereXml,
    /// `<|open|>argument key="city" type="string"<|sep|>Berlin<|close|>argument<|sep|>`.
    KimiK3Xml,
    /// `city="Berlin", far=True`: the arguments of a call in Python.
    Python,
    /// `city="Berlin", far=true`: the same, with JSON's words as well.
    PythonJson,
    /// `{city:<|"|>Berlin<|"|>,days:3}`, as Gemma 4 writes it.
    Gemma,
}

impl Style {
    /// All styles.
    pub const ALL: [Style; 12] = [
        Style::Json,
        Style::QwenXml,
        Style::MinimaxXml,
        Style::MinimaxM3Xml,
        Style::DeepseekXml,
        Style::DeepseekV41Xml,
        Style::GlmXml,
        Style::CohereXml,
        Style::KimiK3Xml,
        Style::Python,
        Style::PythonJson,
        Style::Gemma,
    ];

    /// Its name in structural tags.
    pub fn name(self) -> &'static str {
        match self {
            Style::Json => "json",
            Style::QwenXml => "qwen_xml",
            Style::MinimaxXml => "minimax_xml",
            Style::MinimaxM3Xml => "minimax_m3_xml",
            Style::DeepseekXml => "deepseek_xml",
            Style::DeepseekV41Xml => "deepseek_v4_1_xml",
            Style::GlmXml => "glm_xml",
            Style::CohereXml => "cohere_xml",
            Style::KimiK3Xml => "kimi_k3_xml",
            Style::Python => "python",
            Style::PythonJson => "python_json",
            Style::Gemma => "gemma",
        }
    }
}

/// Limits on the size of things. Work as a whole is limited by the caller's fuel.
///
/// A schema that was saved and is read again has the defaults of the limits that only bound work: saved bytes
/// are not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// The widest indentation of flexible white space, in blanks. With tabs, it is half as many.
    pub max_indent: u32,
    /// How many alternatives one schema may have after its `anyOf`, `oneOf` and `allOf` are multiplied out.
    #[serde(skip)]
    pub max_alternatives: usize,
    /// How deep `$ref`, `allOf`, `anyOf` and `oneOf` may lead from one to the next without passing through
    /// a property or an item.
    #[serde(skip)]
    pub max_depth: usize,
    /// How many digits a number that is not of a list of values has at most before its point, behind it and
    /// in its power of ten, so that no model writes digits without end; `None`: any number of them.
    pub max_number_digits: Option<u32>,
    /// How many digits a bound may take in plain notation.
    #[serde(skip)]
    pub max_digits: usize,
    /// How many states the remainders by the divisors of `multipleOf` may take, bounds included.
    #[serde(skip)]
    pub max_remainders: usize,
}

/// The default of [`SchemaLimits::max_indent`]; all grammars share the flexible punctuation of this width.
pub(crate) const DEFAULT_MAX_INDENT: u32 = 64;

impl Default for SchemaLimits {
    fn default() -> SchemaLimits {
        SchemaLimits {
            max_indent: DEFAULT_MAX_INDENT,
            max_alternatives: 1024,
            max_depth: 128,
            max_number_digits: None,
            max_digits: 400,
            max_remainders: 8192,
        }
    }
}

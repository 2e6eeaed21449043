//! `maskwright.Compiler` and what it makes.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use maskwright::{CheckConfig, CompileOptions, Error, GrammarSource};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::arguments::{
    Count, FilePath, Flag, GrammarText, List, OfCall, OfGrammar, PatternText, Reduced, Saved, Text,
    TextBytes, file_bytes, os_error, refuse_unknown, wrong_type, wrong_type_but,
};
use crate::cancel::Cancel;
use crate::check::Check;
use crate::errors::{GrammarWarning, OrRaise, invalid};
use crate::events::{self, Message};
use crate::interrupt::{self, stoppable};
use crate::lark;
use crate::limits::LimitCounts;
use crate::report::ReportEntry;
use crate::schema::{self, SchemaText, TagText};
use crate::state::table;
use crate::tokenizer::{Tokenizer, own_tokenizer};
use crate::tools;
use crate::work::detached;

/// Compiles grammars for one tokenizer, and owns the caches that they share. It can be used from many
/// threads. Compiling releases the interpreter, and Ctrl-C ends it.
///
/// * `limits`: a dict with any of these. Work units and sizes are the same on every machine.
///
///   * `compile_work`: work units of one compilation.
///   * `mask_work`: work units, of some 20 ns, of one mask, and of one call that accepts or checks tokens; no
///     limit by default. If they do not suffice, the mask has the tokens that are proven to be allowed by
///     then, and its status is "bound"; if none is proven, one is looked for with more work. A token that is
///     not decided is refused, unless the last mask had it.
///   * `infill_work`: work units, of 10 to 35 ns, of the first question about a Template or Canvas, and of an
///     exact mask: 150,000,000 by default, some five seconds at most. A question about one token takes at
///     most a third of it.
///   * `max_positions`: the positions of a Canvas, or the fixed pieces and tokens of a Template.
///   * `memory_bytes`: of all grammars and shared caches together. Beyond it, data that can be computed again
///     is dropped, of the least recently used grammars first.
///   * `advanced`: a dict with any of these. `compile_bytes`: bytes that a compilation may take, beside what
///     it shares with others. `max_threads`: parses of an ambiguous text that are followed at once;
///     `max_calls`: rules that may begin at one byte. `max_states`, `max_residue_size` and `liveness_fuel`:
///     the states of one terminal (a pattern, for example), the work units of one step in it, and those of
///     one search for a word of it. `row_cache_bytes` and `automaton_bytes`: of the shared caches;
///     `machine_bytes`: of one grammar's tables.
///
/// * `threads`: the most threads that a batch of masks uses; by default one per core.
/// * `rows`: a file that `save_rows` wrote. The compiler starts with the tables in it instead of building
///   them, and raises what `load_rows` raises.
///
/// Every `compile_*` raises LimitError if a limit is reached, and WorkCancelled if `cancel` is cancelled.
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Compiler {
    compiler: maskwright::Compiler,
    tokenizer: Py<Tokenizer>,
    n_threads: NonZero<usize>,
    /// As they were given.
    limits: LimitCounts,
}

#[pymethods]
impl Compiler {
    #[new]
    #[pyo3(signature = (tokenizer, limits=None, threads=None, *, rows=None))]
    fn new(
        tokenizer: &Bound<'_, PyAny>,
        limits: Option<&Bound<'_, PyAny>>,
        threads: Option<Count>,
        rows: Option<FilePath<OfCall>>,
    ) -> PyResult<Compiler> {
        let tokenizer = own_tokenizer(tokenizer)?;
        let limits = match limits {
            Some(given) => LimitCounts::read(given)?,
            None => LimitCounts::default(),
        };
        let n_threads = match threads {
            Some(Count(threads)) => {
                NonZero::new(threads).ok_or_else(|| invalid("threads is 0, expected at least 1 (or None)"))?
            }
            None => available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        };
        let (py, vocabulary) = (tokenizer.py(), &tokenizer.get().0);
        let compiler = match rows {
            None => detached(py, || maskwright::Compiler::with_limits(vocabulary, limits.limits()))?,
            Some(path) => {
                let saved = file_bytes(py, &path.0)?;
                detached(py, || maskwright::Compiler::with_saved_rows(vocabulary, limits.limits(), &saved))?
                    .or_raise()?
            }
        };
        Ok(Compiler { compiler, tokenizer: tokenizer.clone().unbind(), n_threads, limits })
    }

    /// Compiles what `source` is, by its type:
    ///
    /// * a Pydantic model, a dataclass, `list[T]`, a function and whatever else `schema_from` takes, a dict
    ///   (a JSON Schema) among them: the JSON texts of its values, as `compile_json_schema` compiles them. So
    ///   the texts of an Enum or a Literal are in quotes; `compile_choice` compiles them without.
    /// * a `re.Pattern`: the texts that its `fullmatch` matches.
    /// * the path of a file as `os.PathLike`, ending in `.json`, `.lark` or `.gbnf`.
    ///
    /// `options` are those of the method that compiles it: `compile_json_schema`, `compile_regex`,
    /// `compile_lark` or `compile_gbnf`.
    ///
    /// Raises what that method raises, and TypeError for a plain str, which could be anything.
    #[pyo3(signature = (source, *, cancel=None, **options))]
    fn compile<'py>(
        this: &Bound<'py, Compiler>,
        source: &Bound<'py, PyAny>,
        cancel: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let types = this.py().import("maskwright._types")?;
        let planned = types.call_method1("compiled_with", (source,))?;
        let (method, argument, own): (String, Bound<'_, PyAny>, Bound<'_, PyDict>) = planned.extract()?;
        if let Some(options) = options {
            own.update(options.as_mapping())?;
        }
        own.set_item("cancel", cancel)?;
        // Called from here, so that warnings are about the caller's line.
        this.call_method(method.as_str(), (argument,), Some(&own))
    }

    /// Compiles a JSON Schema: the grammar's texts are the JSON texts that the schema allows.
    ///
    /// * `schema`: JSON text, the path of a file as `os.PathLike`, a dict, a bool, or a type, as
    ///   `schema_from` takes it. The texts of a type are those that Pydantic's validator takes, as far as a
    ///   schema can say that.
    /// * `property_order`: "schema" (properties come in the order of the schema) or "any".
    /// * `whitespace`: "flexible" (as common JSON writers produce it: none, single blanks, or line feeds with
    ///   indentation, brackets padded on both sides or on neither), "compact" (none) or "any" (all that JSON
    ///   allows).
    /// * `max_whitespace`: with `whitespace` "any" or left out, at most this many characters at each place
    ///   where JSON allows white space, and none around the whole text.
    /// * `numbers`: "plain" (as common JSON writers write them: integers in digits only; other numbers within
    ///   the range of a float, with at most 17 digits if they have a fraction, and exponents as Python or
    ///   JavaScript writes them) or "any" (all that the schema allows: `1.0` is an integer too).
    /// * `strict`: if true, a keyword that cannot be enforced raises; if false, `report` names it.
    /// * `documents`: a dict from URIs to other schemas, each given like `schema`; a `$ref` finds them by URI
    ///   or by their `$id`. If the schema is a file, a `$ref` finds files beside it by name. Files outside of
    ///   its folder are not read, and at most 4,096 files of 64 MiB in total are.
    ///
    /// Warns (SchemaWarning) about keywords that are probably misspelt, and about unknown formats, which are
    /// not checked.
    ///
    /// Raises SchemaError, with the JSON pointer of the fault, and OSError if the file cannot be read.
    #[pyo3(signature = (schema, *, property_order=Text::new("schema"), whitespace=None, max_whitespace=None, numbers=Text::new("plain"), strict=Flag(true), documents=None, cancel=None, **unknown))]
    #[pyo3(
        text_signature = "($self, schema, *, property_order='schema', whitespace='flexible', max_whitespace=None, numbers='plain', strict=True, documents=None, cancel=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn compile_json_schema(
        this: &Bound<'_, Compiler>,
        schema: &Bound<'_, PyAny>,
        property_order: Text<OfCall>,
        whitespace: Option<Text<OfCall>>,
        max_whitespace: Option<Count>,
        numbers: Text<OfCall>,
        strict: Flag,
        documents: Option<&Bound<'_, PyAny>>,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_json_schema", unknown)?;
        let py = schema.py();
        let mut config = schema::config(
            &property_order,
            schema::whitespace(whitespace.as_deref(), max_whitespace)?,
            &numbers,
        )?;
        config.strict = strict.0;
        let documents = schema::documents(py, documents)?;
        let schema = SchemaText::of(schema)?;
        let mut source = GrammarSource::json_schema(&schema.text, config).documents(documents);
        if let Some(file) = &schema.file {
            source = source.file(file);
        }
        let compiled =
            Compiler::compile_source(this, cancel, &source).map_err(|error| schema.located(py, error))?;
        if let Some(report) = compiled.grammar.report() {
            schema::warn(py, report)?;
        }
        Ok(compiled)
    }

    /// Compiles a structural tag, in the JSON of xgrammar: free text, reasoning between tags, calls of tools
    /// with arguments by a JSON Schema.
    ///
    /// * `tag`: JSON text, the path of a file as `os.PathLike`, a dict, or a model with `model_dump_json`,
    ///   such as xgrammar's own `StructuralTag`. The old forms, with `structures` or `tags` and `triggers`,
    ///   are read too.
    /// * `property_order`, `whitespace`, `max_whitespace` and `numbers`: as for `compile_json_schema`, for
    ///   the schemas in it. A format may say otherwise with `any_order` and `max_whitespace_cnt`. Around a
    ///   schema's text there is no white space.
    /// * `strict`: if true, what cannot be enforced raises: some keywords, and `uniqueItems` in a schema that
    ///   can be mistaken for other text of the tag, unless its items have a finite list of values. If false,
    ///   `report` names it. In such a schema, keys that it does not name may occur twice; `report` says so.
    /// * `special_tokens_in_text`: if true, `begin`, `end`, triggers, separators, `const_string` and quoted
    ///   strings of grammars match the special tokens that they name, as well as text. Servers write tags
    ///   this way. A token that ends texts matches only at the end: if a string at the end of the text is its
    ///   name, or ends with it, only this token may end the text.
    ///
    /// Warns (SchemaWarning) as `compile_json_schema` does.
    ///
    /// Raises GrammarError if the tag is wrong, SchemaError if a schema in it is; both with the JSON pointer
    /// of the place in the tag.
    #[pyo3(signature = (tag, *, property_order=Text::new("schema"), whitespace=None, max_whitespace=None, numbers=Text::new("plain"), strict=Flag(true), special_tokens_in_text=Flag(false), cancel=None, **unknown))]
    #[pyo3(
        text_signature = "($self, tag, *, property_order='schema', whitespace='flexible', max_whitespace=None, numbers='plain', strict=True, special_tokens_in_text=False, cancel=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn compile_structural_tag(
        this: &Bound<'_, Compiler>,
        tag: TagText,
        property_order: Text<OfCall>,
        whitespace: Option<Text<OfCall>>,
        max_whitespace: Option<Count>,
        numbers: Text<OfCall>,
        strict: Flag,
        special_tokens_in_text: Flag,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_structural_tag", unknown)?;
        let mut config = schema::config(
            &property_order,
            schema::whitespace(whitespace.as_deref(), max_whitespace)?,
            &numbers,
        )?;
        config.strict = strict.0;
        let source = tag.0.source(|text| GrammarSource::structural_tag(text, config));
        let source = source.special_tokens_in_text(special_tokens_in_text.0);
        let compiled = Compiler::compile_source(this, cancel, &source)?;
        if let Some(report) = compiled.grammar.report() {
            schema::warn(this.py(), report)?;
        }
        Ok(compiled)
    }

    /// Compiles the messages in which a model may call tools, as its family writes them.
    ///
    /// * `tools`: a list of tools: dicts in OpenAI's, Anthropic's or MCP's form, Pydantic models and other
    ///   types that `schema_from` takes, and functions. Or JSON text, or the path of a file as `os.PathLike`.
    /// * `format`: a name of `tool_formats()`. None: found from the tokenizer's chat template.
    /// * `tool_choice`: "auto" (text or calls), "none", "required", the name of a tool, or a dict as OpenAI's
    ///   and Anthropic's interfaces have it, `allowed_tools` too.
    /// * `parallel`: whether a message may have several calls, where the format has that.
    /// * `reasoning`: whether the model reasons first: False, True, "auto" (it chooses, and writes the mark
    ///   that begins the reasoning), or "open" (the prompt has this mark, so the text begins within the
    ///   reasoning). True is "open" where the tokenizer's chat template writes the mark into the prompt, or
    ///   the family's template does.
    /// * `text`: whether text may stand beside calls, where the format has that.
    /// * `on_error`: what becomes of a tool whose schema cannot be compiled or enforced: "raise", "leave_out"
    ///   (it cannot be called) or "any_json" (its arguments are any JSON object). `report` then says why.
    /// * `property_order`, `whitespace`, `max_whitespace`, `numbers` and `strict` as for
    ///   `compile_json_schema`. A tool with `"strict": false` takes any JSON object.
    ///
    /// The marks of a format match their text and the special tokens of these names.
    ///
    /// Raises GrammarError and SchemaError, which name the tool, with the place in `tools`.
    #[pyo3(signature = (tools, *, format=None, tool_choice=None, parallel=Flag(true), reasoning=None, text=Flag(true), on_error=Text::new("raise"), property_order=Text::new("schema"), whitespace=None, max_whitespace=None, numbers=Text::new("plain"), strict=Flag(true), cancel=None, **unknown))]
    #[pyo3(
        text_signature = "($self, tools, *, format=None, tool_choice='auto', parallel=True, reasoning=False, text=True, on_error='raise', property_order='schema', whitespace='flexible', max_whitespace=None, numbers='plain', strict=True, cancel=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn compile_tool_calls(
        this: &Bound<'_, Compiler>,
        tools: &Bound<'_, PyAny>,
        format: Option<Text<OfCall>>,
        tool_choice: Option<&Bound<'_, PyAny>>,
        parallel: Flag,
        reasoning: Option<&Bound<'_, PyAny>>,
        text: Flag,
        on_error: Text<OfCall>,
        property_order: Text<OfCall>,
        whitespace: Option<Text<OfCall>>,
        max_whitespace: Option<Count>,
        numbers: Text<OfCall>,
        strict: Flag,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_tool_calls", unknown)?;
        let mut config = schema::config(
            &property_order,
            schema::whitespace(whitespace.as_deref(), max_whitespace)?,
            &numbers,
        )?;
        config.strict = strict.0;
        let tokenizer = &this.get().tokenizer;
        let (tools, mut options) = tools::request(tools, format, tool_choice, reasoning, tokenizer)?;
        options.is_parallel = parallel.0;
        options.has_text = text.0;
        options.on_error = tools::on_error(&on_error)?;
        let source = tools.source(|tools| GrammarSource::tool_calls(tools, options, config));
        let compiled = Compiler::compile_source(this, cancel, &source)?;
        if let Some(report) = compiled.grammar.report() {
            schema::warn(this.py(), report)?;
        }
        Ok(compiled)
    }

    /// Compiles a regular expression. It has to match the whole text.
    ///
    /// Without a `dialect`, the syntax is that of Rust's `regex` crate, and `\d`, `\w`, `\s`, `\b` and their
    /// negations are ASCII-only. With `unicode=True`, or after `(?u)` in the pattern, they match all of
    /// Unicode: `\d` is then any decimal digit, also `٣`.
    ///
    /// `dialect`: "rust" (exactly the `regex` crate's, with Unicode), "ecma" (JavaScript's, as in JSON
    /// Schemas) or "python" (that of `re`). The last two have look-ahead and look-behind; without a dialect a
    /// pattern may have them if it means the same in both. In "ecma", `\A`, `\z` and `\Z` are anchors too,
    /// although JavaScript has none of them. For a compiled `re.Pattern`, call `compile`.
    ///
    /// Raises GrammarError, with the place, if the pattern is wrong, matches nothing, or is not regular, and
    /// LimitError if it is too large.
    #[pyo3(signature = (pattern, *, dialect=None, unicode=Flag(false), cancel=None, **unknown))]
    #[pyo3(text_signature = "($self, pattern, *, dialect=None, unicode=False, cancel=None)")]
    fn compile_regex(
        this: &Bound<'_, Compiler>,
        pattern: PatternText,
        dialect: Option<Text<OfCall>>,
        unicode: Flag,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_regex", unknown)?;
        let source = match dialect.as_deref() {
            Some(dialect @ ("rust" | "python")) if unicode.0 => {
                return Err(invalid(format!(
                    "unicode=True with dialect={dialect:?}: its \\d, \\w, \\s and \\b match all of Unicode; leave unicode away"
                )));
            }
            Some("ecma") if unicode.0 => {
                return Err(invalid(
                    "unicode=True with dialect=\"ecma\": JavaScript's \\d, \\w and \\b are ASCII-only; leave dialect away, or \
                     write \\p{Nd} for \\d and [\\p{L}\\p{N}_] for \\w",
                ));
            }
            None if unicode.0 => GrammarSource::rust_regex(pattern.0),
            None => GrammarSource::regex(pattern.0),
            Some("rust") => GrammarSource::rust_regex(pattern.0),
            Some("ecma") => GrammarSource::ecma_regex(pattern.0),
            Some("python") => GrammarSource::python_regex(pattern.0),
            Some(other) => {
                return Err(invalid(format!(
                    "dialect is {other:?}, expected \"rust\", \"ecma\" or \"python\""
                )));
            }
        };
        Compiler::compile_source(this, cancel, &source)
    }

    /// Compiles a grammar in GBNF, llama.cpp's notation: its text, or a file as `os.PathLike`. The start rule
    /// is `root`.
    ///
    /// A string that contains the name of a special token matches only the text of that name: warns
    /// (GrammarWarning). The token is written without quotes, `<think>`, or `<[TOOL_CALLS]>` if its name has
    /// no angle brackets.
    ///
    /// `special_tokens_in_text`: if true, quoted strings match the special tokens that they name, as well as
    /// text. A token that ends texts matches only at the end, if its name ends the text.
    ///
    /// `capture`: the names of rules whose texts `Matcher.captures` tells. None of them can begin with
    /// itself.
    ///
    /// Raises GrammarError, with the place, if the grammar is wrong or no text fits it.
    #[pyo3(signature = (grammar, *, special_tokens_in_text=Flag(false), capture=List::default(), cancel=None, **unknown))]
    #[pyo3(text_signature = "($self, grammar, *, special_tokens_in_text=False, capture=(), cancel=None)")]
    fn compile_gbnf(
        this: &Bound<'_, Compiler>,
        grammar: GrammarText,
        special_tokens_in_text: Flag,
        capture: List<Text<OfGrammar>>,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_gbnf", unknown)?;
        let source = grammar.source(GrammarSource::gbnf).special_tokens_in_text(special_tokens_in_text.0);
        Compiler::compile_source(this, cancel, &source.capture(capture.0.into_iter().map(|rule| rule.0)))
    }

    /// Compiles choices: the text is exactly one of them.
    ///
    /// `choices`: any iterable of str, an Enum whose values are str, or a Literal of str.
    ///
    /// Raises GrammarError if there are none, TypeError for anything else, a single str included.
    #[pyo3(signature = (choices, *, cancel=None, **unknown))]
    #[pyo3(text_signature = "($self, choices, *, cancel=None)")]
    fn compile_choice(
        this: &Bound<'_, Compiler>,
        choices: &Bound<'_, PyAny>,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_choice", unknown)?;
        let choices = this.py().import("maskwright._types")?.call_method1("choices", (choices,))?;
        let choices: Vec<Text<OfGrammar>> = choices.extract()?;
        Compiler::compile_source(
            this,
            cancel,
            &GrammarSource::choice(choices.into_iter().map(|choice| choice.0)),
        )
    }

    /// Compiles a grammar in Lark's language: its text, or a file as `os.PathLike`, beside which relative
    /// imports are looked for.
    ///
    /// * `start`: the start rule.
    /// * `lexer`: "contextual", the default of Lark's dialect, considers only the terminals that the parser
    ///   can accept at that point, by maximal munch and priorities. "basic" considers all terminals, like
    ///   Lark's basic lexer. "dynamic_complete", the default of llguidance's dialect, uses no lexer: the text
    ///   is split in any way that the rules allow, as with Lark's Earley parser.
    /// * `dialect`: "lark" or "llguidance". In llguidance's, a terminal is all that its pattern can match,
    ///   and `%llguidance {}` may be the first line.
    /// * `indentation`: with "python", the blanks after `_NEWLINE` (or `_NL`), outside of brackets, produce
    ///   `_INDENT` and `_DEDENT`, as with Lark's PythonIndenter. For other names: a dict with any of the keys
    ///   "newline", "indent", "dedent", "open", "close" (both lists of brackets) and "tab_len", or an
    ///   instance of Lark's Indenter.
    /// * `import_paths`: the folders that imported grammars are looked for in, relative imports too; `common`
    ///   is built in.
    /// * `property_order`, `whitespace`, `max_whitespace` and `numbers`: as for `compile_json_schema`, for
    ///   the schemas in the grammar. With "dynamic_complete", `%json {...}` in a rule stands for the texts of
    ///   that JSON Schema, and `%json "call.json"` for those of the schema in that file, which is looked for
    ///   in `import_paths`.
    /// * `special_tokens_in_text`: if true, strings in rules, and terminals that are a single string, match
    ///   the special tokens that they name, as well as text. A token that ends texts matches only at the end.
    ///   With a lexer, this requires a string that is only its name, and no indentation.
    /// * `capture`: the names of rules whose texts `Matcher.captures` tells, without ignored tokens around
    ///   them. None of the rules can begin with itself.
    ///
    /// Warns (GrammarWarning) as `compile_gbnf` does.
    ///
    /// Raises GrammarError, with line, column and a hint, if the grammar is wrong or no text fits it.
    #[pyo3(signature = (grammar, *, start=Text::new("start"), lexer=None, dialect=Text::new("lark"), indentation=None, import_paths=List::default(), property_order=Text::new("schema"), whitespace=None, max_whitespace=None, numbers=Text::new("plain"), special_tokens_in_text=Flag(false), capture=List::default(), cancel=None, **unknown))]
    #[pyo3(
        text_signature = "($self, grammar, *, start='start', lexer=None, dialect='lark', indentation=None, import_paths=(), property_order='schema', whitespace='flexible', max_whitespace=None, numbers='plain', special_tokens_in_text=False, capture=(), cancel=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn compile_lark(
        this: &Bound<'_, Compiler>,
        grammar: GrammarText,
        start: Text<OfGrammar>,
        lexer: Option<Text<OfCall>>,
        dialect: Text<OfCall>,
        indentation: Option<&Bound<'_, PyAny>>,
        import_paths: List<FilePath<OfGrammar>>,
        property_order: Text<OfCall>,
        whitespace: Option<Text<OfCall>>,
        max_whitespace: Option<Count>,
        numbers: Text<OfCall>,
        special_tokens_in_text: Flag,
        capture: List<Text<OfGrammar>>,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_lark", unknown)?;
        let mut options = lark::options(lexer.as_deref(), &dialect, indentation, import_paths)?;
        options.start = start.0;
        options.schemas = schema::config(
            &property_order,
            schema::whitespace(whitespace.as_deref(), max_whitespace)?,
            &numbers,
        )?;
        let source = grammar.source(|text| GrammarSource::lark(text, options));
        let source = source.capture(capture.0.into_iter().map(|rule| rule.0));
        Compiler::compile_source(this, cancel, &source.special_tokens_in_text(special_tokens_in_text.0))
    }

    /// Compiles a built-in grammar: "arithmetic", "cpp", "json", "python", "smiles" or "sql". The one for
    /// Python allows indentation by tabs, except when a Template or Canvas is filled in.
    ///
    /// Raises GrammarError if no built-in grammar has this name.
    #[pyo3(signature = (name, *, cancel=None, **unknown))]
    #[pyo3(text_signature = "($self, name, *, cancel=None)")]
    fn compile_builtin(
        this: &Bound<'_, Compiler>,
        name: Text<OfGrammar>,
        cancel: Option<Cancel>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        refuse_unknown(&this.get_type(), "compile_builtin", unknown)?;
        Compiler::compile_source(this, cancel, &GrammarSource::builtin(name.0))
    }

    /// The tokenizer that masks are for.
    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.tokenizer.clone_ref(py)
    }

    /// Writes the vocabulary tables built so far to a file. Another process that loads them (`load_rows`, or
    /// `Compiler(tokenizer, rows=path)`) makes its first masks faster. The file is replaced atomically.
    ///
    /// Raises OSError if it cannot be written.
    fn save_rows(&self, py: Python<'_>, path: FilePath<OfCall>) -> PyResult<()> {
        let path = path.0;
        static N_SAVED: AtomicU64 = AtomicU64::new(0);
        detached(py, || {
            let mut beside = path.clone().into_os_string();
            let number = N_SAVED.fetch_add(1, Ordering::Relaxed);
            beside.push(format!(".{}.{number}.part", std::process::id()));
            let written = std::fs::write(&beside, self.compiler.save_rows());
            let result = written.and_then(|()| std::fs::rename(&beside, &path));
            if result.is_err() {
                // The error that matters is the first.
                let _ = std::fs::remove_file(&beside);
            }
            result.map_err(|error| os_error(&error, &path))
        })?
    }

    /// Reads a file that `save_rows` wrote, and returns how many of its tables were new. It changes no
    /// answer, only the speed. Load only files that you trust: damage is detected, manipulation is not.
    ///
    /// Raises Error if the file is damaged, of another version or for another vocabulary, OSError if it
    /// cannot be read.
    fn load_rows(&self, py: Python<'_>, path: FilePath<OfCall>) -> PyResult<usize> {
        let saved = file_bytes(py, &path.0)?;
        detached(py, || self.compiler.load_rows(&saved))?.or_raise()
    }

    /// Drops the shared caches. Grammars that are already compiled keep working, and keep what they have
    /// built.
    fn clear_caches(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.compiler.clear_caches())
    }

    /// Approximate memory of the shared caches and of all grammars that are still in use, in bytes.
    fn memory_usage(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.compiler.memory_usage())
    }

    /// With its tokenizer and limits; the caches are made anew.
    fn __reduce__<'py>(
        this: &Bound<'py, Compiler>,
    ) -> Reduced<'py, (Py<Tokenizer>, Bound<'py, PyDict>, usize)> {
        let (py, own) = (this.py(), this.get());
        let arguments = (own.tokenizer.clone_ref(py), own.limits.to_dict(py)?, own.n_threads.get());
        Ok((this.get_type().into_any(), arguments))
    }

    /// The same: its caches are to be shared.
    fn __copy__(this: Py<Compiler>) -> Py<Compiler> {
        this
    }

    /// The same: its caches are to be shared.
    fn __deepcopy__(this: Py<Compiler>, _memo: &Bound<'_, PyAny>) -> Py<Compiler> {
        this
    }

    fn __repr__(&self) -> String {
        format!("Compiler(vocab_size={}, threads={})", self.compiler.tokenizer().n_vocab(), self.n_threads)
    }
}

impl Compiler {
    /// Compiles a source.
    fn compile_source(
        this: &Bound<'_, Compiler>,
        cancel: Option<Cancel>,
        source: &GrammarSource,
    ) -> PyResult<CompiledGrammar> {
        let compiler = &this.get().compiler;
        let compiled = Compiler::run(this, cancel, |options| compiler.compile(source, options))?;
        let warnings = detached(this.py(), || compiled.grammar.warnings())?;
        for warning in warnings {
            crate::errors::warn::<GrammarWarning>(this.py(), &warning.to_string())?;
        }
        Ok(compiled)
    }

    /// Compiles without the interpreter, so that `cancel` and signals end it.
    fn run(
        this: &Bound<'_, Compiler>,
        cancel: Option<Cancel>,
        compile: impl FnOnce(&CompileOptions) -> Result<Arc<maskwright::CompiledGrammar>, Error> + Send,
    ) -> PyResult<CompiledGrammar> {
        let cancel = cancel.map_or_else(maskwright::CancelToken::new, |token| token.0);
        let work = |token| {
            let mut options = CompileOptions::default();
            options.cancel = Some(token);
            compile(&options)
        };
        let grammar = interrupt::run(this.py(), &cancel, work)?.or_raise()?;
        Ok(CompiledGrammar { grammar, compiler: this.clone().unbind() })
    }

    /// The most threads that a batch of masks uses.
    pub(crate) fn n_threads(&self) -> NonZero<usize> {
        self.n_threads
    }
}

/// A compiled grammar. Make a Matcher from it for each sequence. It can be shared between threads.
#[pyclass(frozen, weakref, module = "maskwright")]
pub(crate) struct CompiledGrammar {
    pub(crate) grammar: Arc<maskwright::CompiledGrammar>,
    compiler: Py<Compiler>,
}

#[pymethods]
impl CompiledGrammar {
    /// What to tell a model in the prompt, so that it wants to write a text of this grammar: the schema in
    /// short, the grammar, or the tools and how a call of them is written. It is in English.
    ///
    /// A mask only forbids: a model that was not told what is expected wants to write something else, and
    /// writes worse texts. Where the model's chat template writes the tools into the prompt, leave them to
    /// it.
    ///
    /// `example`: whether a short text that the grammar accepts follows. None leaves it out after a schema, a
    /// pattern or choices, which say it all: a small model copies the values of an example.
    ///
    /// >>> tokenizer = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
    /// >>> schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    /// >>> print(maskwright.Compiler(tokenizer).compile_json_schema(schema).describe())
    /// Answer only with JSON of this type:
    /// <BLANKLINE>
    /// {
    ///   "age": integer
    /// }
    ///
    /// Raises LimitError if a limit is reached.
    #[pyo3(signature = (*, example=None))]
    fn describe(&self, py: Python<'_>, example: Option<Flag>) -> PyResult<String> {
        let has_example = example.map(|example| example.0);
        stoppable(py, || maskwright::describe(self.grammar.source(), has_example))?.or_raise()
    }

    /// For a JSON Schema, a structural tag or calls of tools: whether and how each keyword is enforced, as a
    /// list of ReportEntry in the order of its text. Empty for other grammars, which are enforced entirely.
    /// Each access makes a new list. Notebooks show it as a table.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let entries = self.grammar.report().into_iter().flat_map(|report| report.entries());
        let entries: Vec<ReportEntry> = entries.map(ReportEntry::new).collect();
        py.import("maskwright._report")?.getattr("Report")?.call1((entries,))
    }

    /// The compiler that made it.
    #[getter]
    fn compiler(&self, py: Python<'_>) -> Py<Compiler> {
        self.compiler.clone_ref(py)
    }

    /// The tokenizer that masks are for.
    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.compiler.get().tokenizer.clone_ref(py)
    }

    /// Says how far a text (str or bytes) is in the language, and if it is not, where it leaves it, why, and
    /// what was expected there.
    ///
    /// `special_tokens`: if true, the names of the tokenizer's special tokens in the text are these tokens,
    /// and the rest of it is read token by token. Otherwise the text is only text, and a grammar that names
    /// tokens by id refuses it at their places.
    ///
    /// In linear time for usual grammars; the limit `mask_work` does not apply. While a text is written, a
    /// Matcher says the same (`state`, `explain`). Raises LimitError if the text is so ambiguous that a limit
    /// is reached, TokenizerError if special tokens are read and no tokens spell the rest.
    ///
    /// >>> tokenizer = Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
    /// >>> grammar = Compiler(tokenizer).compile_gbnf('root ::= ([a-z]+ " = " [0-9]+ "\\n")+')
    /// >>> check = grammar.check("host = 1\nport = = 80\n")
    /// >>> bool(check), check.line, check.column, check.reason
    /// (False, 2, 8, '"=" cannot come here')
    #[pyo3(signature = (text, *, special_tokens=Flag(false)))]
    #[pyo3(text_signature = "($self, text, *, special_tokens=False)")]
    fn check(&self, py: Python<'_>, text: TextBytes<OfCall>, special_tokens: Flag) -> PyResult<Check> {
        let mut config = CheckConfig::default();
        config.tokenizer = special_tokens.0.then(|| self.own_tokenizer());
        config.special_tokens = special_tokens.0;
        Ok(stoppable(py, || self.grammar.check(&text.0, &config))?.or_raise()?.into())
    }

    /// What a whole text (str, bytes or token ids) says: a Message, with free text, reasoning and calls of
    /// tools, or the value of a JSON Schema. Raises Error if the text is not one of the grammar.
    ///
    /// >>> compiler = Compiler(Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0]))
    /// >>> compiler.compile_json_schema({"type": "array"}).parse("[1, null]").value
    /// [1, None]
    fn parse(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Message> {
        events::parse(py, &self.grammar, text)
    }

    /// The grammar as bytes: its source, with the files that it refers to. Any compiler can take them.
    fn serialize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = detached(py, || self.grammar.serialize())?.or_raise()?;
        Ok(PyBytes::new(py, &saved))
    }

    /// The grammar as a text for programs that hand Lark to the C library with llguidance's functions: the
    /// field `grammar` of llama-server, if it was built with that library. Only that library reads it.
    ///
    /// Raises GrammarError if the grammar needs other documents or files, or indentation other than Python's.
    fn to_llguidance(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || maskwright::bindings::exported(self.grammar.source()))?.or_raise()
    }

    /// Compiles what `serialize` wrote. The bytes need not be trusted: no file is read, and the compiler's
    /// limits hold. Raises GrammarError if they are no saved grammar, damaged or of another version, and what
    /// compiling the source raises.
    #[staticmethod]
    #[pyo3(signature = (saved, compiler, *, cancel=None))]
    fn deserialize(
        saved: Saved,
        compiler: &Bound<'_, PyAny>,
        cancel: Option<Cancel>,
    ) -> PyResult<CompiledGrammar> {
        let compiler = compiler.cast::<Compiler>().map_err(|_| wrong_type(compiler, "a Compiler"))?;
        let inner = &compiler.get().compiler;
        Compiler::run(compiler, cancel, |options| inner.deserialize(&saved.0, options))
    }

    fn __reduce__<'py>(
        this: &Bound<'py, CompiledGrammar>,
    ) -> Reduced<'py, (Bound<'py, PyBytes>, Py<Compiler>)> {
        let (py, own) = (this.py(), this.get());
        let deserialize = this.get_type().getattr("deserialize")?;
        Ok((deserialize, (own.serialize(py)?, own.compiler.clone_ref(py))))
    }

    /// The same: a grammar does not change.
    fn __copy__(this: Py<CompiledGrammar>) -> Py<CompiledGrammar> {
        this
    }

    /// The same: a grammar does not change.
    fn __deepcopy__(this: Py<CompiledGrammar>, _memo: &Bound<'_, PyAny>) -> Py<CompiledGrammar> {
        this
    }

    /// Approximate memory of the grammar, in bytes: its source and rules, and the tables that it has built so
    /// far. What it shares with other grammars is the compiler's.
    fn memory_usage(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.grammar.memory_usage())
    }

    /// What the grammar is, what its texts begin with, and what of it is enforced, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let kind = self.grammar.kind().to_owned();
        let mut rows = vec![("grammar", kind), ("tokens", self.own_tokenizer().n_vocab().to_string())];
        if let Ok(state) = detached(py, || self.grammar.matcher().state())? {
            rows.extend(state.expected().into_iter().map(|next| ("may begin with", next)));
        }
        let report: String = self.report(py)?.call_method0("_repr_html_")?.extract()?;
        Ok(table(&rows) + &report)
    }

    fn __repr__(&self) -> String {
        let (kind, n_vocab) = (self.grammar.kind(), self.own_tokenizer().n_vocab());
        format!("CompiledGrammar(kind={kind:?}, vocab_size={n_vocab})")
    }
}

/// Casts an argument to a grammar.
///
/// # Errors
/// TypeError, which says how to make one, for any other type.
pub(crate) fn compiled_grammar<'a, 'py>(
    given: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, CompiledGrammar>> {
    given.cast::<CompiledGrammar>().map_err(|_| {
        let instead = if given.is_instance_of::<Compiler>() {
            "its compile methods make one, for example compile_json_schema"
        } else if given.is_instance_of::<PyDict>() {
            "Compiler(tokenizer).compile(schema) makes one of a JSON Schema"
        } else if given.is_instance_of::<PyString>() {
            "Compiler(tokenizer) makes one of a text by compile_json_schema, compile_regex, compile_gbnf or compile_lark"
        } else if given.is_instance_of::<Tokenizer>() {
            "Compiler(tokenizer) is the first step, its compile methods make one"
        } else {
            "Compiler(tokenizer).compile(source) makes one of a type, a JSON Schema, a pattern or a file"
        };
        wrong_type_but(given, "a CompiledGrammar", instead)
    })
}

impl CompiledGrammar {
    /// The compiler that made it.
    pub(crate) fn own_compiler(&self) -> &Compiler {
        self.compiler.get()
    }

    /// The tokenizer that masks are for.
    pub(crate) fn own_tokenizer(&self) -> &maskwright::Tokenizer {
        self.own_compiler().compiler.tokenizer()
    }
}

//! `maskwright.CompiledGrammar`.

use std::sync::Arc;

use maskwright::CheckConfig;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::arguments::{Flag, OfCall, Reduced, Saved, TextBytes, wrong_type, wrong_type_but};
use crate::cancel::Cancel;
use crate::check::Check;
use crate::compiler::Compiler;
use crate::errors::OrRaise;
use crate::events::{self, Message};
use crate::interrupt::stoppable;
use crate::report::ReportEntry;
use crate::state::table;
use crate::tokenizer::Tokenizer;
use crate::work::detached;

/// A compiled grammar. Make a Matcher from it for each sequence. It can be shared between threads.
#[pyclass(frozen, weakref, module = "maskwright")]
pub(crate) struct CompiledGrammar {
    pub(crate) grammar: Arc<maskwright::CompiledGrammar>,
    pub(crate) compiler: Py<Compiler>,
}

#[pymethods]
impl CompiledGrammar {
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

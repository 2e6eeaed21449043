//! `maskwright.State`: where a text is, and what may come next, in words.

use maskwright::MatcherState;
use maskwright_trace::escape_html;
use pyo3::prelude::*;

/// One thing that may come next.
#[pyclass(frozen, module = "maskwright", eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Next {
    /// It in words: a text between backticks, or what kind of characters.
    words: String,
    /// Some texts that it can begin with.
    examples: Vec<String>,
}

#[pymethods]
impl Next {
    fn __repr__(&self) -> String {
        format!("Next(words={:?}, examples={:?})", self.words, self.examples)
    }
}

/// A keyword of a JSON Schema that limits a value.
#[pyclass(frozen, module = "maskwright", eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Keyword {
    /// Its name.
    name: String,
    /// Its value, as JSON.
    value: String,
    /// The JSON pointer to the schema that has it.
    pointer: String,
}

#[pymethods]
impl Keyword {
    fn __repr__(&self) -> String {
        format!("Keyword(name={:?}, value={:?}, pointer={:?})", self.name, self.value, self.pointer)
    }
}

/// Where the text of a Matcher is, and what may come next, in words. `str()` of it is one sentence.
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct State {
    /// What the JSON value around the place is of, the name of a tool or tag; None if it is the whole text,
    /// or there is none.
    #[pyo3(get)]
    within: Option<String>,
    /// The way to the value in progress, or that is next, as a JSON pointer; None if the text is not that of
    /// a JSON Schema.
    #[pyo3(get)]
    path: Option<String>,
    /// The rules of the grammar that are being read, the outermost first, as far as that is certain.
    #[pyo3(get)]
    rules: Vec<String>,
    /// The keywords that limit the value in progress, or that is next: a list of Keyword.
    #[pyo3(get)]
    keywords: Vec<Py<Keyword>>,
    /// What may come next, the most useful first, without the end of the text: a list of Next.
    #[pyo3(get)]
    next: Vec<Py<Next>>,
    /// Whether the text may end here.
    #[pyo3(get)]
    is_complete: bool,
    sentence: String,
}

impl State {
    pub(crate) fn new(py: Python<'_>, state: MatcherState) -> PyResult<State> {
        let sentence = state.to_string();
        let MatcherState { within, path, rules, keywords, next, is_complete, .. } = state;
        let next = next
            .into_iter()
            .map(|maskwright::StateNext { words, examples, .. }| Py::new(py, Next { words, examples }));
        let keyword = |maskwright::StateKeyword { name, value, pointer, .. }| {
            Py::new(py, Keyword { name, value, pointer })
        };
        Ok(State {
            within,
            path,
            rules,
            keywords: keywords.into_iter().map(keyword).collect::<PyResult<_>>()?,
            next: next.collect::<PyResult<_>>()?,
            is_complete,
            sentence,
        })
    }
}

#[pymethods]
impl State {
    fn __str__(&self) -> &str {
        &self.sentence
    }

    fn __repr__(&self) -> String {
        format!("State({:?})", self.sentence)
    }

    /// The state as a table, for notebooks.
    pub(crate) fn _repr_html_(&self) -> String {
        let mut rows = Vec::new();
        let mut row = |name: &'static str, value: &str| rows.push((name, value.to_owned()));
        if let Some(within) = &self.within {
            row("of", within);
        }
        match (&self.path, &self.rules[..]) {
            (Some(path), _) => row("at", if path.is_empty() { "the top" } else { path }),
            (None, [_, ..]) => row("in", &self.rules.join(" > ")),
            _ => {}
        }
        for keyword in &self.keywords {
            let keyword = keyword.get();
            row("keyword", &format!("\"{}\": {}", keyword.name, keyword.value));
        }
        for next in &self.next {
            row("next", &next.get().words);
        }
        if self.is_complete {
            row("next", "the end of the text");
        }
        table(&rows)
    }
}

/// A table of names and values, for notebooks.
pub(crate) fn table(rows: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<tr><th style=\"text-align:left\">{name}</th><td>{}</td></tr>", escape_html(value))
    };
    format!("<table>{}</table>", rows.iter().map(row).collect::<String>())
}

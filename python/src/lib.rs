//! The Python package: `maskwright._maskwright`, which the package `maskwright` re-exports.
//!
//! A thin layer over the facade crate: arguments are checked and converted here, errors become exceptions,
//! and nothing else is decided. What Python code sees is documented on the Python side of each item (the
//! doc comments below are the docstrings) and typed in `_maskwright.pyi`.
//!
//! * `tokenizer`, `compiler`, `cancel`, `matcher`: one class each, with what it returns. `infill`: templates
//!   and canvases. `check`: verdicts on whole texts.
//! * `likeliest`: the likeliest text for scores of many positions; `likeliest_batch`: many of them.
//! * `bitmask`: mask arguments, checked. `batch`: many masks at once. `raw_rows`: a mask given as an address,
//!   the one module with unsafe code. `apply`: masks onto logits. `search`: searches with the caller's model.
//! * `events`: what a text says while it is written.
//! * `work`: work without the interpreter, and the rules for locks, forks and panics. `interrupt`: work that
//!   Ctrl-C ends. `errors`: the exceptions. `arguments`: texts and integers, checked. `schema`: schemas and
//!   their documents as arguments. `lark`: the lexer of `compile_lark`.
//!
//! Every class is frozen and has its mutable state behind a mutex, so that use from several threads is
//! orderly.
//!
//! Rejected: releasing the interpreter for all single masks and tokens. Giving it up and taking it back costs
//! as much as a whole warm call (under a microsecond), and under load far more. So what is known is looked up
//! with the interpreter held, and it is released for all else.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "the doc comments of items are Python docstrings, with Python lists and special tokens in them"
)]

mod apply;
mod arguments;
mod batch;
mod bitmask;
mod cancel;
mod check;
mod compiler;
mod errors;
mod events;
mod infill;
mod interrupt;
mod lark;
mod likeliest;
mod likeliest_batch;
mod limits;
mod matcher;
mod raw_rows;
mod report;
mod schema;
mod search;
mod state;
mod tokenizer;
mod tools;
mod trace;
mod trace_ask;
mod work;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Constrained decoding, the compiled part. Use the package `maskwright`, which re-exports it.
#[pymodule(gil_used = true)]
mod _maskwright {
    use pyo3::prelude::*;

    /// The version of the package, which maturin takes from the same manifest.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name is Python's")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::apply::apply_rows;
    #[pymodule_export]
    use crate::batch::fill_next_token_bitmask_batch;
    #[pymodule_export]
    use crate::bitmask::allocate_token_bitmask;
    #[pymodule_export]
    use crate::cancel::CancelToken;
    #[pymodule_export]
    use crate::check::Check;
    #[pymodule_export]
    use crate::compiler::{CompiledGrammar, Compiler};
    #[pymodule_export]
    use crate::errors::{
        BatchError, Error, GrammarError, GrammarWarning, InternalError, LimitError, MaxTokensTooSmall,
        SchemaError, SchemaWarning, TokenizerError, WorkCancelled,
    };
    #[pymodule_export]
    use crate::events::{Capture, Event, Message, ToolCall};
    #[pymodule_export]
    use crate::infill::{Canvas, Hole, Template};
    #[pymodule_export]
    use crate::likeliest::Likeliest;
    #[pymodule_export]
    use crate::likeliest_batch::likeliest_batch;
    #[pymodule_export]
    use crate::matcher::Matcher;
    #[pymodule_export]
    use crate::report::ReportEntry;
    #[pymodule_export]
    use crate::search::Hypothesis;
    #[pymodule_export]
    use crate::state::{Keyword, Next, State};
    #[pymodule_export]
    use crate::tokenizer::Tokenizer;
    #[pymodule_export]
    use crate::trace::TraceSteps;
    #[pymodule_export]
    use crate::trace_ask::trace_ask;
    #[pymodule_export]
    use crate::work::{after_fork_in_child, after_fork_in_parent, before_fork};

    /// The names of the formats in which `Compiler.compile_tool_calls` can write calls.
    #[pyfunction]
    fn tool_formats() -> Vec<&'static str> {
        maskwright::tool_calls::tool_formats().map(|format| format.name).collect()
    }

    /// The text of the schema that `supported_schema` gives.
    #[pyfunction]
    fn _supported_schema() -> &'static str {
        maskwright::json_schema::SUPPORTED
    }

    /// The formats whose chat templates have the marks that `template` has.
    #[pyfunction]
    fn formats_of_template(template: &str) -> Vec<&'static str> {
        maskwright::tool_calls::formats_of_template(template)
    }

    /// Whether the prompt of a chat template may end within the reasoning of a format.
    #[pyfunction]
    fn template_opens_reasoning(format: &str, template: &str) -> bool {
        maskwright::tool_calls::template_opens_reasoning(format, template)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::declare_attributes(module.py())
    }
}

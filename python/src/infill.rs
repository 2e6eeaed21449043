//! `maskwright.Template`, `Hole` and `Canvas`: texts of which some parts are known.

use maskwright::infill::{CanvasConfig, CanvasStatus, Part, Verdict};
use maskwright::{CancelToken, CompileOptions, Error, MaskStatus, TokenId, mask_words};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arguments::{Count, Flag, Int, List, OfCall, TextBytes, ints, known_token, vocabulary_ids};
use crate::bitmask;
use crate::compiler::{CompiledGrammar, compiled_grammar};
use crate::errors::{OrRaise, deprecated, invalid};
use crate::interrupt::{self, stoppable, work_on};
use crate::likeliest::{self, Likeliest, Pair, Scores};
use crate::matcher::{to_token, to_tokens};
use crate::work::{Guarded, with};

/// A part of a Template that is to be filled in: with any text, with at most `max_tokens` tokens, or with
/// exactly `tokens` tokens.
///
/// >>> Hole(max_tokens=8)
/// Hole(max_tokens=8)
#[pyclass(frozen, module = "maskwright", eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Hole(HoleKind);

/// What a hole may be filled with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum HoleKind {
    Any,
    AtMost(usize),
    Exactly(usize),
}

#[pymethods]
impl Hole {
    #[new]
    #[pyo3(signature = (*, max_tokens=None, tokens=None))]
    fn new(max_tokens: Option<Int>, tokens: Option<Int>) -> PyResult<Hole> {
        let count = |name: &str, Int(given): Int| {
            usize::try_from(given).map_err(|_| invalid(format!("{name} is {given}, expected 0 or more")))
        };
        Ok(Hole(match (max_tokens, tokens) {
            (None, None) => HoleKind::Any,
            (Some(n), None) => HoleKind::AtMost(count("max_tokens", n)?),
            (None, Some(n)) => HoleKind::Exactly(count("tokens", n)?),
            (Some(_), Some(_)) => {
                return Err(invalid("a hole has max_tokens or tokens, not both"));
            }
        }))
    }

    fn __repr__(&self) -> String {
        match self.0 {
            HoleKind::Any => "Hole()".to_owned(),
            HoleKind::AtMost(n) => format!("Hole(max_tokens={n})"),
            HoleKind::Exactly(n) => format!("Hole(tokens={n})"),
        }
    }
}

impl From<HoleKind> for maskwright::infill::Hole {
    fn from(kind: HoleKind) -> maskwright::infill::Hole {
        match kind {
            HoleKind::Any => maskwright::infill::Hole::Any,
            HoleKind::AtMost(n) => maskwright::infill::Hole::AtMost(n),
            HoleKind::Exactly(n) => maskwright::infill::Hole::Exactly(n),
        }
    }
}

/// Fixed pieces of text (bytes or str) and holes that together form one text of the grammar. A piece may also
/// be a list of token ids, of which some may be tokens that the grammar names by id.
///
/// Write a hole token by token (`fill_next_token_bitmask` with the tokens so far), then `fix` it. Holes can
/// be filled in any order, and the pieces after a hole are taken into account from its first token on. Holes
/// are numbered from 0; a fixed one keeps its number. A piece may begin or end within a character or a
/// symbol. A call that refuses or raises leaves the template unchanged.
///
/// Raises TypeError for parts that are neither text, token ids nor Hole, GrammarError if a rule of a grammar
/// with indentation opens a block or bracket that it does not close, LimitError if there are too many
/// positions.
///
/// >>> tokenizer = Tokenizer.from_tokens([b"a", b"b", b"ab", b"</s>"], eos_token_ids=[3])
/// >>> template = Template(Compiler(tokenizer).compile_regex("(ab)+"), [b"a", Hole(tokens=2), b"b"])
/// >>> template.complete()
/// b'abab'
/// >>> template.fix(0, [1, 1]), template.fix(0, [1, 0])
/// (False, True)
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Template {
    template: Guarded<maskwright::Template>,
    n_holes: usize,
    n_vocab: usize,
}

#[pymethods]
impl Template {
    #[new]
    fn new(grammar: &Bound<'_, PyAny>, parts: List<Bound<'_, PyAny>>) -> PyResult<Template> {
        let grammar = compiled_grammar(grammar)?;
        let parts = parts.0.iter().map(part).collect::<PyResult<Vec<Part>>>()?;
        let n_holes = parts.iter().filter(|part| matches!(part, Part::Hole(_))).count();
        let infiller = infiller(grammar)?;
        let made = stoppable(grammar.py(), || maskwright::Template::new(&infiller, parts.clone()))?;
        let template = Guarded::new(made.or_raise()?);
        Ok(Template { template, n_holes, n_vocab: infiller.vocabulary().n_vocab() })
    }

    /// Whether the holes that are not fixed can be filled: "possible" (a text that fills them is known),
    /// "impossible", or "open" if the limit on work was reached first.
    fn decide(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(status_name(work_on(py, &self.template, |template| template.status())?.or_raise()?))
    }

    /// What `decide()` returns. Deprecated, since it may take long.
    #[getter]
    fn status(&self, py: Python<'_>) -> PyResult<&'static str> {
        deprecated(py, "Template.status", "Template.decide()")?;
        self.decide(py)
    }

    /// Whether the holes that are not fixed can be filled.
    ///
    /// Raises LimitError if the limit on work is reached first.
    fn is_possible(&self, py: Python<'_>) -> PyResult<bool> {
        work_on(py, &self.template, |template| template.is_possible())?.or_raise()
    }

    /// Says in words why the holes that are not fixed cannot be filled; None if they can.
    fn why_impossible(&self, py: Python<'_>) -> PyResult<Option<String>> {
        work_on(py, &self.template, |template| template.why_impossible())?.or_raise()
    }

    /// The whole text, with some valid filling of the holes that are not fixed.
    ///
    /// Raises ValueError, with the reason, if there is none.
    fn complete<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let completed = work_on(py, &self.template, |template| {
            Ok::<_, Error>(match template.complete()? {
                Some(text) => Ok(text),
                None => Err(template.why_impossible()?.unwrap_or_default()),
            })
        })?;
        let text = completed.or_raise()?.map_err(|why| impossible("template", &why))?;
        Ok(PyBytes::new(py, &text))
    }

    /// Writes into a row of `mask` the tokens that can follow `prefix_ids` in hole `hole` such that the rest
    /// of it and all other holes can be filled. The end-of-sequence tokens are allowed if the hole can end
    /// there.
    ///
    /// Returns "exact" if the mask has all such tokens. Returns "bound" if the limit on work was reached
    /// before: each token of the mask is possible, and others may be too.
    ///
    /// Raises IndexError if there is no such hole, ValueError if it is fixed already or a token is not in the
    /// vocabulary.
    #[pyo3(signature = (hole, prefix_ids, mask, row=Int(0)), text_signature = "($self, hole, prefix_ids, mask, row=0)")]
    fn fill_next_token_bitmask(
        &self,
        py: Python<'_>,
        hole: Int,
        prefix_ids: List<Int>,
        mask: &Bound<'_, PyAny>,
        row: Int,
    ) -> PyResult<&'static str> {
        let hole = index(hole, self.n_holes, "hole", "template")?;
        let mut mask = bitmask::borrow(mask)?;
        let words = bitmask::row(&mut mask, row)?;
        let known = prefix_ids.0.into_iter().map(|id| known_token(id, self.n_vocab));
        let prefix = known.collect::<PyResult<Vec<TokenId>>>()?;
        fill(py, &self.template, words, self.n_vocab, |template, words| {
            template.fill_mask(hole, &prefix, words)
        })
    }

    /// Fills hole `hole` with tokens permanently. Returns False, and changes nothing, if their number does
    /// not fit the hole, one of them is not text, or the other holes could not be filled.
    ///
    /// Raises IndexError if there is no such hole, ValueError if it is fixed already.
    fn fix(&self, py: Python<'_>, hole: Int, token_ids: List<Int>) -> PyResult<bool> {
        let hole = index(hole, self.n_holes, "hole", "template")?;
        let ids = to_tokens(token_ids);
        if ids.iter().any(|id| id.index() >= self.n_vocab) {
            return Ok(false);
        }
        work_on(py, &self.template, |template| template.fix(hole, &ids))?.or_raise()
    }

    fn __repr__(&self) -> String {
        format!("Template(holes={})", self.n_holes)
    }
}

/// A canvas of a diffusion model: positions of one token each, known or masked (None), filled in any order.
///
/// The canvas is one text of the grammar, from its first position on. If the text ends before the last
/// position, an end-of-sequence token follows, and then more of these, or `padding_id` (a token without text,
/// for models that pad with a token of its own). A call that refuses or raises leaves the canvas unchanged.
///
/// `mask_id`, the token that the model reads at a masked position, is never a part of the text, even where
/// the grammar allows any token.
///
/// Raises ValueError if a token is not in the vocabulary or one of those two matches as text, GrammarError if
/// a rule of a grammar with indentation opens a block or bracket that it does not close, LimitError if there
/// are too many positions.
///
/// >>> tokenizer = Tokenizer.from_tokens([b"(", b")", b"()", b"</s>"], eos_token_ids=[3])
/// >>> canvas = Canvas(Compiler(tokenizer).compile_gbnf('root ::= "()" "()"'), [None, None, 1])
/// >>> canvas.complete()
/// [2, 0, 1]
/// >>> canvas.set(0, 0), canvas.set(1, 0)
/// (False, True)
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Canvas {
    canvas: Guarded<maskwright::Canvas>,
    grammar: Py<CompiledGrammar>,
    n_positions: usize,
    n_vocab: usize,
}

#[pymethods]
impl Canvas {
    #[new]
    #[pyo3(signature = (grammar, positions, *, padding_id=None, mask_id=None))]
    fn new(
        grammar: &Bound<'_, PyAny>,
        positions: List<Option<Int>>,
        padding_id: Option<Int>,
        mask_id: Option<Int>,
    ) -> PyResult<Canvas> {
        let grammar = compiled_grammar(grammar)?;
        let n_vocab = grammar.get().own_tokenizer().n_vocab();
        let known = |id: Option<Int>| id.map(|id| known_token(id, n_vocab)).transpose();
        let positions: Vec<Option<TokenId>> = positions.0.into_iter().map(known).collect::<PyResult<_>>()?;
        let config = CanvasConfig::with_padding(known(padding_id)?).and_mask(known(mask_id)?);
        let infiller = infiller(grammar)?;
        let made = stoppable(grammar.py(), || maskwright::Canvas::new(&infiller, &positions, config))?;
        let canvas = Guarded::new(made.or_raise()?);
        Ok(Canvas { canvas, grammar: grammar.clone().unbind(), n_positions: positions.len(), n_vocab })
    }

    /// Whether the masked positions can be filled: "possible" (a text that fills them is known),
    /// "impossible", or "open" if neither was found out within the limit on work.
    fn decide(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(status_name(work_on(py, &self.canvas, |canvas| canvas.status())?.or_raise()?))
    }

    /// What `decide()` returns. Deprecated, since it may take long.
    #[getter]
    fn status(&self, py: Python<'_>) -> PyResult<&'static str> {
        deprecated(py, "Canvas.status", "Canvas.decide()")?;
        self.decide(py)
    }

    /// Whether the masked positions can be filled.
    ///
    /// Raises LimitError if the limit on work is reached first.
    fn is_possible(&self, py: Python<'_>) -> PyResult<bool> {
        work_on(py, &self.canvas, |canvas| canvas.is_possible())?.or_raise()
    }

    /// Says in words why the masked positions cannot be filled; None if they can.
    fn why_impossible(&self, py: Python<'_>) -> PyResult<Option<String>> {
        work_on(py, &self.canvas, |canvas| canvas.why_impossible())?.or_raise()
    }

    /// For each of the tokens `token_ids`, whether it can stand at position `i` so that the rest can be
    /// filled: "yes", "no", or "open" if neither was found out within the limit on work. At a known position,
    /// whether it could stand there instead.
    ///
    /// This is what a decoding loop asks: far less work than a mask. A token that is not in the vocabulary
    /// gets "no".
    ///
    /// Raises IndexError if there is no such position.
    fn allows(&self, py: Python<'_>, i: Int, token_ids: List<Int>) -> PyResult<Vec<&'static str>> {
        let position = index(i, self.n_positions, "position", "canvas")?;
        let ids = to_tokens(token_ids);
        let verdicts = work_on(py, &self.canvas, |canvas| canvas.allows(position, &ids))?.or_raise()?;
        let word = |verdict| match verdict {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Open => "open",
        };
        Ok(verdicts.into_iter().map(word).collect())
    }

    /// Puts a token at position `i`, which may be masked or known. Returns False, and changes nothing, if no
    /// text was found that has it there.
    ///
    /// Raises IndexError if there is no such position.
    fn set(&self, py: Python<'_>, i: Int, token_id: Int) -> PyResult<bool> {
        let position = index(i, self.n_positions, "position", "canvas")?;
        let id = to_token(token_id);
        work_on(py, &self.canvas, |canvas| canvas.set(position, id))?.or_raise()
    }

    /// Masks position `i` again.
    ///
    /// Raises IndexError if there is no such position.
    fn unset(&self, py: Python<'_>, i: Int) -> PyResult<()> {
        let position = index(i, self.n_positions, "position", "canvas")?;
        with(py, &self.canvas, |canvas| canvas.unset(position))?.or_raise()
    }

    /// Undoes the most recent `set` or `unset` that is not yet undone. Returns False if there is none.
    fn undo(&self, py: Python<'_>) -> PyResult<bool> {
        with(py, &self.canvas, |canvas| canvas.undo())
    }

    /// Writes into a row of `mask` tokens that position `i` can take such that the rest can still be filled
    /// with exactly one token each. For a known position these are tokens that it could have instead.
    ///
    /// Returns "exact" if the mask has all such tokens. Returns "bound" if some were not decided: each token
    /// of the mask is possible, and others may be too. `exact=True` decides them as well, up to the limit on
    /// work, and can take seconds.
    ///
    /// Raises IndexError if there is no such position.
    #[pyo3(
        signature = (i, mask, row=Int(0), exact=Flag(false)),
        text_signature = "($self, i, mask, row=0, exact=False)"
    )]
    fn fill_bitmask(
        &self,
        py: Python<'_>,
        i: Int,
        mask: &Bound<'_, PyAny>,
        row: Int,
        exact: Flag,
    ) -> PyResult<&'static str> {
        let position = index(i, self.n_positions, "position", "canvas")?;
        let mut mask = bitmask::borrow(mask)?;
        let words = bitmask::row(&mut mask, row)?;
        fill(py, &self.canvas, words, self.n_vocab, |canvas, words| {
            canvas.fill_mask(position, words, exact.0)
        })
    }

    /// The tokens of the whole canvas, with some valid filling of the masked positions.
    ///
    /// Raises ValueError, with the reason, if there is none.
    fn complete(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let completed = work_on(py, &self.canvas, |canvas| {
            Ok::<_, Error>(match canvas.complete()? {
                Some(ids) => Ok(ids),
                None => Err(canvas.why_impossible()?.unwrap_or_default()),
            })
        })?;
        completed.or_raise()?.map(ints).map_err(|why| impossible("canvas", &why))
    }

    /// The likeliest text that fills the canvas, given what a model says of the tokens of every position: the
    /// one with the greatest sum of log-probabilities at the masked positions. Known positions keep their
    /// tokens and add nothing. The canvas does not change.
    ///
    /// `logits`, `candidates` and `beam` are those of `Matcher.likeliest`, with a row for every position,
    /// known ones too. The answer is never less likely than `complete()`.
    ///
    /// Raises ValueError if nothing fills the canvas, and LimitError if that is not found out within the
    /// limit on work.
    #[pyo3(signature = (logits=None, *, beam=Count(32), candidates=None))]
    #[pyo3(text_signature = "($self, logits=None, *, beam=32, candidates=None)")]
    fn likeliest(
        &self,
        py: Python<'_>,
        logits: Option<Bound<'_, PyAny>>,
        beam: Count,
        candidates: Option<Pair<'_>>,
    ) -> PyResult<Likeliest> {
        let scores = Scores::new(py, logits, candidates, 1)?;
        scores.check_width(self.grammar.get().grammar.vocabulary().n_vocab())?;
        let beam = likeliest::config(beam, None, None)?.beam;
        let positions = &scores.positions()?[0];
        Ok(work_on(py, &self.canvas, |canvas| canvas.likeliest(positions, beam))?.or_raise()?.into())
    }

    /// The grammar.
    #[getter]
    fn grammar(&self, py: Python<'_>) -> Py<CompiledGrammar> {
        self.grammar.clone_ref(py)
    }

    /// The current tokens of the positions; None if masked. Each access makes a new list.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Vec<Option<u32>>> {
        with(py, &self.canvas, |canvas| {
            canvas.positions().iter().map(|position| position.map(|id| id.0)).collect()
        })
    }

    fn __len__(&self) -> usize {
        self.n_positions
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let n_masked = with(py, &self.canvas, |canvas| canvas.n_masked())?;
        Ok(format!("Canvas(positions={}, masked={n_masked})", self.n_positions))
    }
}

/// ValueError for a template or canvas that nothing fills.
fn impossible(what: &str, why: &str) -> PyErr {
    invalid(format!("the {what} cannot be completed: {why}"))
}

fn status_name(status: CanvasStatus) -> &'static str {
    match status {
        CanvasStatus::Possible => "possible",
        CanvasStatus::Impossible => "impossible",
        CanvasStatus::Open => "open",
    }
}

/// The infiller of a grammar; made now, without the interpreter, if this is the first use.
fn infiller(grammar: &Bound<'_, CompiledGrammar>) -> PyResult<maskwright::infill::Infiller> {
    let compiled = &grammar.get().grammar;
    let make = |token| {
        let mut options = CompileOptions::default();
        options.cancel = Some(token);
        compiled.infiller(&options)
    };
    interrupt::run(grammar.py(), &CancelToken::new(), make)?.or_raise()
}

fn part(part: &Bound<'_, PyAny>) -> PyResult<Part> {
    if let Ok(hole) = part.cast::<Hole>() {
        return Ok(Part::Hole(hole.get().0.into()));
    }
    if part.is_instance_of::<PyBytes>() || part.is_instance_of::<PyString>() {
        return Ok(Part::Text(part.extract::<TextBytes<OfCall>>()?.0));
    }
    if part.is_instance_of::<PyList>() || part.is_instance_of::<PyTuple>() {
        return Ok(Part::Tokens(vocabulary_ids(part.extract::<List<Int>>()?)?));
    }
    let kind = part.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "expected a part as bytes, str, a list of token ids or Hole, not {kind}"
    )))
}

/// Lets `write` make a mask, without the interpreter, and copies it to `words` if it succeeds; the name of
/// its status.
fn fill<T: Send>(
    py: Python<'_>,
    infilling: &Guarded<T>,
    words: &mut [u32],
    n_vocab: usize,
    mut write: impl FnMut(&mut T, &mut [u32]) -> Result<MaskStatus, Error> + Send,
) -> PyResult<&'static str> {
    let n_words = mask_words(n_vocab);
    if words.len() < n_words {
        let n_given = words.len();
        return Err(invalid(format!("the mask has {n_given} words and the vocabulary needs {n_words}")));
    }
    let mut made = vec![0; n_words];
    let status = work_on(py, infilling, |infilling| write(infilling, &mut made))?.or_raise()?;
    words.fill(0);
    words[..n_words].copy_from_slice(&made);
    Ok(match status {
        MaskStatus::Exact => "exact",
        MaskStatus::Bound => "bound",
    })
}

/// An index from Python, from 0 on.
fn index(Int(given): Int, n: usize, what: &str, whole: &str) -> PyResult<usize> {
    match usize::try_from(given) {
        Ok(index) if index < n => Ok(index),
        _ => Err(PyIndexError::new_err(format!("{what} {given} is not in the {whole}: it has {n}"))),
    }
}

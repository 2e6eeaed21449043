//! `maskwright.Matcher`: the state of one sequence.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use maskwright::{Error, MaskStatus, MatcherConfig, MatcherStep, TokenCountStatus, TokenId};
use maskwright_decode::{Candidates, asked_step};
use maskwright_trace::Step;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arguments::{Count, Int, List, OfCall, Real, Reduced, Text, TextBytes, ints, vocabulary_ids};
use crate::bitmask;
use crate::compiler::{CompiledGrammar, compiled_grammar};
use crate::errors::{OrRaise, invalid};
use crate::events::{Capture, Event};
use crate::interrupt::{stoppable, work_on};
use crate::likeliest::{self, Likeliest, Pair, Scores};
use crate::search::{self, Hypothesis};
use crate::state::{State, table};
use crate::trace::TraceSteps;
use crate::work::{Guarded, caught, renew, with};

/// The state of one sequence under a grammar: the tokens accepted so far, and which ones may come next.
///
/// With `max_tokens`, the text is complete after at most that many tokens, the end-of-sequence token
/// included: each token of a mask leaves enough for the rest of the text. Close to the limit a mask may lack
/// tokens that would too; then its `mask_status` is "bound". Raises MaxTokensTooSmall, whose `needed` is
/// enough, if the limit is too small.
///
/// A token of `stop_token_ids` is refused until the text may end, and ends it then, as the tokenizer's own
/// end-of-sequence tokens do. Stop tokens that are text cannot be used within the text; the first matcher of
/// a grammar with such a set takes longer to make, and so do its first masks. If no other tokens spell the
/// bytes of such a stop token, a token is allowed only if the remaining tokens can complete the text. Raises
/// ValueError if they cannot write any text of the grammar, LimitError if the limits on work are reached
/// before that is decided.
///
/// A refused token, or a call that raises, leaves the state unchanged. LimitError is raised if a text is too
/// ambiguous to continue. Calls from several threads run one after another. Matchers of one grammar can be
/// used in parallel.
///
/// >>> tokenizer = Tokenizer.from_tokens([b"yes", b"n", b"o", b"</s>"], eos_token_ids=[3])
/// >>> matcher = Matcher(Compiler(tokenizer).compile_choice(["yes", "no"]))
/// >>> matcher.accept_token(1), matcher.accept_token(0)
/// (True, False)
/// >>> matcher.forced_bytes()
/// b'o'
/// >>> matcher.tokens_to_finish(), matcher.finish()
/// (2, [2, 3])
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Matcher {
    matcher: Guarded<maskwright::Matcher>,
    grammar: Py<CompiledGrammar>,
    stop_token_ids: Vec<TokenId>,
    /// Made when events are first asked for.
    events: Mutex<Option<maskwright::Events>>,
}

/// What makes a matcher again.
type Arguments<'py> = (Py<CompiledGrammar>, Option<usize>, Bound<'py, PyList>, Vec<u32>);

#[pymethods]
impl Matcher {
    #[new]
    #[pyo3(signature = (grammar, max_tokens=None, stop_token_ids=None))]
    fn new(
        grammar: &Bound<'_, PyAny>,
        max_tokens: Option<Int>,
        stop_token_ids: Option<List<Int>>,
    ) -> PyResult<Matcher> {
        let grammar = compiled_grammar(grammar)?;
        let compiled = grammar.get();
        let stop_token_ids = vocabulary_ids(stop_token_ids.unwrap_or_default())?;
        let max_tokens = max_tokens.map(|Int(limit)| limit);
        let max_tokens = match max_tokens.map(usize::try_from).transpose() {
            Ok(limit) => limit,
            Err(_) => {
                let given = max_tokens.unwrap_or_default();
                return Err(invalid(format!("max_tokens is {given}, expected 0 or more")));
            }
        };
        let at_once = match max_tokens {
            None if stop_token_ids.is_empty() => caught(|| maskwright::Matcher::try_new(&compiled.grammar))?,
            _ => None,
        };
        let matcher = match at_once {
            Some(matcher) => matcher,
            None => {
                let mut config = MatcherConfig::with_max_tokens(max_tokens);
                config.stop_tokens = stop_token_ids.clone();
                let start = || compiled.grammar.matcher_with(&config);
                stoppable(grammar.py(), start)?.or_raise()?
            }
        };
        Ok(Matcher {
            matcher: Guarded::new(matcher),
            grammar: grammar.clone().unbind(),
            stop_token_ids,
            events: Mutex::default(),
        })
    }

    /// The tokens that end this text beside the tokenizer's own, as they were given.
    #[getter]
    fn stop_token_ids(&self) -> Vec<u32> {
        ints(self.stop_token_ids.iter().copied())
    }

    /// Writes the mask of the tokens that may come next into a row of `mask`, a numpy int32 array or torch
    /// CPU tensor of shape (rows, words). Words beyond the vocabulary are cleared.
    ///
    /// After the end of the text, the mask allows the end-of-sequence tokens, so that a sampler has something
    /// to take, although `accept_token` refuses them. A vocabulary without such tokens ends a text when it is
    /// complete and nothing can follow; the mask then allows all tokens.
    ///
    /// Returns False if every token is allowed, so that the mask need not be applied.
    ///
    /// `work`: the work units (some 20 ns each) that this mask may take, instead of the compiler's limit
    /// `mask_work`.
    ///
    /// Raises ValueError if the mask is too narrow.
    #[pyo3(signature = (mask, row=Int(0), *, work=None), text_signature = "($self, mask, row=0, *, work=None)")]
    fn fill_next_token_bitmask(
        &self,
        py: Python<'_>,
        mask: &Bound<'_, PyAny>,
        row: Int,
        work: Option<Count>,
    ) -> PyResult<bool> {
        let mut mask = bitmask::borrow(mask)?;
        let words = bitmask::row(&mut mask, row)?;
        if let Some(mut matcher) = self.matcher.try_lock()
            && let Some(filled) = caught(|| matcher.try_fill_mask(words))?
        {
            filled.or_raise()?;
            return Ok(!matcher.mask_is_full());
        }
        self.work(py, |matcher| {
            match work {
                Some(Count(work)) => matcher.fill_mask_within(words, Some(work as u64)),
                None => matcher.fill_mask(words),
            }?;
            Ok(!matcher.mask_is_full())
        })
    }

    /// "exact" if the last mask has all allowed tokens, "bound" if some may be missing. Every token of a
    /// bound is safe to take.
    ///
    /// The status is "bound" in these cases:
    ///
    /// * The limit `mask_work`, or `work`, was too small for the whole mask.
    /// * `max_tokens` is near, and the mask lacks tokens: those after which no completion that fits is known.
    ///   Sometimes one exists.
    /// * Items or keys must differ, or a stop token is text that no other tokens spell, and for some token
    ///   the search could not decide whether the text can still be finished.
    /// * In a Lark grammar with a lexer, the search could not decide whether the lexer leaves a way to finish
    ///   the text.
    /// * Another limit was reached while the mask was made, such as `max_states` or `max_calls`.
    #[getter]
    fn mask_status(&self, py: Python<'_>) -> PyResult<&'static str> {
        let status = self.look(py, |matcher| Ok(matcher.mask_status()))?;
        Ok(match status {
            MaskStatus::Exact => "exact",
            MaskStatus::Bound => "bound",
        })
    }

    /// Accepts a token if it is allowed, and returns whether it is.
    fn accept_token(&self, py: Python<'_>, token_id: Int) -> PyResult<bool> {
        let id = to_token(token_id);
        if let Some(mut matcher) = self.matcher.try_lock()
            && let Some(accepted) = caught(|| matcher.try_accept_token(id))?
        {
            return accepted.or_raise();
        }
        self.work(py, |matcher| matcher.accept_token(id))
    }

    /// Accepts tokens until one is refused, and returns how many were accepted.
    fn accept_tokens(&self, py: Python<'_>, token_ids: List<Int>) -> PyResult<usize> {
        let ids = to_tokens(token_ids);
        self.work(py, |matcher| matcher.accept_tokens(&ids))
    }

    /// How many of the tokens would be accepted, one after the other. The state does not change.
    fn validate_tokens(&self, py: Python<'_>, token_ids: List<Int>) -> PyResult<usize> {
        let ids = to_tokens(token_ids);
        self.work(py, |matcher| matcher.validate_tokens(&ids))
    }

    /// Accepts a text (bytes or str) if some text of the grammar continues with it, and returns whether one
    /// does. `rollback` undoes it in one step. For `n_tokens` and `max_tokens` it counts as the fewest tokens
    /// that spell it, or as one token per byte if no tokens do.
    fn accept_bytes(&self, py: Python<'_>, text: TextBytes<OfCall>) -> PyResult<bool> {
        self.work(py, |matcher| matcher.accept_bytes(&text.0))
    }

    /// Undoes the last `n` steps. Each accepted token is a step, the end-of-sequence token too, and so is
    /// each call of `accept_bytes` that accepted something.
    ///
    /// Raises ValueError if fewer were accepted.
    fn rollback(&self, py: Python<'_>, n: Int) -> PyResult<()> {
        let Int(n) = n;
        let n_steps = usize::try_from(n)
            .map_err(|_| invalid(format!("cannot roll back {n} tokens, expected 0 or more")))?;
        self.look(py, |matcher| matcher.rollback(n_steps))
    }

    /// An independent matcher in the same state. Its cost does not depend on the length of the text.
    fn fork(&self, py: Python<'_>) -> PyResult<Matcher> {
        let matcher = Guarded::new(self.look(py, |matcher| Ok(matcher.fork()))?);
        let (grammar, stop_token_ids) = (self.grammar.clone_ref(py), self.stop_token_ids.clone());
        Ok(Matcher { matcher, grammar, stop_token_ids, events: Mutex::default() })
    }

    /// Goes back to the beginning of the text.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        renew(py, &self.matcher, |matcher| matcher.reset())
    }

    /// Whether the text may end here.
    fn is_accepting(&self, py: Python<'_>) -> PyResult<bool> {
        let known = match self.matcher.try_lock().filter(|matcher| !matcher.is_broken()) {
            Some(matcher) => caught(|| matcher.try_is_accepting())?,
            None => None,
        };
        match known {
            Some(is_accepting) => Ok(is_accepting),
            None => self.work(py, |matcher| Ok(matcher.is_accepting())),
        }
    }

    /// Whether an end-of-sequence token was accepted.
    fn is_terminated(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |matcher| Ok(matcher.is_terminated()))
    }

    /// The text so far: the bytes of the accepted tokens, and those given to `accept_bytes`.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.look(py, |matcher| Ok(matcher.text()))?))
    }

    /// What was accepted so far, step by step: a token's id, or the bytes given to one call of
    /// `accept_bytes`.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let steps = PyList::empty(py);
        for step in self.look(py, |matcher| Ok(matcher.steps()))? {
            match step {
                MatcherStep::Token(id) => steps.append(id.0)?,
                MatcherStep::Bytes(bytes) => steps.append(PyBytes::new(py, &bytes))?,
            }
        }
        Ok(steps)
    }

    /// What the text says, from event number `since` on: free text, reasoning, calls of tools and their
    /// arguments, or the value of a JSON Schema. An event is there once every reading of the text agrees on
    /// it: characters that may still become a mark of the format are held back. After more tokens there are
    /// more events, after a rollback fewer; those that stay do not change.
    ///
    /// The first call reads the source of the grammar again. Masks know nothing of events.
    ///
    /// >>> tokenizer = Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
    /// >>> schema = {"type": "array", "items": {"type": "integer"}}
    /// >>> matcher = Matcher(Compiler(tokenizer).compile_json_schema(schema))
    /// >>> matcher.accept_bytes("[1, 2")
    /// True
    /// >>> [(event.path, event.delta) for event in matcher.events()]
    /// [([], '['), ([0], '1'), ([1], ',2')]
    #[pyo3(signature = (since=Count(0)))]
    #[pyo3(text_signature = "($self, since=0)")]
    fn events(&self, py: Python<'_>, since: Count) -> PyResult<Vec<Event>> {
        let Count(since) = since;
        let grammar = &self.grammar.get().grammar;
        self.work(py, |matcher| {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let events = match &mut *events {
                Some(events) => events,
                none => none.insert(grammar.events()?),
            };
            Ok(events.of(matcher)?.iter().skip(since).map(Event::new).collect())
        })
    }

    /// The texts of the rules that `capture` named when a Lark or GBNF grammar was compiled, as Captures in
    /// the order of their beginnings, as far as they are certain. Takes time in the text. Raises Error if no
    /// rule is captured, LimitError if the text fits the rules in very many ways.
    ///
    /// >>> compiler = Compiler(Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0]))
    /// >>> grammar = compiler.compile_gbnf('root ::= item ("," item)*\nitem ::= [0-9]+', capture=["item"])
    /// >>> matcher = Matcher(grammar)
    /// >>> matcher.accept_bytes("12,3")
    /// True
    /// >>> [(capture.text, capture.end) for capture in matcher.captures()]
    /// [('12', 2), ('3', None)]
    fn captures(&self, py: Python<'_>) -> PyResult<Vec<Capture>> {
        let grammar = &self.grammar.get().grammar;
        self.work(py, |matcher| Ok(grammar.captures(matcher)?.into_iter().map(Capture::new).collect()))
    }

    /// How many tokens the text has, an end-of-sequence token included. Bytes given to `accept_bytes` count
    /// as the fewest tokens that spell them.
    #[getter]
    fn n_tokens(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |matcher| Ok(matcher.n_tokens()))
    }

    /// The most tokens that the text can have; None if there is no limit.
    #[getter]
    fn max_tokens(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.look(py, |matcher| Ok(matcher.max_tokens()))
    }

    /// The grammar.
    #[getter]
    fn grammar(&self, py: Python<'_>) -> Py<CompiledGrammar> {
        self.grammar.clone_ref(py)
    }

    /// How many tokens complete the text at most, the end-of-sequence token included; 0 if it has ended. It
    /// is the length of a completion that is as short as is easily found. `tokens_to_finish_status` says
    /// whether it is certainly the shortest.
    fn tokens_to_finish(&self, py: Python<'_>) -> PyResult<usize> {
        self.work(py, |matcher| matcher.tokens_to_finish()).map(|least| least.n_tokens)
    }

    /// `tokens_to_finish()` and `tokens_to_finish_status()`.
    fn tokens_to_finish_with_status(&self, py: Python<'_>) -> PyResult<(usize, &'static str)> {
        let least = self.work(py, |matcher| matcher.tokens_to_finish())?;
        Ok((least.n_tokens, status_name(least.status)))
    }

    /// "exact" if `tokens_to_finish` is certainly the least number; "upper" if a completion of that length
    /// exists and a shorter one may exist.
    fn tokens_to_finish_status(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.work(py, |matcher| matcher.tokens_to_finish()).map(|least| status_name(least.status))
    }

    /// A completion of the text of as many tokens as `tokens_to_finish` says, the end-of-sequence token
    /// included. The state does not change.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.work(py, |matcher| matcher.finish()).map(ints)
    }

    /// The longest run of bytes that every completion begins with, at most 64 KiB. A token that the grammar
    /// names by its id is in it as the tokenizer writes it; `forced_tokens` tells such tokens from text.
    fn forced_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let forced = self.work(py, |matcher| matcher.forced_bytes())?;
        Ok(PyBytes::new(py, &forced))
    }

    /// The tokens that can be taken without asking the model: the tokenizer's own segmentation of the forced
    /// bytes, up to where later text could change it or `max_tokens` is reached. If the text can only end
    /// here, the end-of-sequence token.
    fn forced_tokens(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        // Bytes that no tokens spell (which takes a vocabulary that lacks single bytes) force no token.
        let encode =
            |bytes: &[u8]| self.grammar.get().own_tokenizer().encode_bytes(bytes).unwrap_or_default();
        self.work(py, |matcher| matcher.forced_tokens(encode)).map(ints)
    }

    /// Where the text is, and what may come next, in words: the path in the value of a JSON Schema and the
    /// keywords that limit it there, or the rules that are being read.
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        State::new(py, self.work(py, |matcher| matcher.state())?)
    }

    /// What may come next, in words, as one text: "`,` or `}`". `state()` has it as a list.
    fn expected(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.work(py, |matcher| matcher.expected())?.join(" or "))
    }

    /// Says in words why a token is allowed or refused here: by the keyword of a schema that refuses it, or
    /// by what was expected instead.
    fn explain(&self, py: Python<'_>, token_id: Int) -> PyResult<String> {
        let Int(id) = token_id;
        match u32::try_from(id) {
            Ok(id) if (id as usize) < self.n_vocab() => self.work(py, |matcher| matcher.explain(TokenId(id))),
            _ => Ok(format!("token {id} is refused: the vocabulary has {} tokens", self.n_vocab())),
        }
    }

    /// The masks of a draft tree, for speculative decoding: row `i` of `mask` is the mask after node `i`.
    ///
    /// Node `i` is the token `token_ids[i]` after node `parents[i]`, an earlier node of the list; parent -1
    /// is this matcher's current state, which does not change. A node that is refused, or whose parent is,
    /// has a row of zeros.
    ///
    /// Returns, for each node, whether it was accepted. Raises ValueError if lengths or parents are wrong.
    fn fill_draft_tree(
        &self,
        py: Python<'_>,
        parents: List<Int>,
        token_ids: List<Int>,
        mask: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<bool>> {
        let (List(parents), List(ids)) = (parents, token_ids);
        if parents.len() != ids.len() {
            return Err(invalid(format!("{} parents for {} ids", parents.len(), ids.len())));
        }
        let parents: Vec<i64> = parents.into_iter().map(|Int(parent)| parent).collect();
        if let Some((node, parent)) =
            parents.iter().enumerate().find(|&(node, &parent)| parent < -1 || parent >= node as i64)
        {
            return Err(invalid(format!(
                "the parent of node {node} is {parent}, expected -1 or a node before it"
            )));
        }
        let mut mask = bitmask::borrow(mask)?;
        let rows = bitmask::rows(&mut mask)?;
        if rows.len() < ids.len() {
            return Err(invalid(format!("the mask has {} rows for {} nodes", rows.len(), ids.len())));
        }
        let root = self.look(py, |matcher| Ok(matcher.fork()))?;
        let (ids, mut rows) = (to_tokens(List(ids)), rows);
        stoppable(py, || fill_draft_tree(&root, &parents, &ids, &mut rows))?.or_raise()
    }

    /// Searches for texts that go on from here, over many calls of a model, and returns them as a list of
    /// Hypothesis, the best first: whole ones before others. The state does not change. "beam" and "best-of"
    /// rank texts by their likelihood per token, so that long ones are not at a disadvantage.
    ///
    /// * `logits_fn`: called with a list of sequences, each a list of token ids that begins with
    ///   `prompt_ids`; returns the logits after each, as an array or tensor of shape (sequences, vocabulary).
    ///   It may keep what it computed.
    /// * `strategy`: "beam"; "mcts", a tree search; "best-of", several samples; "likeliest", the text of the
    ///   greatest probability; "smc", samples that are true to the model's own probabilities among the
    ///   texts of the grammar.
    /// * `tries`: beams, trials of the tree search, texts or particles, or beginnings of texts ("likeliest").
    /// * `temperature` and `seed` are for the strategies that draw at random.
    /// * `trace`: a Trace, which then shows what the search tried.
    ///
    /// A matcher with `max_tokens` finds whole texts within it; without it, texts are cut off at 256 tokens.
    ///
    /// NaN in the logits counts as minus infinity, and plus infinity as the largest finite number.
    ///
    /// Raises what `logits_fn` raises, and ValueError for options or logits that are wrong. Ctrl-C ends a
    /// search in any case, with KeyboardInterrupt if its handler raises nothing.
    #[pyo3(signature = (logits_fn, prompt_ids, *, strategy=Text::new("beam"), tries=None, temperature=Real(1.0), seed=Count(0), trace=None))]
    #[pyo3(
        text_signature = "($self, logits_fn, prompt_ids, *, strategy='beam', tries=None, temperature=1.0, seed=0, trace=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn search(
        &self,
        py: Python<'_>,
        logits_fn: Py<PyAny>,
        prompt_ids: List<Int>,
        strategy: Text<OfCall>,
        tries: Option<Count>,
        temperature: Real,
        seed: Count,
        trace: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Hypothesis>> {
        let tries = match tries.map(|Count(tries)| NonZero::new(tries)) {
            Some(None) => return Err(invalid("tries is 0, expected at least 1 (or None)")),
            Some(tries) => tries,
            None => None,
        };
        let options =
            search::Options { strategy: strategy.0, tries, temperature: temperature.0, seed: seed.0 as u64 };
        let prompt_ids = vocabulary_ids(prompt_ids)?;
        let steps = trace.as_ref().map(TraceSteps::of).transpose()?;
        let session = self.copied(py)?;
        let start = session.fork();
        let tokenizer = self.grammar.get().own_tokenizer();
        let (texts, outcome) = search::search(py, session, tokenizer, logits_fn, &prompt_ids, &options)?;
        if let Some(steps) = steps {
            steps.try_borrow_mut()?.show_search(&outcome, start, tokenizer);
        }
        Ok(texts)
    }

    /// The likeliest text that can come next, one token for each position, given what a model says of the
    /// tokens of every position at once: the one with the greatest sum of log-probabilities. For models that
    /// write a block of text in any order, as block-diffusion models do. The state does not change.
    ///
    /// * `logits`: floating point, of shape (positions, vocabulary), an array or a tensor. Columns beyond the
    ///   vocabulary are no tokens.
    /// * `candidates`: instead of all logits, or beside them, the best tokens of each position, as a pair of
    ///   arrays or tensors of shape (positions, k): ids, and log-probabilities. They are tried first. Where
    ///   none is allowed, the best token of `logits` is taken. Without logits, a token of a short completion
    ///   is used; its score is the largest that a token outside the candidates can have.
    /// * `max_tokens`: how many tokens may still come, the end-of-sequence token included. If that is more
    ///   than there are positions, the text may go on after them: it can then be completed within the rest.
    ///   By default, the text is complete within the positions.
    /// * `padding`: the token that fills the positions after the end; by default the end-of-sequence token
    ///   with the least id. Its score counts.
    /// * `beam`: the most states of the grammar that are followed at each position. It has no effect for
    ///   grammars with at most 1,024 states.
    ///
    /// The compiler's limit `mask_work` is not heeded.
    ///
    /// Raises ValueError if no text fits, a score is NaN or plus infinity, or the shapes are wrong. A token
    /// whose logit is minus infinity is used only if every text needs one.
    #[pyo3(signature = (logits=None, *, beam=Count(32), max_tokens=None, candidates=None, padding=None))]
    #[pyo3(
        text_signature = "($self, logits=None, *, beam=32, max_tokens=None, candidates=None, padding=None)"
    )]
    fn likeliest(
        &self,
        py: Python<'_>,
        logits: Option<Bound<'_, PyAny>>,
        beam: Count,
        max_tokens: Option<Count>,
        candidates: Option<Pair<'_>>,
        padding: Option<Int>,
    ) -> PyResult<Likeliest> {
        let scores = Scores::new(py, logits, candidates, 1)?;
        let config = likeliest::config(beam, max_tokens, padding)?;
        let session = self.look(py, |matcher| Ok(matcher.fork()))?;
        scores.check_width(session.grammar().vocabulary().n_vocab())?;
        let positions = scores.positions()?;
        Ok(stoppable(py, || session.likeliest(&positions[0], &config))?.or_raise()?.into())
    }

    /// The same as `fork()`.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Matcher> {
        self.fork(py)
    }

    /// The same as `fork()`: the grammar is immutable and stays shared.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Matcher> {
        self.fork(py)
    }

    /// With its grammar, its limit and its steps, which are taken again.
    fn __reduce__<'py>(this: &Bound<'py, Matcher>) -> Reduced<'py, Arguments<'py>> {
        let (py, own) = (this.py(), this.get());
        let stops = own.stop_token_ids();
        let arguments = (own.grammar.clone_ref(py), own.max_tokens(py)?, own.steps(py)?, stops);
        Ok((this.get_type().getattr("_replay")?, arguments))
    }

    /// A matcher that has taken `steps`, as the attribute of that name lists them.
    #[staticmethod]
    #[pyo3(signature = (grammar, max_tokens, steps, stop_token_ids=None))]
    fn _replay(
        grammar: &Bound<'_, PyAny>,
        max_tokens: Option<Int>,
        steps: Vec<Bound<'_, PyAny>>,
        stop_token_ids: Option<List<Int>>,
    ) -> PyResult<Matcher> {
        let (py, matcher) = (grammar.py(), Matcher::new(grammar, max_tokens, stop_token_ids)?);
        for step in steps {
            let is_taken = match step.cast::<PyBytes>() {
                Ok(bytes) => {
                    let text = bytes.as_bytes();
                    matcher.work(py, |matcher| matcher.accept_bytes(text))?
                }
                Err(_) => matcher.accept_token(py, step.extract()?)?,
            };
            if !is_taken {
                let shown = step.repr()?;
                return Err(invalid(format!("the saved step {shown} does not fit the grammar")));
            }
        }
        Ok(matcher)
    }

    /// The text so far and the state, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        if with(py, &self.matcher, |matcher| matcher.is_broken())? {
            return Ok(table(&[("matcher", "a call failed within; make a new one".to_owned())]));
        }
        let (text, n_tokens, limit, state) = self.work(py, |matcher| {
            Ok((matcher.text(), matcher.n_tokens(), matcher.max_tokens(), matcher.state().ok()))
        })?;
        let mut rows = vec![("text", String::from_utf8_lossy(&text).into_owned())];
        rows.push(match limit {
            Some(limit) => ("tokens", format!("{n_tokens} of at most {limit}")),
            None => ("tokens", n_tokens.to_string()),
        });
        let state = state.map(|state| State::new(py, state)).transpose()?;
        Ok(table(&rows) + &state.map_or_else(String::new, |state| state._repr_html_()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if with(py, &self.matcher, |matcher| matcher.is_broken())? {
            return Ok("Matcher(is_broken=True)".to_owned());
        }
        let shown = |is: bool| if is { "True" } else { "False" };
        self.work(py, |matcher| {
            Ok(format!(
                "Matcher(accepted={}, is_accepting={}, is_terminated={})",
                matcher.n_steps(),
                shown(matcher.is_accepting()),
                shown(matcher.is_terminated())
            ))
        })
    }
}

impl Matcher {
    /// Writes the mask over `words`, with so much work if it is given; called without the interpreter.
    pub(crate) fn fill(&self, words: &mut [u32], work: Option<u64>) -> Result<(), Error> {
        let mut matcher = self.matcher.lock();
        if let Some(filled) = matcher.try_fill_mask(words) {
            return filled.map(drop);
        }
        let before = matcher.fork();
        let filled = match work {
            Some(_) => matcher.fill_mask_within(words, work),
            None => matcher.fill_mask(words),
        };
        if maskwright::stop::is_stopped() {
            *matcher = before;
        }
        filled.map(drop)
    }

    /// A step of a trace, before its token is known. A place that cannot be told within the limits is left
    /// out.
    pub(crate) fn asked_step(
        &self,
        py: Python<'_>,
        candidates: &Candidates,
        tokenizer: Option<&maskwright::Tokenizer>,
    ) -> PyResult<Step> {
        self.work(py, |matcher| {
            asked_step(Some(candidates), Some(matcher), tokenizer)
                .or_else(|_| asked_step(Some(candidates), None, tokenizer))
        })
    }

    /// A copy of the session.
    pub(crate) fn copied(&self, py: Python<'_>) -> PyResult<maskwright::Matcher> {
        self.look(py, |matcher| Ok(matcher.fork()))
    }

    /// Works with the matcher, without the interpreter.
    fn work<R: Send>(
        &self,
        py: Python<'_>,
        mut work: impl FnMut(&mut maskwright::Matcher) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let mut work = |matcher: &mut maskwright::Matcher| {
            let before = matcher.fork();
            let result = unless_broken(matcher, &mut work);
            if maskwright::stop::is_stopped() {
                *matcher = before;
            }
            result
        };
        work_on(py, &self.matcher, &mut work)?.or_raise()
    }

    /// Looks something up in the matcher.
    fn look<R: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut maskwright::Matcher) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        with(py, &self.matcher, |matcher| unless_broken(matcher, look))?.or_raise()
    }

    /// A session in the same state, which others do not use; called without the interpreter.
    pub(crate) fn session(&self) -> maskwright::Matcher {
        self.matcher.lock().fork()
    }

    /// The width of the model's logits, in tokens.
    pub(crate) fn n_vocab(&self) -> usize {
        self.grammar.get().own_tokenizer().n_vocab()
    }

    /// The most threads that a batch with this matcher uses.
    pub(crate) fn n_threads(&self) -> NonZero<usize> {
        self.grammar.get().own_compiler().n_threads()
    }
}

/// Every call of a broken session fails, those that the library itself lets pass included.
fn unless_broken<R>(
    matcher: &mut maskwright::Matcher,
    call: impl FnOnce(&mut maskwright::Matcher) -> Result<R, Error>,
) -> Result<R, Error> {
    matcher.check()?;
    call(matcher)
}

fn status_name(status: TokenCountStatus) -> &'static str {
    match status {
        TokenCountStatus::Exact => "exact",
        TokenCountStatus::Upper => "upper",
    }
}

/// A token id from Python. What is no id at all becomes one beyond every vocabulary, which is refused.
pub(crate) fn to_token(id: Int) -> TokenId {
    TokenId(u32::try_from(id.0).unwrap_or(u32::MAX))
}

pub(crate) fn to_tokens(List(ids): List<Int>) -> Vec<TokenId> {
    ids.into_iter().map(to_token).collect()
}

/// Fills a row for each node; which nodes were accepted. Takes a fork, which shares all, for each node.
fn fill_draft_tree(
    root: &maskwright::Matcher,
    parents: &[i64],
    ids: &[TokenId],
    rows: &mut [&mut [u32]],
) -> Result<Vec<bool>, Error> {
    let mut nodes: Vec<Option<maskwright::Matcher>> = Vec::with_capacity(ids.len());
    for ((&parent, &id), words) in parents.iter().zip(ids).zip(rows) {
        let before = match usize::try_from(parent) {
            Ok(parent) => nodes[parent].as_ref(),
            Err(_) => Some(root),
        };
        let mut node = before.map(maskwright::Matcher::fork);
        if let Some(matcher) = &mut node
            && !matcher.accept_token(id)?
        {
            node = None;
        }
        match &mut node {
            Some(matcher) => {
                matcher.fill_mask(words)?;
            }
            None => words.fill(0),
        }
        nodes.push(node);
    }
    Ok(nodes.iter().map(Option::is_some).collect())
}

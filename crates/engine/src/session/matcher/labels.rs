//! The labels that a session's text has passed.

use std::sync::Arc;

use maskwright_grammar::Label;
use maskwright_vocabulary::symbol_text;

use super::{Matcher, MatcherStep, Step};
use crate::ground::{Readings, written};
use crate::labels::{HistoryId, LabelReader, LabelStep, LabelledGrammar, within_limit};
use crate::lexed::{Lexeme, Lexemes};
use crate::reader::Reader;
use crate::{EngineError, Error};

/// The labels that a session's text has passed, as far as all readings of the text agree on them.
///
/// It follows a session: [`follow`](PassedLabels::follow) reads what is new, and
/// [`look_at`](PassedLabels::look_at) says what was passed after each step.
pub struct PassedLabels {
    reader: LabelReader,
    /// What was read, by step.
    read: Vec<Arc<Step>>,
    settled: HistoryId,
    passed: Vec<(Label, usize)>,
    n_agreed: usize,
}

impl PassedLabels {
    /// Those of no text.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn new(grammar: &Arc<LabelledGrammar>) -> Result<PassedLabels, Error> {
        Ok(PassedLabels::empty(grammar)?)
    }

    fn empty(grammar: &Arc<LabelledGrammar>) -> Result<PassedLabels, EngineError> {
        let reader = LabelReader::new(grammar)?;
        let (read, passed) = (Vec::new(), Vec::new());
        let mut labels = PassedLabels { reader, read, settled: HistoryId::NONE, passed, n_agreed: 0 };
        labels.look_at(0);
        Ok(labels)
    }

    /// Forgets what `session` has taken back, and returns how many steps are left. The session's grammar is
    /// this one without labels.
    pub fn go_back_to(&mut self, session: &Matcher) -> usize {
        let mut last = session.history.as_ref();
        let mut n_steps = session.state.n_steps;
        while let Some(step) = last {
            if self.read.get(n_steps - 1).is_some_and(|read| Arc::ptr_eq(read, step)) {
                break;
            }
            last = step.previous.as_ref();
            n_steps -= 1;
        }
        self.read.truncate(n_steps);
        self.reader.keep(n_steps);
        n_steps
    }

    /// Reads what `session` has accepted since.
    ///
    /// # Errors
    /// If the text has too many readings, or another limit is reached. What was read by then stays.
    pub fn follow(&mut self, session: &Matcher) -> Result<(), Error> {
        Ok(self.read_new(session)?)
    }

    fn read_new(&mut self, session: &Matcher) -> Result<(), EngineError> {
        let n_new = session.state.n_steps - self.go_back_to(session);
        let all = std::iter::successors(session.history.as_ref(), |step| step.previous.as_ref());
        let new: Vec<&Arc<Step>> = all.take(n_new).collect();
        for (i, step) in new.into_iter().enumerate().rev() {
            self.reader.read(match &step.taken {
                MatcherStep::Token(token) if session.state.is_terminated && i == 0 => {
                    LabelStep::End(Some(*token))
                }
                MatcherStep::Token(token) => LabelStep::Token(*token),
                MatcherStep::Bytes(bytes) => LabelStep::Bytes(bytes),
            })?;
            self.read.push(step.clone());
        }
        Ok(())
    }

    /// How many steps were read.
    pub fn n_steps(&self) -> usize {
        self.read.len()
    }

    /// The text ends here: of all readings that of the whole text counts. It is one more step, which the next
    /// call of [`follow`](PassedLabels::follow) forgets.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn end(&mut self) -> Result<(), Error> {
        self.reader.keep(self.read.len());
        Ok(self.reader.read(LabelStep::End(None))?)
    }

    /// Looks at the text with these bytes more, which the next call of [`follow`](PassedLabels::follow)
    /// forgets.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn look_ahead(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.reader.keep(self.read.len());
        let n_more = usize::from(!bytes.is_empty());
        if n_more > 0 {
            self.reader.read(LabelStep::Bytes(bytes))?;
        }
        self.look_at(self.read.len() + n_more);
        Ok(())
    }

    /// Looks at the text after so many steps.
    pub fn look_at(&mut self, n_steps: usize) {
        let (settled, n_agreed) = self.reader.settled(n_steps);
        let common = self.reader.common(self.settled, settled);
        self.passed.truncate(common);
        self.passed.extend(self.reader.passed(settled, common));
        (self.settled, self.n_agreed) = (settled, n_agreed);
    }

    /// Each label that was passed, and how many bytes of the text stand before it.
    pub fn passed(&self) -> &[(Label, usize)] {
        &self.passed
    }

    /// The text, as [`Matcher::text`] has it.
    pub fn text(&self) -> &[u8] {
        self.reader.text()
    }

    /// How many bytes of the text belong for certain to what [`passed`](PassedLabels::passed) says. After
    /// those, another label may come.
    pub fn n_agreed(&self) -> usize {
        self.n_agreed
    }
}

impl Matcher {
    /// Each label that the text has passed, and how many bytes of it stand before, as far as all readings
    /// agree; of a text that ends here if `is_whole`. `grammar` is the session's, with labels. Takes time in
    /// the text.
    ///
    /// # Errors
    /// If the text is not whole and should be, or a limit is reached.
    #[doc(hidden)]
    pub fn passed(
        &self,
        grammar: &Arc<LabelledGrammar>,
        is_whole: bool,
    ) -> Result<Vec<(Label, usize)>, Error> {
        let is_lexed = self.ask(|machine| Ok(matches!(machine.reader, Reader::Lexed { .. })))?;
        Ok(within_limit(self.text().len(), || match is_lexed {
            true => self.passed_by_lexer(grammar, is_whole || self.is_terminated()),
            false => self.passed_by_bytes(grammar, is_whole && !self.is_terminated()),
        })?)
    }

    /// The same of a text without a lexer. `must_end`: whether it ends here and no token has said so.
    fn passed_by_bytes(
        &self,
        grammar: &Arc<LabelledGrammar>,
        must_end: bool,
    ) -> Result<Vec<(Label, usize)>, EngineError> {
        let mut labels = PassedLabels::empty(grammar)?;
        labels.read_new(self)?;
        if must_end {
            labels.reader.read(LabelStep::End(None))?;
        }
        labels.look_at(labels.n_steps() + usize::from(must_end));
        Ok(labels.passed)
    }

    /// The same of a text that a lexer reads. Parts begin with their first token that is not ignored.
    fn passed_by_lexer(
        &self,
        grammar: &Arc<LabelledGrammar>,
        is_whole: bool,
    ) -> Result<Vec<(Label, usize)>, EngineError> {
        let mut agreed: Option<Vec<(Label, usize)>> = None;
        for lexemes in self.lexemes(is_whole)? {
            let mut reader = LabelReader::new(grammar)?;
            for lexeme in &lexemes {
                reader.read(LabelStep::Lexeme(lexeme.terminal))?;
            }
            if is_whole {
                reader.read(LabelStep::End(None))?;
            }
            let (settled, _) = reader.settled(lexemes.len() + usize::from(is_whole));
            let mut passed = reader.passed(settled, 0);
            // Tokens of the layout have no text. Where a part begins after the last token is not known yet.
            let has_text = |lexeme: &&Lexeme| lexeme.end > lexeme.start;
            let mut n_known = 0;
            for (label, at) in &mut passed {
                let (before, after) = lexemes.split_at(*at);
                let end = before.iter().rfind(has_text).map_or(0, |lexeme| lexeme.end);
                *at = match (*label, after.iter().find(has_text)) {
                    (Label::Begin(_), Some(lexeme)) => lexeme.start,
                    (Label::Begin(_), None) if !is_whole => break,
                    _ => end,
                };
                n_known += 1;
            }
            passed.truncate(n_known);
            agreed = Some(match agreed {
                None => passed,
                Some(known) => {
                    let same = known.iter().zip(&passed).take_while(|(one, other)| one == other).count();
                    known[..same].to_vec()
                }
            });
        }
        agreed.ok_or_else(|| EngineError::argument("the text is not whole"))
    }

    /// The tokens of the lexer in each reading of the text.
    fn lexemes(&self, is_whole: bool) -> Result<Vec<Vec<Lexeme>>, EngineError> {
        let vocabulary = self.grammar().vocabulary().clone();
        let mut steps: Vec<&Arc<Step>> =
            std::iter::successors(self.history.as_ref(), |step| step.previous.as_ref()).collect();
        steps.reverse();
        let last = if self.is_terminated() { steps.pop() } else { None };
        let mut lexemes = self.ask(|machine| Ok(Lexemes::new(machine.reader.lexed_mut()?.0)))?;
        let mut length = 0;
        for step in steps {
            let token = match &step.taken {
                MatcherStep::Bytes(bytes) => {
                    self.read_lexemes(&mut lexemes, bytes, length, None)?;
                    length += bytes.len();
                    continue;
                }
                MatcherStep::Token(token) => *token,
            };
            let after = length + written(&vocabulary, token).len();
            let Readings { text, symbol } = self.grammar().readings(token);
            let before = lexemes.ways();
            let by_text = match text {
                Some(text) => {
                    self.read_lexemes(&mut lexemes, text, length, None)?;
                    Some(lexemes.ways())
                }
                None => None,
            };
            if let Some(symbol) = symbol {
                lexemes.go_to(before);
                self.read_lexemes(&mut lexemes, &symbol_text(symbol), length, Some(after))?;
                by_text.map_or(Ok(()), |ways| lexemes.join(ways))?;
            }
            length = after;
        }
        // A token that a string names and that has ended the text is its last word.
        if let Some(MatcherStep::Token(token)) = last.map(|last| &last.taken) {
            let (before, mut all) = (lexemes.ways(), lexemes.ways());
            for symbol in
                self.grammar().named().into_iter().flat_map(|named| named.last_symbols(Some(*token)))
            {
                lexemes.go_to(before.clone());
                self.read_lexemes(&mut lexemes, &symbol_text(symbol), length, Some(length))?;
                lexemes.join(all)?;
                all = lexemes.ways();
            }
            lexemes.go_to(all);
        }
        self.ask(|machine| {
            let (lexed, parser) = machine.reader.lexed_mut()?;
            lexemes.lists(lexed, parser, is_whole)
        })
    }

    /// Reads some bytes. `before` and `after`: the length of the text before them, and after them if they are
    /// not of the text.
    fn read_lexemes(
        &self,
        lexemes: &mut Lexemes,
        bytes: &[u8],
        before: usize,
        after: Option<usize>,
    ) -> Result<(), EngineError> {
        for (i, &byte) in bytes.iter().enumerate() {
            self.ask(|machine| {
                let (lexed, parser) = machine.reader.lexed_mut()?;
                lexemes.read(lexed, parser, byte, after.unwrap_or(before + i + 1))
            })?;
        }
        Ok(())
    }
}

//! The labels that a session's text has passed.

use std::sync::Arc;

use maskwright_grammar::Label;

use super::{Matcher, MatcherStep, Step};
use crate::labels::{HistoryId, LabelReader, LabelStep, LabelledGrammar};
use crate::{EngineError, Error};

/// The labels that a session's text has passed, as far as all readings of the text agree on them.
///
/// It follows a session: after more steps there are more labels, after a rollback fewer.
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
        let reader = LabelReader::new(grammar)?;
        let mut labels = PassedLabels {
            reader,
            read: Vec::new(),
            settled: HistoryId::NONE,
            passed: Vec::new(),
            n_agreed: 0,
        };
        labels.settle();
        Ok(labels)
    }

    /// Reads what `session` has accepted, from where both were the same. The session's grammar is this one
    /// without labels.
    ///
    /// # Errors
    /// If the text has too many readings, or another limit is reached. What was read by then stays.
    pub fn follow(&mut self, session: &Matcher) -> Result<(), Error> {
        let mut new: Vec<Arc<Step>> = Vec::new();
        let mut last = session.history.clone();
        let mut n_steps = session.state.n_steps;
        while let Some(step) = last {
            if self.read.get(n_steps - 1).is_some_and(|read| Arc::ptr_eq(read, &step)) {
                break;
            }
            last = step.previous.clone();
            new.push(step);
            n_steps -= 1;
        }
        self.read.truncate(n_steps);
        self.reader.keep(n_steps);
        let n_new = new.len();
        let read = new.into_iter().rev().enumerate().try_for_each(|(i, step)| {
            self.reader.read(match &step.taken {
                _ if session.state.is_terminated && i + 1 == n_new => LabelStep::End,
                MatcherStep::Token(token) => LabelStep::Token(*token),
                MatcherStep::Bytes(bytes) => LabelStep::Bytes(bytes),
            })?;
            self.read.push(step);
            Ok::<(), EngineError>(())
        });
        self.settle();
        Ok(read?)
    }

    /// The text ends here: of all readings that of the whole text counts. Until the session goes on.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn end(&mut self) -> Result<(), Error> {
        self.reader.keep(self.read.len());
        let read = self.reader.read(LabelStep::End);
        self.settle();
        Ok(read?)
    }

    fn settle(&mut self) {
        let (settled, n_agreed) = self.reader.settled();
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

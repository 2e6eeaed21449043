//! The labels that a session's text has passed.

use std::sync::Arc;

use maskwright_grammar::Label;

use super::{Matcher, MatcherStep, Step};
use crate::Error;
use crate::labels::{HistoryId, LabelReader, LabelStep, LabelledGrammar};

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
        let n_new = session.state.n_steps - self.go_back_to(session);
        let all = std::iter::successors(session.history.as_ref(), |step| step.previous.as_ref());
        let new: Vec<&Arc<Step>> = all.take(n_new).collect();
        for (i, step) in new.into_iter().enumerate().rev() {
            self.reader.read(match &step.taken {
                _ if session.state.is_terminated && i == 0 => LabelStep::End,
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
        Ok(self.reader.read(LabelStep::End)?)
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

//! Yes-or-no answers by small numbers: of stack nodes, or of configurations.
//!
//! [`Answers`] is a map from a number to a `bool` in one byte per number. For example, `set(3, true)` makes
//! `get(3)` `Some(true)` and leaves `get(2)` `None`. Used where a hash table would take longer than the
//! question.

/// What is known so far, by number.
#[derive(Default)]
pub(super) struct Answers {
    /// 0 unknown, 1 no, 2 yes.
    known: Vec<u8>,
}

impl Answers {
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<bool> {
        match self.known.get(number as usize) {
            None | Some(0) => None,
            Some(&answer) => Some(answer == 2),
        }
    }

    pub(super) fn set(&mut self, number: u32, answer: bool) {
        let index = number as usize;
        if self.known.len() <= index {
            self.known.resize(index + 1, 0);
        }
        self.known[index] = 1 + u8::from(answer);
    }

    pub(super) fn clear(&mut self) {
        *self = Answers::default();
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.known.capacity()
    }
}

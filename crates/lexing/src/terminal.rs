//! What a lexer is made from and what it answers with.

use crate::Pattern;

/// A state of a [`Lexer`](crate::Lexer), for that lexer only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LexState(pub(crate) u32);

impl LexState {
    /// The state's number, counted from 0 in the order of making.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a lexer chooses among terminals that match at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// The first terminal of the list that matches at all, with the match that Python's `re` finds for it:
    /// what `(?P<T0>...)|(?P<T1>...)` matches. Lark's `basic` lexer.
    LeftmostFirst,
    /// Each terminal has the match that Python's `re` finds for it alone; the longest of these wins, among
    /// equally long ones that of the highest priority, and then the first of the list. The terminals that
    /// compete may be restricted ([`Lexer::among`](crate::Lexer::among)). No match of an
    /// [operator](LexerTerminal::is_operator) loses to a longer one of another operator, so then several can
    /// win.
    LongestMatch,
}

/// A text that a terminal matches too but that is another terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// What the match must be, all of it; without assertions.
    pub pattern: Pattern,
    /// The id that is then reported.
    pub terminal: u32,
}

/// A terminal as a lexer sees it.
///
/// ```
/// use maskwright_lexing::{Keyword, LexerTerminal, Pattern};
/// let letters = Pattern::char_class(&[('a', 'z')]).repeat(1, None, true);
/// let name = LexerTerminal::new(0, letters)
///     .with_keywords([Keyword { pattern: Pattern::literal(b"if"), terminal: 1 }]);
/// assert_eq!(name.keywords.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexerTerminal {
    /// The number that [`Lexer::accepts`](crate::Lexer::accepts) reports, less than 2^20. Two terminals may
    /// share one.
    pub id: u32,
    /// What it matches.
    pub pattern: Pattern,
    /// Decides among equally long matches under [`Discipline::LongestMatch`]: the highest wins.
    pub priority: i32,
    /// Texts that are other terminals; the first that is equal to the match counts.
    pub keywords: Vec<Keyword>,
    /// Whether it is a plain text that may be the beginning of another such one without losing to it under
    /// [`Discipline::LongestMatch`]: `>` and `>>`. It has no assertions.
    pub is_operator: bool,
}

impl LexerTerminal {
    /// A terminal of priority 0 without keywords, no operator.
    pub fn new(id: u32, pattern: Pattern) -> LexerTerminal {
        LexerTerminal { id, pattern, priority: 0, keywords: Vec::new(), is_operator: false }
    }

    /// The same with the given priority.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> LexerTerminal {
        self.priority = priority;
        self
    }

    /// The same with keywords added.
    #[must_use]
    pub fn with_keywords(mut self, keywords: impl IntoIterator<Item = Keyword>) -> LexerTerminal {
        self.keywords.extend(keywords);
        self
    }
}

/// How the terminals of a restricted state are chosen from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// By the discipline.
    Best,
    /// Not at all: of each terminal the match that it has alone may be the token.
    Each,
}

/// A match that ends at a state, if its guard lets it stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The terminal, or the keyword, that the bytes read are.
    pub terminal: u32,
    /// The guard at this place: step it by the bytes that follow. The match is the token iff the guard never
    /// comes to a state that [`refutes`](crate::Lexer::refutes) it, and does not
    /// [refute it at the end](crate::Lexer::refutes_at_end) if the text ends while it lives.
    pub guard: LexState,
}

/// A set of terminals' ids.
///
/// ```
/// use maskwright_lexing::TerminalSet;
/// let mut set = TerminalSet::new();
/// set.insert(70);
/// assert!(set.contains(70) && !set.contains(6));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [70]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TerminalSet(Vec<u64>);

impl TerminalSet {
    /// No terminal.
    pub fn new() -> TerminalSet {
        TerminalSet::default()
    }

    /// Adds an id; whether it is new. Takes memory of up to the greatest id's bits.
    pub fn insert(&mut self, terminal: u32) -> bool {
        let is_new = !self.contains(terminal);
        let word = terminal as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (terminal % 64);
        is_new
    }

    /// Whether the id is in the set. O(1).
    pub fn contains(&self, terminal: u32) -> bool {
        self.0.get(terminal as usize / 64).is_some_and(|word| word >> (terminal % 64) & 1 == 1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Adds all of `other`; whether that changed anything.
    pub fn union_with(&mut self, other: &TerminalSet) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grew = false;
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            grew |= theirs & !*ours != 0;
            *ours |= theirs;
        }
        grew
    }

    /// Whether the sets share an id.
    pub fn intersects(&self, other: &TerminalSet) -> bool {
        self.0.iter().zip(&other.0).any(|(ours, theirs)| ours & theirs != 0)
    }

    /// The ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index as u32 * 64 + bit)
        })
    }
}

impl PartialEq for TerminalSet {
    fn eq(&self, other: &TerminalSet) -> bool {
        let length = self.0.len().max(other.0.len());
        let word = |set: &TerminalSet, index: usize| set.0.get(index).copied().unwrap_or(0);
        (0..length).all(|index| word(self, index) == word(other, index))
    }
}

impl Eq for TerminalSet {}

impl Extend<u32> for TerminalSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, terminals: I) {
        for terminal in terminals {
            self.insert(terminal);
        }
    }
}

impl FromIterator<u32> for TerminalSet {
    fn from_iter<I: IntoIterator<Item = u32>>(terminals: I) -> TerminalSet {
        let mut set = TerminalSet::new();
        set.extend(terminals);
        set
    }
}

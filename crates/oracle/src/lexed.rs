//! The reference for lexed grammars: which texts Lark's basic lexer splits into a sentence of the rules.
//! (That for the contextual discipline is in [`contextual`](crate::contextual).)
//!
//! By the definition, with nothing made ahead: at each place the terminals are tried in order by the
//! backtracking matcher, keywords are compared, ignored tokens dropped; indentation is that of Lark's
//! `PythonIndenter` on the list of tokens; and the sentence is recognised by Earley's algorithm, over the
//! words that stand for the terminals in the rules.

use std::cmp::Reverse;

use maskwright_automata::Fuel;
use maskwright_grammar::{Layout, LexedGrammar, Tabs, TerminalId};
use maskwright_lexing::{
    Keyword, LarkTerminal, LexerTerminal, Pattern, TerminalSet, find_prefix, lark_contextual_terminals,
    lark_terminals,
};

use crate::Oracle;

/// Decides which texts are in the language of a lexed grammar, for small grammars and texts.
///
/// The words that stand for terminals in the rules must be such that no sequence of them can be read in two
/// ways; names that end in a character that is nowhere else in them see to that.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_grammar::{GrammarBuilder, LexedGrammar};
/// use maskwright_lexing::{Flags, LarkTerminal, parse_python};
/// use maskwright_oracle::LexedOracle;
/// let mut builder = GrammarBuilder::new();
/// let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &["A;"]);
/// let start = builder.declare("start");
/// let body = builder.seq(&[ids[0], ids[0]]);
/// builder.define(start, body);
/// let a = LarkTerminal {
///     name: "A;".to_owned(),
///     pattern: parse_python("aa?", Flags::default(), &Fuel::new(100)).unwrap(),
///     source_length: 3,
///     string: None,
///     flags: Flags::default(),
///     priority: 0,
/// };
/// let rules = builder.finish(start).unwrap();
/// let grammar = LexedGrammar { rules, terminals: vec![a], declared: vec![], ignored: vec![] };
/// let oracle = LexedOracle::new(&grammar, None);
/// assert!(oracle.is_word(b"aaa") && !oracle.is_word(b"aa"), "the first token takes all it can");
/// ```
pub struct LexedOracle {
    pub(crate) rules: Oracle,
    words: Vec<Vec<u8>>,
    terminals: Vec<LexerTerminal>,
    pub(crate) ignored: Vec<TerminalId>,
    pub(crate) layout: Option<Layout>,
    is_contextual: bool,
}

impl LexedOracle {
    /// The reference for `grammar`.
    ///
    /// # Panics
    /// If a terminal is beyond the limits of the backtracking matcher.
    pub fn new(grammar: &LexedGrammar<LarkTerminal>, layout: Option<Layout>) -> LexedOracle {
        let terminals = lark_terminals(&grammar.terminals, &ignored(grammar), &Fuel::unlimited());
        let terminals = terminals.expect("small terminals are within all limits");
        LexedOracle::with_terminals(grammar, terminals, layout, false)
    }

    /// The reference for `grammar` under the contextual discipline.
    pub fn contextual(grammar: &LexedGrammar<LarkTerminal>, layout: Option<Layout>) -> LexedOracle {
        let terminals = lark_contextual_terminals(&grammar.terminals, &ignored(grammar), &Fuel::unlimited());
        let mut terminals = terminals.expect("small terminals are within all limits");
        terminals.sort_by_key(|terminal| Reverse(terminal.priority));
        LexedOracle::with_terminals(grammar, terminals, layout, true)
    }

    fn with_terminals(
        grammar: &LexedGrammar<LarkTerminal>,
        terminals: Vec<LexerTerminal>,
        layout: Option<Layout>,
        is_contextual: bool,
    ) -> LexedOracle {
        let names = grammar.terminals.iter().map(|terminal| &terminal.name).chain(&grammar.declared);
        LexedOracle {
            rules: Oracle::new(&grammar.rules),
            words: names.enumerate().map(|(id, name)| format!("{id}:{name}").into_bytes()).collect(),
            terminals,
            ignored: grammar.ignored.clone(),
            layout,
            is_contextual,
        }
    }

    /// Whether `text` is in the language.
    ///
    /// # Panics
    /// If a terminal is beyond the limits of the backtracking matcher.
    pub fn is_word(&self, text: &[u8]) -> bool {
        if self.is_contextual {
            return self.is_split(text, 0, &mut Vec::new(), &self.terminals);
        }
        let Some(tokens) = self.tokens(text) else { return false };
        let Some((mut sentence, n_open)) = self.sentence(&tokens) else { return false };
        let dedent = self.layout.as_ref().map(|layout| layout.dedent);
        sentence.extend(dedent.into_iter().cycle().take(n_open));
        self.rules.is_word(&self.words_of(&sentence))
    }

    /// What the parser gets of a list of tokens, and how many blocks are then open; `None` if their
    /// indentation is wrong.
    pub(crate) fn sentence(&self, tokens: &[(TerminalId, &[u8])]) -> Option<(Vec<TerminalId>, usize)> {
        match &self.layout {
            Some(layout) => indented(tokens, layout),
            None => Some((tokens.iter().map(|&(terminal, _)| terminal).collect(), 0)),
        }
    }

    /// The word over the rules' own terminals that a sentence is.
    pub(crate) fn words_of(&self, sentence: &[TerminalId]) -> Vec<u8> {
        let words: Vec<&[u8]> =
            sentence.iter().map(|terminal| self.words[terminal.index()].as_slice()).collect();
        words.concat()
    }

    /// The tokens that are not ignored; `None` if the lexer is stuck.
    fn tokens<'t>(&self, text: &'t [u8]) -> Option<Vec<(TerminalId, &'t [u8])>> {
        let (mut tokens, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let (terminal, end) = self
                .terminals
                .iter()
                .find_map(|terminal| Some((terminal, find(&terminal.pattern, text, at)?)))?;
            let matched = &text[at..end];
            let id = token(terminal, matched);
            if !self.ignored.contains(&id) {
                tokens.push((id, matched));
            }
            at = end;
        }
        Some(tokens)
    }
}

fn ignored(grammar: &LexedGrammar<LarkTerminal>) -> TerminalSet {
    grammar.ignored.iter().map(|terminal| terminal.index() as u32).collect()
}

/// Where the match of `pattern` in `text` at `at` ends.
pub(crate) fn find(pattern: &Pattern, text: &[u8], at: usize) -> Option<usize> {
    find_prefix(pattern, text, at, &Fuel::unlimited()).expect("small terminals are within all limits")
}

/// The terminal that a match of `terminal` is a token of: the keyword that it is, or itself.
pub(crate) fn token(terminal: &LexerTerminal, matched: &[u8]) -> TerminalId {
    let is_it = |keyword: &&Keyword| find(&keyword.pattern, matched, 0) == Some(matched.len());
    let keyword = terminal.keywords.iter().find(is_it);
    TerminalId::from_index(keyword.map_or(terminal.id, |keyword| keyword.terminal) as usize)
}

/// The sentence of a list of tokens and how many blocks are open behind it; `None` if its indentation is
/// wrong.
fn indented(tokens: &[(TerminalId, &[u8])], layout: &Layout) -> Option<(Vec<TerminalId>, usize)> {
    let mut sentence = Vec::new();
    let mut widths = vec![[0, 0]];
    let mut depth = 0usize;
    for &(terminal, text) in tokens {
        if terminal != layout.newline {
            sentence.push(terminal);
            if layout.open.contains(&terminal) {
                depth += 1;
            } else if layout.close.contains(&terminal) {
                depth = depth.checked_sub(1)?;
            }
            continue;
        }
        if depth > 0 {
            continue;
        }
        sentence.push(terminal);
        let line = text.rsplitn(2, |&byte| byte == b'\n').next()?;
        if line.len() == text.len() {
            return None;
        }
        let width = columns(line, layout.tabs);
        let is_deeper = widths.last().map(|block| [width[0] > block[0], width[1] > block[1]])?;
        match is_deeper {
            [true, true] => {
                widths.push(width);
                sentence.push(layout.indent);
                continue;
            }
            [true, false] => return None,
            [false, _] => {}
        }
        while width[0] < widths.last()?[0] {
            widths.pop();
            sentence.push(layout.dedent);
        }
        if width != *widths.last()? {
            return None;
        }
    }
    Some((sentence, widths.len() - 1))
}

/// The columns that the blanks of a line end at. Where tabs count apart, those of CPython's tokenizer
/// (`Parser/tokenizer.c`), which must agree on the order of lines: with tabs of eight columns and with tabs
/// of one.
fn columns(line: &[u8], tabs: Tabs) -> [usize; 2] {
    line.iter().filter(|blank| b" \t".contains(blank)).fold([0, 0], |[column, other], &blank| {
        match (blank, tabs) {
            (b'\t', Tabs::Spaces(n_spaces)) => [column + n_spaces as usize, other + n_spaces as usize],
            (b'\t', Tabs::Apart) => [(column / 8 + 1) * 8, other + 1],
            _ => [column + 1, other + 1],
        }
    })
}

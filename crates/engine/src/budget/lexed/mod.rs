//! Limits on tokens for grammars over the tokens of a lexer.
//!
//! [`LexedBudget`] says how many tokens of the vocabulary complete a text at least ([`least`](LexedBudget::least)), whether so many are
//! enough ([`fits`](LexedBudget::fits)), and which tokens may come next under a limit (`masks`).
//!
//! An example: in a language of sums, after `(1`, with the tokens `1`, `+`, `)` and `1)`, one token completes the text. With a limit of
//! one, `)` is allowed and `+` is not, because `+` needs one more.
//!
//! The problem is that of scannerless grammars (`super`) with another control state: a hypothesis of the lexer, the future of the
//! vocabulary's token in progress, and the blocks around (`controls`). The stack is that of the parser over terminals. From the
//! ground up:
//!
//! * `walks`, `runs`: from a hypothesis, inside a token of the vocabulary, to the end of the next token that the parser gets;
//!   `ends`: which ends a run can reach at all;
//! * `neighbours`, `floors`: lower bounds, from terminals alone, on what the rest of a rule and of the text takes;
//! * `summaries`: from (state, control) to controls at the end of a rule;
//! * `search`: the least cost from (state, stack node, control) to the end of the text; `searches`: an exact and a faster one;
//! * `witness`: completions found by stepping the lexer, where the searches find none;
//! * `groups`, `masks`: the tokens of a mask by what they lead to, and masks under a limit.
//!
//! Each hypothesis is a path, even one that later bytes refute. A refuted one has no way to the end of the text. So the least cost
//! over all paths is the least number of tokens.
//!
//! **Lemma 1 (margin)** holds at one hypothesis and layout: what is read from there depends on nothing else. Other
//! hypotheses at the same place are kept apart, because what came before `1` may forbid that it continues.
//!
//! **Bounds.** There is no margin between hypotheses, so no search can stop by itself at some distance after the cheapest exit.
//! Instead the search is for completions of at most b tokens, for b = 1, 2, …: all parts are complete up to a bound and resume where
//! they stopped. So the work for an answer of n tokens is what n tokens can reach, whatever lies beyond.
//!
//! **Indentation.** The width of a block that the completion opens stays undecided as long as possible (`blocks`). The widths
//! of the text's own blocks are in the control, so blocks of one width share their summaries, others do not.
//!
//! Where work is limited, tokens must end where the lexer's do; see `super`.

mod blocks;
mod controls;
mod ends;
mod floors;
mod groups;
mod masks;
mod neighbours;
mod runs;
mod search;
mod searches;
mod summaries;
mod walks;
mod witness;

use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{NEVER, TokenCountStatus};
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};
use groups::Groups;
use searches::{Effort, MAX_BOUND, MAX_BYTES, Searches};
use witness::{Witness, Witnesses};

/// What is known about the budgets of one lexed grammar's texts.
pub(crate) struct LexedBudget {
    searches: Searches,
    /// The least numbers of tokens, or bounds where a search was given up.
    least: FxHashMap<ConfigId, (u32, TokenCountStatus)>,
    groups: Groups,
    witnesses: Witnesses,
}

impl LexedBudget {
    /// Nothing is known yet.
    pub(super) fn new(parser: &Parser) -> LexedBudget {
        LexedBudget {
            searches: Searches::new(parser),
            least: FxHashMap::default(),
            groups: Groups::default(),
            witnesses: Witnesses::default(),
        }
    }

    /// Builds the tables that no text changes.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn prepare(&mut self, states: &mut States) -> Result<(), EngineError> {
        self.searches.prepare(states)
    }

    /// Drops what is memoised if it has grown beyond the limit.
    pub(super) fn trim(&mut self) {
        self.searches.trim();
        if self.answer_bytes() > MAX_BYTES {
            self.clear_answers();
        }
    }

    /// Drops what is memoised, but for the tables that no text changes.
    pub(super) fn clear(&mut self) {
        self.searches.clear();
        self.clear_answers();
    }

    fn clear_answers(&mut self) {
        self.least = FxHashMap::default();
        self.groups = Groups::default();
        self.witnesses = Witnesses::default();
    }

    fn answer_bytes(&self) -> usize {
        (self.least.len() + self.witnesses.len()) * 24 + self.groups.memory_usage()
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.searches.memory_usage() + self.answer_bytes()
    }

    /// The least number of tokens, EOS included, that complete the text; [`NEVER`] if no tokens spell the
    /// rest of any text, which is never returned if a search was given up.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(super) fn least(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        if states.configs.is_accepting(config) {
            return Ok((self.searches.eos_cost, TokenCountStatus::Exact));
        }
        if let Some(&known) = self.least.get(&config) {
            return Ok(known);
        }
        let found = self.searches.question(&parser.shared.clone(), Effort::Usual, |searches| {
            let upper = searches.upper_within(states, parser, config, MAX_BOUND);
            let upper = searches.unless_given_up(upper)?.flatten();
            let better = upper.map_or(MAX_BOUND, |upper| upper.saturating_sub(1));
            let exact = searches.exact_within(states, parser, config, better);
            Ok((upper, searches.unless_given_up(exact)?))
        })?;
        let least = match found {
            (_, Some(Some(least))) | (Some(least), Some(None)) => (least, TokenCountStatus::Exact),
            (Some(least), None) => (least, TokenCountStatus::Upper),
            (None, Some(None)) if !states.places().points.tables.is_contextual => {
                (NEVER, TokenCountStatus::Exact)
            }
            (None, _) => {
                let LexedBudget { searches, groups, witnesses, .. } = self;
                match witnesses.of(groups, states, parser, config)? {
                    Witness::Of(found) => (found + searches.eos_cost, TokenCountStatus::Upper),
                    Witness::Nothing => (NEVER, TokenCountStatus::Exact),
                    Witness::GivenUp => {
                        return Err(EngineError::budget_search(parser.shared.limits.budget_items));
                    }
                }
            }
        };
        if parser.shared.options.use_memo {
            self.least.insert(config, least);
        }
        Ok(least)
    }

    /// Whether at most `limit` tokens complete the text; `None` if that is not found out.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn fits(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<bool>, EngineError> {
        self.searches.question(&parser.shared.clone(), Effort::Usual, |searches| {
            Ok(searches.fit(states, parser, config, limit)?.is_within())
        })
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Fuel;
    use maskwright_lark::{Indentation, LarkConfig, LexerKind, Tabs, builtin, parse_lark};
    use maskwright_vocabulary::{TokenId, Vocabulary};

    use crate::{Compiler, Limits, MaskStatus, Matcher};

    /// A mask where a block of Python begins walked over the vocabulary anew for each width that the next line may have,
    /// half a million times in all. The widths share their walks.
    #[test]
    fn lines_of_all_widths_share_their_walks() {
        let python = builtin("python").expect("it is built in");
        let config = LarkConfig {
            lexer: LexerKind::Basic,
            indentation: Some(Indentation::python()),
            ..LarkConfig::default()
        };
        let grammar = parse_lark(python.text, "python.lark", &config, &Fuel::unlimited())
            .expect("the built-in grammar is right");
        let walks = [8usize, 80].map(|n_widths| {
            let bytes = (0..=255u8).map(|byte| vec![byte]);
            let blanks = (2..=n_widths).flat_map(|n| [" ".repeat(n), format!("\n{}", " ".repeat(n))]);
            let words = ["while", "):", "x =", " x", "x)\n"].map(|word| word.as_bytes().to_vec());
            let tokens = bytes.chain(blanks.map(String::into_bytes)).chain(words).map(Some);
            let mut tokens: Vec<Option<Vec<u8>>> = tokens.collect();
            let end = u32::try_from(tokens.len()).expect("they are few");
            tokens.push(Some(b"</s>".to_vec()));
            let vocabulary =
                Vocabulary::from_tokens(tokens, &[TokenId(end)], None).expect("no token is twice there");
            let compiler = Compiler::new(vocabulary.shared(), Limits::default());
            let compiled = compiler
                .compile_lexed(grammar.lexed.clone(), grammar.indentation.clone(), &Fuel::unlimited())
                .expect("the built-in grammar is right");
            let mut matcher = Matcher::with_max_tokens(&compiled, Some(60)).expect("there is room");
            for &byte in b"while x:\n    x -= 1\n" {
                matcher.mask().expect("no limit is reached");
                assert_eq!(matcher.mask_status(), MaskStatus::Exact);
                assert!(matcher.accept_token(TokenId(u32::from(byte))).expect("no limit is reached"));
            }
            matcher.mask().expect("no limit is reached");
            let made = matcher
                .ask(|machine| Ok(machine.limits.lexed_mut().map_or(0, |budget| budget.searches.n_walks())));
            made.expect("it is only looked up")
        });
        assert!(walks[0] > 0 && walks[1] < 4 * walks[0], "{walks:?} walks for 8 and for 80 widths");
    }

    /// The end of a line of a width that no token can write: each width is another level of a run. The search took minutes, since
    /// levels were free.
    #[test]
    fn searches_among_all_widths_end() {
        let grammar = r#"
            start: (_NL | statement)*
            statement: "a" (LPAR "a"* RPAR)* _NL | B _NL _INDENT statement+ _DEDENT
            _NL: /\n *b?/
            B: /b+/
            LPAR: "("
            RPAR: ")"
            BLANK: /(?<!\n) +/
            %declare _INDENT _DEDENT
            %ignore BLANK
        "#;
        let mut indentation = Indentation::python();
        indentation.tabs = Tabs::Spaces(2);
        let config =
            LarkConfig { lexer: LexerKind::Basic, indentation: Some(indentation), ..LarkConfig::default() };
        let grammar = parse_lark(grammar, "widths.lark", &config, &Fuel::unlimited()).expect("it is right");
        let tokens = ["\na", "(\n", " ", "abb", "\n b"].map(|text| Some(text.as_bytes().to_vec()));
        let vocabulary =
            Vocabulary::from_tokens(tokens.to_vec(), &[], None).expect("no token is twice there");
        let limits = Limits { budget_items: 20_000, ..Limits::default() };
        let compiled = Compiler::new(vocabulary.shared(), limits)
            .compile_lexed(grammar.lexed.clone(), grammar.indentation.clone(), &Fuel::unlimited())
            .expect("it is right");
        for second in [0, 1] {
            let mut matcher = Matcher::new(&compiled);
            for token in [TokenId(0), TokenId(second)] {
                assert!(matcher.accept_token(token).expect("no limit is reached"));
            }
            let error =
                matcher.tokens_to_finish().expect_err("no text ends there, which no search finds out");
            assert!(error.is_limit(), "{error}");
        }
    }
}

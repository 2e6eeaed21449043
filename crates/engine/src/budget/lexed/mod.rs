//! Budgets of grammars over the tokens of a lexer.
//!
//! The same problem as for scannerless grammars (`super`), with another control state: a hypothesis of the lexer, the
//! future of the vocabulary's token in progress, and the blocks around (`controls`). The stack is that of the parser
//! over terminals. It decomposes into
//!
//! * `runs`: from a hypothesis, inside a token of the vocabulary, to the end of the next token that the parser gets;
//! * `summaries`: from (state, control) to controls at the end of a rule;
//! * `floors`: lower bounds, from terminals alone (`neighbours`), on what the rest of a rule and of the text takes; `ends`:
//!   what a run can come to at all. A search leaves alone what cannot fit its bound;
//! * here: the least cost from (state, stack node, control) to the end of the text, and profiles.
//!
//! A reading of the text is a path of this system however it will turn out: hypotheses are guesses which
//! later bytes refute, and a refuted one has no way on. So the least cost over all paths is the
//! least number of tokens.
//!
//! **Lemma 1 (margin)** holds at one hypothesis and layout: what is read from there depends on nothing else. Other
//! hypotheses at the same place are told apart, since `1` may be forbidden to go on by what came before it.
//!
//! **Bounds.** There is no margin between hypotheses, so a search that stops by itself at some distance
//! behind the cheapest exit does not exist here. Instead the search is for completions of at most b tokens, for b =
//! 1, 2, …: all parts are complete up to a bound and go on where they stopped. So the work for an answer of n tokens is
//! what can be come to with n tokens, whatever lies beyond.
//!
//! **Indentation.** The width of a block that the completion opens is left open as long as it can be (`blocks`); those
//! of the text are in the control, so blocks of one width share their summaries, others do not.
//!
//! Where work is limited, tokens must end where the lexer's do; see `super`.

mod blocks;
mod controls;
mod ends;
mod floors;
mod groups;
mod neighbours;
mod runs;
mod search;
mod summaries;
mod walks;
mod witness;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{NEVER, TokenCountStatus};
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};
use crate::spelling::Spelling;
use ends::{Ends, Explored};
use floors::Floors;
use groups::Groups;
use runs::Runs;
use search::{Search, floor};
use summaries::Parts;
use witness::Witness;

/// Items that the search for one upper bound may take.
const MAX_UPPER_ITEMS: u64 = 400_000;
/// After searches that were given up, the next may take at least so many items.
const MIN_ITEMS: u64 = 1_000;
/// Items that the next search may take more after one that was not given up.
const REGAINED: u64 = 100;
/// Bytes that the memoised answers may take before they are dropped.
const MAX_BYTES: usize = 128 << 20;
/// Items and walks between two looks at what searches take.
const LOOK_EVERY: u64 = 50_000;
/// No completion of more tokens is looked for.
const MAX_BOUND: u32 = 1 << 20;

/// What is known about the budgets of one lexed grammar's texts.
pub(crate) struct LexedBudget {
    spelling: Arc<parking_lot::Mutex<Spelling>>,
    runs: Runs,
    floors: Floors,
    /// Those of the upper search.
    aligned_floors: Floors,
    /// Whether the floors have been made.
    has_floors: bool,
    exact: Search,
    upper: Search,
    groups: FxHashMap<ConfigId, Groups>,
    group_bytes: usize,
    /// The configurations for which no completion was found, and whether that is certain.
    unwitnessed: FxHashMap<ConfigId, Witness>,
    /// Items that the next exact search may take: fewer after searches that were given up, more after others.
    patience: u64,
    /// Items that exact searches may take in the present call, together.
    left: u64,
    /// The work of searches at which their memory is looked at next.
    next_look: u64,
    eos_cost: u32,
}

impl LexedBudget {
    /// Nothing is known yet; `spelling` is what grammars share.
    pub(super) fn new(parser: &Parser) -> LexedBudget {
        LexedBudget {
            spelling: parser.shared.spelling(),
            runs: Runs::default(),
            floors: Floors::default(),
            aligned_floors: Floors::default(),
            has_floors: false,
            exact: Search::new(false),
            upper: Search::new(true),
            groups: FxHashMap::default(),
            group_bytes: 0,
            unwitnessed: FxHashMap::default(),
            patience: parser.shared.limits.budget_items,
            left: 0,
            next_look: LOOK_EVERY,
            eos_cost: u32::from(!parser.shared.vocabulary.eos_token_ids().is_empty()),
        }
    }

    /// Drops what is memoised if it has grown beyond the limit: the searches before their answers.
    pub(super) fn trim(&mut self) {
        let work = self.exact.work() + self.upper.work() + self.runs.work();
        if work >= self.next_look {
            self.next_look = work + LOOK_EVERY;
            if self.search_bytes() > MAX_BYTES {
                self.clear_searches();
            }
        }
        if self.answer_bytes() > MAX_BYTES {
            self.exact.configs = FxHashMap::default();
            self.upper.configs = FxHashMap::default();
            self.groups = FxHashMap::default();
            self.group_bytes = 0;
            self.unwitnessed = FxHashMap::default();
        }
    }

    fn clear_searches(&mut self) {
        self.exact.clear();
        self.upper.clear();
        self.next_look = LOOK_EVERY;
        self.runs.clear();
        self.floors.clear_places();
        self.aligned_floors.clear_places();
    }

    fn search_bytes(&self) -> usize {
        self.exact.memory_usage()
            + self.upper.memory_usage()
            + self.runs.memory_usage()
            + self.floors.memory_usage()
            + self.aligned_floors.memory_usage()
    }

    fn answer_bytes(&self) -> usize {
        (self.exact.configs.len() + self.upper.configs.len() + self.unwitnessed.len()) * 16 + self.group_bytes
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.search_bytes() + self.answer_bytes()
    }

    /// Asks one of the searches.
    fn ask<T>(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        is_upper: bool,
        ask: impl FnOnce(&mut Search, &mut Parts<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let spelling = self.spelling.clone();
        let mut spelling = spelling.lock();
        if !std::mem::replace(&mut self.has_floors, true) {
            let points = &mut states.places_mut().points;
            self.aligned_floors = Floors::aligned(points);
            // Under the contextual discipline neighbours depend on the place.
            if !points.tables.is_contextual
                && let Some(explored) = Explored::new(points)?
            {
                self.floors = Floors::new(points, &spelling.futures, &explored)?;
                self.runs.ends = Some(Ends::new(points, &explored));
            }
        }
        let LexedBudget { runs, floors, aligned_floors, exact, upper, .. } = self;
        let (search, floors) = if is_upper { (upper, aligned_floors) } else { (exact, floors) };
        ask(search, &mut Parts { parser, states, futures: &mut spelling.futures, runs, floors })
    }

    /// A lower bound on the number of tokens of a text that is not complete.
    fn floor(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        Ok(self.ask(states, parser, false, |_, parts| floor(parts, config))? + self.eos_cost)
    }

    /// The number of tokens of some completion of a text that is not complete, if one of at most `limit` is found in
    /// which tokens end where the lexer's do.
    fn upper_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        let Some(room) = limit.checked_sub(self.eos_cost) else { return Ok(None) };
        let found = self
            .ask(states, parser, true, |search, parts| search.within(parts, config, room, MAX_UPPER_ITEMS));
        if found.is_err() {
            self.upper.clear();
        }
        Ok(found?.map(|found| found + self.eos_cost))
    }

    /// The least number of tokens of all completions of a text that is not complete, if it is at most `limit`; that the
    /// search was given up, if it was.
    fn exact_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
        max_items: u64,
    ) -> Result<Result<Option<u32>, EngineError>, EngineError> {
        let Some(room) = limit.checked_sub(self.eos_cost) else { return Ok(Ok(None)) };
        let before = self.exact.work();
        let found =
            self.ask(states, parser, false, |search, parts| search.within(parts, config, room, max_items));
        self.left = self.left.saturating_sub(self.exact.work() - before);
        match found {
            Err(error) if error.is_budget_search() => {
                self.exact.clear();
                // Not where it was the call that had no more work to give.
                if max_items >= self.patience {
                    let least = MIN_ITEMS.min(self.patience);
                    self.patience = (self.patience / 4).max(least);
                }
                Ok(Err(error))
            }
            found => {
                if self.exact.work() > before {
                    self.patience = (self.patience + REGAINED).min(parser.shared.limits.budget_items);
                }
                Ok(Ok(found?.map(|found| found + self.eos_cost)))
            }
        }
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
            return Ok((self.eos_cost, TokenCountStatus::Exact));
        }
        let upper = match self.upper_within(states, parser, config, MAX_BOUND) {
            Err(error) if error.is_budget_search() => None,
            upper => upper?,
        };
        let better = upper.map_or(MAX_BOUND, |upper| upper.saturating_sub(1));
        let exact = self.exact_within(states, parser, config, better, self.patience)?;
        let error = match (exact, upper) {
            (Ok(Some(least)), _) | (Ok(None), Some(least)) => return Ok((least, TokenCountStatus::Exact)),
            (Ok(None), None) if !states.places().points.tables.is_contextual => {
                return Ok((NEVER, TokenCountStatus::Exact));
            }
            (Err(_), Some(least)) => return Ok((least, TokenCountStatus::Upper)),
            (Ok(None), None) => EngineError::budget_search(self.patience),
            (Err(error), None) => error,
        };
        match self.witness(states, parser, config)? {
            Witness::Of(found) => Ok((found + self.eos_cost, TokenCountStatus::Upper)),
            Witness::Nothing => Ok((NEVER, TokenCountStatus::Exact)),
            Witness::GivenUp => Err(error),
        }
    }

    /// Whether at most `limit` tokens complete the text; `None` if the search was given up.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(super) fn fits(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<bool>, EngineError> {
        self.left = parser.shared.limits.budget_items;
        self.fits_in_what_is_left(states, parser, config, limit)
    }

    /// The same within the work that is left of the present call.
    fn fits_in_what_is_left(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<bool>, EngineError> {
        let limit = limit.min(MAX_BOUND);
        if states.configs.is_accepting(config) {
            return Ok(Some(self.eos_cost <= limit));
        }
        let room = limit.saturating_sub(self.eos_cost);
        let known = self.upper.configs.get(&config).and_then(|known| known.known());
        if known.is_some_and(|known| known <= room)
            || self.upper_within(states, parser, config, limit)?.is_some()
        {
            return Ok(Some(true));
        }
        if let Some(known) = self.exact.configs.get(&config).and_then(|known| known.within(room)) {
            return Ok(Some(known.is_some()));
        }
        if self.left == 0 && parser.shared.limits.budget_items > 0 {
            return Ok(None);
        }
        let exact = self.exact_within(states, parser, config, limit, self.patience.min(self.left))?;
        Ok(exact.ok().map(|least| least.is_some()))
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
            let made =
                matcher.ask(|machine| Ok(machine.limits.lexed_mut().map_or(0, |budget| budget.runs.work())));
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

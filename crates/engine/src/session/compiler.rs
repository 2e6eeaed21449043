//! Compiling grammars for one vocabulary.

use std::sync::Arc;

use maskwright_automata::{Fuel, Regex, StateId};
use maskwright_grammar::{Grammar, Layout, LexedGrammar};
use maskwright_lexing::LarkTerminal;
use maskwright_vocabulary::Vocabulary;

use super::engine_grammar::EngineGrammar;
use super::source::Source;
use crate::rows::{KnownRow, MAX_RESIDUE, MAX_TREE, ReadRow, SavedError, SavedRows, Writer};
use crate::shared::Shared;
use crate::{EngineError, Error, Limits, Options};

/// The most residues of one terminal that are prepared for.
const MAX_WARM_RESIDUES: usize = 32;

/// Compiles grammars for one vocabulary, and owns what they share: the automata of terminals and their rows.
///
/// Cheap to clone; clones share everything. May be used from many threads.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_engine::{Compiler, Matcher};
/// use maskwright_grammar::Grammar;
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
/// let compiler = Compiler::new(vocabulary, Default::default());
/// let grammar = Grammar::from_regex(Regex::words([*b"no"]));
/// let compiled = compiler.compile(grammar, &Fuel::new(1_000)).unwrap();
/// let mut matcher = Matcher::new(&compiled);
/// assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [TokenId(1), TokenId(2)]);
/// ```
#[derive(Clone)]
pub struct Compiler(Arc<Shared>);

impl Compiler {
    /// A compiler for `vocabulary` with all optimisations on.
    pub fn new(vocabulary: Arc<Vocabulary>, limits: Limits) -> Compiler {
        Compiler::with_options(vocabulary, limits, Options::default())
    }

    /// A compiler with the given optimisations; masks are the same whichever are on.
    pub fn with_options(vocabulary: Arc<Vocabulary>, limits: Limits, options: Options) -> Compiler {
        Compiler(Arc::new(Shared::new(vocabulary, limits, options)))
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.0.vocabulary
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Compiles a grammar. Takes time linear in the grammar; automata, stack states and masks are made when
    /// texts come to them.
    ///
    /// # Errors
    /// If the grammar's language is empty, a limit is reached, or the work is cancelled through `fuel`.
    pub fn compile(&self, grammar: Grammar, fuel: &Fuel) -> Result<Arc<EngineGrammar>, Error> {
        let source = Source::OverBytes(Box::new(grammar));
        Ok(EngineGrammar::compile(&self.0, source, fuel)?)
    }

    /// Compiles a grammar over the tokens of Lark's basic lexer: a text is in the language iff that lexer
    /// uses it up, and the tokens that are not ignored are a sentence of the rules; with `layout`,
    /// indentation makes tokens among them. Takes time linear in the rules, and in the states of the
    /// lexer, all of which are made now.
    ///
    /// # Errors
    /// If no text is in the language, a terminal cannot be had, a limit is reached, or the work is cancelled
    /// through `fuel`.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_engine::{Compiler, Matcher};
    /// use maskwright_grammar::{GrammarBuilder, LexedGrammar, TerminalId};
    /// use maskwright_lexing::{Flags, LarkTerminal, parse_python};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let terminal = |name: &str, source: &str| LarkTerminal {
    ///     name: name.to_owned(),
    ///     pattern: parse_python(source, Flags::default(), &Fuel::new(1_000)).unwrap(),
    ///     source_length: source.len(),
    ///     string: None,
    ///     flags: Flags::default(),
    ///     priority: 0,
    /// };
    /// let terminals = vec![terminal("WORD", "[a-z]+"), terminal("SPACE", " ")];
    /// let mut builder = GrammarBuilder::new();
    /// let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &["WORD", "SPACE"]);
    /// let start = builder.declare("start");
    /// let body = builder.seq(&[ids[0], ids[0]]);
    /// builder.define(start, body);
    /// let rules = builder.finish(start).unwrap();
    /// let ignored = vec![TerminalId::from_index(1)];
    /// let grammar = LexedGrammar { rules, terminals, declared: vec![], ignored };
    /// let tokens = ["ab", " ", " c d", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary, Default::default());
    /// let compiled = compiler.compile_lexed(grammar, None, &Fuel::new(100_000)).unwrap();
    /// let mut matcher = Matcher::new(&compiled);
    /// assert!(matcher.accept_bytes(b"a").unwrap() && !matcher.is_accepting());
    /// assert_eq!(matcher.mask().unwrap().iter().map(|token| token.0).collect::<Vec<_>>(), [0, 1]);
    /// assert!(matcher.accept_bytes(b" b").unwrap() && matcher.is_accepting());
    /// ```
    pub fn compile_lexed(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, Error> {
        let source = Source::WithLexer { grammar: Box::new(grammar), layout, is_contextual: false };
        Ok(EngineGrammar::compile(&self.0, source, fuel)?)
    }

    /// The same for the contextual discipline: only those terminals compete for a token that can follow the
    /// tokens before it in some sentence, the ignored ones, and inside of brackets that of line ends, which a
    /// `layout` drops there.
    ///
    /// A text is in the language iff it can be split into tokens such that (1) those that are not ignored,
    /// with what indentation makes of them, are a sentence of the rules, and (2) each token wins: at its
    /// place, its text is the match that Python's `re` finds for its terminal alone, and no competing
    /// terminal has a longer match or one of the same length that is preferred: by priority, then strings
    /// before regular expressions, then in Lark's order. A string of punctuation loses to no longer one of
    /// that kind: `>>` is read both ways, and the rules decide.
    ///
    /// # Errors
    /// As those of [`compile_lexed`](Compiler::compile_lexed).
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_engine::{Compiler, Matcher};
    /// use maskwright_grammar::{GrammarBuilder, LexedGrammar};
    /// use maskwright_lexing::{Flags, LarkTerminal, parse_python};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let terminal = |name: &str, source: &str| LarkTerminal {
    ///     name: name.to_owned(),
    ///     pattern: parse_python(source, Flags::default(), &Fuel::new(1_000)).unwrap(),
    ///     source_length: source.len(),
    ///     string: None,
    ///     flags: Flags::default(),
    ///     priority: 0,
    /// };
    /// let terminals = vec![terminal("QUOTE", "\""), terminal("WORD", "[a-z]+"), terminal("REST", "[^\"]+")];
    /// let mut builder = GrammarBuilder::new();
    /// let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &["QUOTE", "WORD", "REST"]);
    /// let start = builder.declare("start");
    /// let body = builder.seq(&[ids[1], ids[0], ids[2], ids[0]]);
    /// builder.define(start, body);
    /// let rules = builder.finish(start).unwrap();
    /// let grammar = LexedGrammar { rules, terminals, declared: vec![], ignored: vec![] };
    /// let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(1)], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary, Default::default());
    /// let compiled = compiler.compile_contextual(grammar, None, &Fuel::new(100_000)).unwrap();
    /// let mut matcher = Matcher::new(&compiled);
    /// assert!(matcher.accept_bytes(b"say\"what I say\"").unwrap() && matcher.is_accepting());
    /// ```
    pub fn compile_contextual(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, Error> {
        let source = Source::WithLexer { grammar: Box::new(grammar), layout, is_contextual: true };
        Ok(EngineGrammar::compile(&self.0, source, fuel)?)
    }

    /// Makes the rows of `terminals` now, those of all residues if they are few, so that no mask has to wait
    /// for them. Changes no answer.
    ///
    /// # Errors
    /// If a limit is reached, or the work is cancelled through `fuel`; what was made by then stays.
    pub fn warm(&self, terminals: &[Regex], fuel: &Fuel) -> Result<(), Error> {
        if !self.0.options.use_rows {
            return Ok(());
        }
        for regex in terminals {
            let automaton = self.0.automaton(regex, fuel)?;
            let located = |error| EngineError::automaton(format_args!("{regex:?}"), error);
            let mut residues: Vec<StateId> = automaton.start().into_iter().collect();
            let mut position = 0;
            while let Some(&residue) = residues.get(position).filter(|_| position < MAX_WARM_RESIDUES) {
                position += 1;
                fuel.spend(1).map_err(EngineError::from)?;
                if let Some(row) =
                    self.0.rows.get_if_heavy(&automaton, residue, Some(fuel)).map_err(located)?
                {
                    row.prepare(&self.0.vocabulary);
                }
                for byte in automaton.next_bytes(residue).map_err(located)?.iter() {
                    let next = automaton.step(residue, byte).map_err(located)?;
                    residues.extend(next.filter(|next| !residues.contains(next)));
                }
            }
        }
        Ok(())
    }

    /// The rows that are known by now, to be read by [`load_rows`](Compiler::load_rows) in another process
    /// with the same vocabulary, so that its first masks need not wait for them. Left out are rows of very
    /// long expressions, those with a complement inside, and what is quickly made from other rows.
    pub fn save_rows(&self) -> Vec<u8> {
        let vocabulary = &self.0.vocabulary;
        // What is locked is looked up and let go: writing takes long.
        let store = self.0.store();
        let (rows, counted) = self.0.rows.plain_and_counted(store.id());
        let mut writer = Writer::default();
        for (state, row) in rows {
            let residue = store.residue(state, MAX_RESIDUE);
            // Whoever reads it must come to the same residue.
            let is_itself = |regex: &Regex| {
                let again = store.automaton(regex, &Fuel::new(MAX_RESIDUE as u64));
                again.is_ok_and(|again| again.store_id() == store.id() && again.start() == Some(state))
            };
            if let Some(residue) = residue.filter(|residue| residue.size() <= MAX_TREE && is_itself(residue))
            {
                writer.plain(&residue, &row, vocabulary);
            }
        }
        for ((unit, suffix, unit_state), row) in counted {
            writer.counted((&unit, &suffix, unit_state), &row, vocabulary);
        }
        writer.finish(vocabulary)
    }

    /// Takes rows that [`save_rows`](Compiler::save_rows) gave, as far as the limits on memory allow, and
    /// returns how many of them were new. Changes no answer, if the bytes are what was saved: whether they
    /// are damaged, of another version or for another vocabulary is checked, what else someone may have
    /// written there cannot be.
    ///
    /// # Errors
    /// If the bytes are not such rows, or a limit is reached; rows read by then stay.
    ///
    /// ```
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_engine::Compiler;
    /// # use maskwright_vocabulary::{TokenId, Vocabulary};
    /// # let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary.clone(), Default::default());
    /// compiler.warm(&[Regex::any_text()], &Fuel::new(1_000)).unwrap();
    /// let saved = compiler.save_rows();
    /// let next = Compiler::new(vocabulary, Default::default());
    /// assert!(next.load_rows(&saved, &Fuel::new(1_000)).is_ok());
    /// assert!(next.load_rows(&saved[1..], &Fuel::new(1_000)).is_err());
    /// ```
    pub fn load_rows(&self, saved: &[u8], fuel: &Fuel) -> Result<usize, Error> {
        let shared = &self.0;
        let refused = |error: SavedError| EngineError::argument(error.reason());
        let store = shared.store();
        let saved = SavedRows::read(saved, &shared.vocabulary).map_err(refused)?;
        let mut n_rows = 0;
        for row in saved.rows(&shared.vocabulary).map_err(refused)? {
            fuel.spend(1).map_err(EngineError::from)?;
            let row = match row.map_err(refused)? {
                ReadRow::Plain(residue, row) => match store.automaton(&residue, fuel) {
                    Ok(automaton) if automaton.store_id() == store.id() => {
                        automaton.start().map(|start| KnownRow::Plain((store.id(), start), Arc::new(row)))
                    }
                    Ok(_) => None,
                    // Limits may be other than they were; a row more or less changes nothing.
                    Err(error) if error.is_limit() && !error.is_cancelled() => None,
                    Err(error) => {
                        return Err(EngineError::automaton(format_args!("of a saved row"), error).into());
                    }
                },
                ReadRow::Counted(key, row) => Some(KnownRow::Counted(key, Arc::new(row))),
            };
            let Some(row) = row else { continue };
            match shared.rows.add(row) {
                Some(is_new) => n_rows += usize::from(is_new),
                None => break,
            }
            if store.memory_usage() > shared.limits.automaton_bytes / 2 {
                break;
            }
        }
        Ok(n_rows)
    }

    /// Drops all shared automata and rows; grammars compiled before keep working.
    pub fn clear_caches(&self) {
        self.0.clear_caches();
    }

    /// Approximate memory of the shared caches and of all living grammars, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.0.memory_usage()
    }
}

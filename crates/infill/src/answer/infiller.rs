//! A grammar made ready for infilling over one vocabulary.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, NamedTokens};
use maskwright_error::Error;
use maskwright_grammar::{Grammar, GrammarError, Layout, LexedGrammar, collapse_regular};
use maskwright_lexing::LarkTerminal;
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::answer::reader::{Reader, Relation};
use crate::bytes::Tables;
use crate::ground::{InfillError, InfillLimits};
use crate::lattice::Unread;
use crate::lexed::{LexedReader, LexedTables, LexerForm};
use crate::rules::repeat_tails;

/// A grammar made ready for infilling over one vocabulary, with what is learned about the two on the way.
/// Cheap to clone; clones share everything, and so do the canvases and templates made from it, from any
/// thread.
#[derive(Clone)]
pub struct Infiller(Arc<Shared>);

struct Shared {
    sessions: Arc<EngineGrammar>,
    limits: InfillLimits,
    readers: Vec<Reader>,
}

/// A form of a grammar in which texts are looked for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// Rules over bytes.
    OverBytes(&'a Grammar),
    /// Rules over the tokens of Lark's lexer, and those that indentation makes if a layout says how.
    Lexed(&'a LexedGrammar<LarkTerminal>, Option<&'a Layout>, LexerForm),
}

impl Infiller {
    /// Prepares a grammar whose texts `sessions` accept. Texts are looked for in each of the `forms`, in
    /// their order, and count when a session accepts them. Takes time linear in the forms; what they say
    /// about the vocabulary is computed when a canvas or template first asks.
    ///
    /// # Errors
    /// If a limit is reached before a form is read, or the work is cancelled through `fuel`. Where no form
    /// can be read (a rule that opens a block or bracket and leaves it open), sessions alone decide, and many
    /// questions are left open.
    #[doc(hidden)]
    pub fn of(
        sessions: &Arc<EngineGrammar>,
        forms: &[(Form<'_>, Relation)],
        limits: InfillLimits,
        fuel: &Fuel,
    ) -> Result<Infiller, Error> {
        let vocabulary = sessions.vocabulary();
        let mut readers = Vec::with_capacity(forms.len());
        let mut refused = None;
        for &(form, relation) in forms {
            let reader = match form {
                Form::OverBytes(grammar) => over_bytes(grammar, relation, vocabulary, &limits, fuel),
                Form::Lexed(grammar, layout, form) => {
                    lexed(grammar, (layout, form), relation, vocabulary, &limits, fuel)
                }
            };
            match reader {
                Ok(reader) => readers.push(reader),
                Err(error) if error.is_cancelled() => return Err(error),
                // Its masks would be found one token at a time instead.
                Err(error) if error.is_limit() && relation == Relation::Same => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if readers.is_empty() {
            match refused {
                Some(error) if error.is_limit() => return Err(error),
                _ => readers.push(Reader::new(None, Relation::Near, Box::new(Unread))),
            }
        }
        Ok(Infiller(Arc::new(Shared { sessions: sessions.clone(), limits, readers })))
    }

    /// [`Infiller::of`] for a grammar over bytes, with sessions of its own.
    ///
    /// # Errors
    /// As [`Infiller::of`].
    #[doc(hidden)]
    pub fn new(
        grammar: &Grammar,
        vocabulary: Arc<Vocabulary>,
        limits: InfillLimits,
        fuel: &Fuel,
    ) -> Result<Infiller, Error> {
        let sessions = Compiler::new(vocabulary, Default::default()).compile(grammar.clone(), fuel)?;
        Infiller::of(&sessions, &[(Form::OverBytes(grammar), Relation::Same)], limits, fuel)
    }

    /// [`Infiller::of`] for a grammar over the tokens of Lark's basic lexer, with sessions of its own: a text
    /// is in the language iff that lexer uses it up, and the tokens that are not ignored are a sentence of
    /// the rules, with those that indentation makes if `layout` says how. Takes time linear in the rules, and
    /// in the states of the lexer.
    ///
    /// # Errors
    /// If the grammar declares terminals that `layout` does not make, no token sequence is in its language, a
    /// terminal cannot be had, a limit is reached, or the work is cancelled through `fuel`.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_infill::{Hole, Infiller, Part, Template};
    /// use maskwright_lark::{LarkConfig, builtin, parse_lark};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let tokens = ["1", "+", "(", ")", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
    /// let arithmetic = builtin("arithmetic").unwrap();
    /// let config = LarkConfig { lexer: arithmetic.lexer, ..LarkConfig::default() };
    /// let grammar = parse_lark(arithmetic.text, "arithmetic", &config, &Fuel::unlimited()).unwrap();
    /// let infiller = Infiller::lexed(&grammar.lexed, None, vocabulary, Default::default(), &Fuel::unlimited())?;
    /// let parts = |n| vec![Part::Text(b"(1".to_vec()), Part::Hole(Hole::Exactly(n)), Part::Text(b"1".to_vec())];
    /// assert_eq!(Template::new(&infiller, parts(1))?.complete()?, None, "the bracket is never closed");
    /// assert_eq!(Template::new(&infiller, parts(2))?.complete()?, Some(b"(1)+1".to_vec()));
    /// # Ok::<(), maskwright_infill::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn lexed(
        grammar: &LexedGrammar<LarkTerminal>,
        layout: Option<&Layout>,
        vocabulary: Arc<Vocabulary>,
        limits: InfillLimits,
        fuel: &Fuel,
    ) -> Result<Infiller, Error> {
        let compiler = Compiler::new(vocabulary, Default::default());
        let sessions = compiler.compile_lexed(grammar.clone(), layout.cloned(), fuel)?;
        Infiller::of(
            &sessions,
            &[(Form::Lexed(grammar, layout, LexerForm::Basic), Relation::Same)],
            limits,
            fuel,
        )
    }

    /// The sessions that judge texts.
    pub(crate) fn sessions(&self) -> &Arc<EngineGrammar> {
        &self.0.sessions
    }

    /// What looks for texts.
    pub(crate) fn readers(&self) -> &[Reader] {
        &self.0.readers
    }

    /// Whether the grammar names a token by its id.
    pub(crate) fn names(&self, token: TokenId) -> bool {
        let names =
            |reader: &Reader| reader.named.as_ref().is_some_and(|named| named.symbol(token).is_some());
        self.readers().iter().any(names)
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.0.sessions.vocabulary()
    }

    /// The limits.
    #[doc(hidden)]
    pub fn limits(&self) -> &InfillLimits {
        &self.0.limits
    }

    /// Whether the vocabulary has the token.
    pub(crate) fn check_token(&self, token: TokenId) -> Result<(), InfillError> {
        let n_vocab = self.vocabulary().n_vocab();
        let TokenId(id) = token;
        match token.index() < n_vocab {
            true => Ok(()),
            false => Err(InfillError::argument(format!(
                "token {id} is not in the vocabulary: its ids are below {n_vocab}"
            ))),
        }
    }
}

/// The reader of a grammar over bytes. What only sessions count or remember (repeated keys, limits on tokens)
/// it does not.
fn over_bytes(
    grammar: &Grammar,
    relation: Relation,
    vocabulary: &Arc<Vocabulary>,
    limits: &InfillLimits,
    fuel: &Fuel,
) -> Result<Reader, Error> {
    let is_watched = grammar.watched().is_some();
    let (grammar, token_limits) = grammar.clone().without_watch().without_token_limits();
    let is_wider = relation == Relation::Same && (is_watched || !token_limits.is_empty());
    let relation = if is_wider { Relation::Wider } else { relation };
    let (mut grammar, named) = NamedTokens::resolve(grammar, vocabulary, fuel)?;
    if limits.collapse_regular {
        grammar = collapse_regular(&repeat_tails(&grammar, fuel)?, fuel).map_err(GrammarError::from)?;
    }
    let tables = Tables::new(grammar, vocabulary.clone(), &limits.automaton, fuel)?;
    Ok(Reader::new(named, relation, Box::new(tables)))
}

/// The reader of a grammar over the tokens of a lexer.
fn lexed(
    grammar: &LexedGrammar<LarkTerminal>,
    (layout, form): (Option<&Layout>, LexerForm),
    relation: Relation,
    vocabulary: &Arc<Vocabulary>,
    limits: &InfillLimits,
    fuel: &Fuel,
) -> Result<Reader, Error> {
    let (grammar, layout, named) =
        NamedTokens::resolve_lexed(grammar.clone(), layout.cloned(), vocabulary, fuel)?;
    let tables =
        LexedTables::new(&grammar, (layout.as_ref(), form), vocabulary.clone(), limits.merge_alike, fuel)?;
    let reader = LexedReader::new(tables, limits.narrow_first);
    Ok(Reader::new(named, relation, Box::new(reader)))
}

impl std::fmt::Debug for Infiller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Infiller").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

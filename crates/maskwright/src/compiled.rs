//! What a compilation gives: sessions over the whole grammar, and infilling on request.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use maskwright_automata::Fuel;
use maskwright_grammar::Grammar;
use maskwright_infill::{InfillLimits, Infiller};
use maskwright_lark::{LarkGrammar, LexerKind};
use maskwright_vocabulary::Vocabulary;

use crate::{CompileOptions, Error};

/// Reads a grammar's source once more.
type Reader = dyn Fn(&Fuel) -> Result<Grammar, Error> + Send + Sync;

/// A grammar ready for use over one vocabulary; shared by sessions and threads.
///
/// It stands for the engine's compiled grammar ([`Deref`]), which [`Matcher::new`](crate::Matcher::new) takes, and
/// makes the [`Infiller`] that [`Template`](crate::Template) and [`Canvas`](crate::Canvas) take when one is first
/// asked for.
///
/// Rejected: keeping the parsed grammar for the infiller. Most grammars are never infilled, and a copy of each would
/// be part of every compilation; reading the source again takes as long as the first time, once. (Lark grammars are
/// kept: reading one again would look for its imports again, and they are few and small.)
///
/// ```
/// use maskwright::{Canvas, CanvasConfig, CompileOptions, Compiler, Matcher, TokenId, Tokenizer};
/// let tokens = ["a", "b", "ab", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[3])?);
/// let grammar = compiler.compile_regex("(ab)+", &CompileOptions::default())?;
/// assert_eq!(Matcher::new(&grammar).mask()?.len(), 2);
/// let infiller = grammar.infiller(&CompileOptions::default())?;
/// let mut canvas = Canvas::new(&infiller, &[None, Some(TokenId(0)), None], CanvasConfig::default())?;
/// assert_eq!(canvas.complete()?, Some(vec![TokenId(2), TokenId(0), TokenId(1)]));
/// # Ok::<(), maskwright::Error>(())
/// ```
pub struct CompiledGrammar {
    sessions: Arc<maskwright_engine::CompiledGrammar>,
    source: Source,
    infiller: Mutex<Option<Infiller>>,
    compile_fuel: u64,
}

/// What an infiller is made from.
enum Source {
    Scannerless(Box<Reader>),
    Lexed(Box<LarkGrammar>),
}

impl CompiledGrammar {
    /// `reader` gives the grammar that `sessions` was compiled from.
    pub(crate) fn new(
        sessions: Arc<maskwright_engine::CompiledGrammar>,
        compile_fuel: u64,
        reader: impl Fn(&Fuel) -> Result<Grammar, Error> + Send + Sync + 'static,
    ) -> Arc<CompiledGrammar> {
        let source = Source::Scannerless(Box::new(reader));
        Arc::new(CompiledGrammar { sessions, source, infiller: Mutex::default(), compile_fuel })
    }

    /// A grammar over the tokens of a lexer, which `sessions` was compiled from.
    pub(crate) fn lexed(
        sessions: Arc<maskwright_engine::CompiledGrammar>,
        compile_fuel: u64,
        grammar: LarkGrammar,
    ) -> Arc<CompiledGrammar> {
        let source = Source::Lexed(Box::new(grammar));
        Arc::new(CompiledGrammar { sessions, source, infiller: Mutex::default(), compile_fuel })
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.sessions.vocabulary()
    }

    /// The grammar made ready for infilling. Made on the first call, in time linear in the source; all calls give the
    /// same one, which is cheap to clone and shares what it learns.
    ///
    /// # Errors
    /// If the grammar has the contextual lexer, for which infilling is not known; a rule of a grammar with indentation leaves a
    /// block or bracket open; or a limit is reached.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, Hole, Part, Template, Tokenizer};
    /// let tokens = ["1", "2", ",", "[", "]", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[5])?);
    /// let options = CompileOptions::default();
    /// let list = compiler.compile_gbnf(r#"root ::= "[" [0-9] ("," [0-9])* "]""#, &options)?;
    /// let parts = vec![Part::Text(b"[1".to_vec()), Part::Hole(Hole::Exactly(3)), Part::Text(b"2]".to_vec())];
    /// let mut template = Template::new(&list.infiller(&options)?, parts)?;
    /// let text = template.complete()?.expect("a comma, a digit and a comma fit");
    /// assert!(text.starts_with(b"[1,") && text.ends_with(b",2]") && text.len() == 7);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn infiller(&self, options: &CompileOptions) -> Result<Infiller, Error> {
        if let Some(infiller) = &*self.lock_infiller() {
            return Ok(infiller.clone());
        }
        // Made without the lock: `options` may have a token whose watch calls foreign code.
        let fuel = options.fuel(self.compile_fuel);
        let (vocabulary, limits) = (self.vocabulary().clone(), InfillLimits::default());
        let made = match &self.source {
            Source::Scannerless(reader) => Infiller::new(&reader(&fuel)?, vocabulary, limits, &fuel),
            Source::Lexed(grammar) if grammar.lexer != LexerKind::Basic => {
                return Err(Error::no_contextual_infilling());
            }
            Source::Lexed(grammar) => {
                Infiller::lexed(&grammar.lexed, grammar.indentation.as_ref(), vocabulary, limits, &fuel)
            }
        };
        let made = made.map_err(Error::infiller)?;
        Ok(self.lock_infiller().get_or_insert(made).clone())
    }

    /// A panic of another thread leaves either no infiller or a whole one.
    fn lock_infiller(&self) -> MutexGuard<'_, Option<Infiller>> {
        self.infiller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the grammar reads the tokens of a lexer (Lark).
    pub fn is_lexed(&self) -> bool {
        matches!(self.source, Source::Lexed(_))
    }
}

impl Deref for CompiledGrammar {
    type Target = Arc<maskwright_engine::CompiledGrammar>;

    fn deref(&self) -> &Arc<maskwright_engine::CompiledGrammar> {
        &self.sessions
    }
}

impl fmt::Debug for CompiledGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledGrammar").field("is_lexed", &self.is_lexed()).finish_non_exhaustive()
    }
}

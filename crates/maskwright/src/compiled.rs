//! What a compilation gives: sessions over the whole grammar, and infilling on request.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use maskwright_automata::ByteSet;
use maskwright_engine::{EngineGrammar, Matcher, MatcherConfig};
use maskwright_infill::{Canvas, CanvasConfig, Form, Infiller, LexerForm, Part, Relation, Template};
use maskwright_json_schema::{Report, Status};
use maskwright_lark::{LexerKind, Tabs};
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::check::{Check, CheckConfig, check};
use crate::events::{Capture, Captures, Events, Labelled, LazyLabelled, Message};
use crate::source::Parsed;
use crate::special_text::unspelled;
use crate::words::SourceWords;
use crate::{CompileOptions, Error, ErrorKind, GrammarSource, GrammarWarning, Limits, lark};

/// A grammar ready for use over one vocabulary; shared by sessions and threads.
///
/// A [`matcher`](CompiledGrammar::matcher) follows one sequence; a [`template`](CompiledGrammar::template) or
/// [`canvas`](CompiledGrammar::canvas) fills in a text with known parts.
///
/// Rejected: keeping the parsed grammar for the infiller. Most grammars are never infilled, and a copy of
/// each would be part of every compilation; reading the source again takes as long as the first time, once.
///
/// # Example: masks, and filling in
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "b", "ab", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("(ab)+"), &CompileOptions::default())?;
/// assert_eq!(grammar.matcher().mask()?.len(), 2);
/// let mut canvas = grammar.canvas(&[None, Some(TokenId(0)), None])?;
/// assert_eq!(canvas.complete()?, Some(vec![TokenId(2), TokenId(0), TokenId(1)]));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: whole texts
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"type": "array", "items": {"type": "integer"}}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// assert!(grammar.check(b"[1, 2]", &Default::default())?.is_valid);
/// assert_eq!(grammar.parse(b"[1, 2]")?.value.as_deref(), Some("[1,2]"));
/// assert!(grammar.parse(b"[1, x]").is_err());
/// # Ok::<(), maskwright::Error>(())
/// ```
pub struct CompiledGrammar {
    sessions: Arc<EngineGrammar>,
    /// With all that it refers to.
    source: Arc<GrammarSource>,
    is_lexed: bool,
    report: Option<Report>,
    /// The bytes that its texts must have in some place and no token has.
    unspelled: ByteSet,
    infiller: Mutex<Option<Infiller>>,
    labelled: Arc<LazyLabelled>,
    captures: Option<Captures>,
    limits: Limits,
}

/// What reads a source with labels. The sessions' grammar may hold it, so it does not hold them.
fn labelled(
    sessions: &Arc<EngineGrammar>,
    source: &Arc<GrammarSource>,
    limits: &Limits,
) -> Arc<LazyLabelled> {
    let (sessions, source, limits) = (Arc::downgrade(sessions), source.clone(), limits.clone());
    Arc::new(LazyLabelled::new(move || {
        let gone = || Error::message(ErrorKind::Argument, "the grammar is gone");
        let sessions = sessions.upgrade().ok_or_else(gone)?;
        let fuel = CompileOptions::default().fuel(&limits);
        Labelled::new(&sessions, source.labelled(sessions.vocabulary(), &fuel)?, &fuel)
    }))
}

impl CompiledGrammar {
    /// `source` is what `sessions` was compiled from, with all that it refers to; `is_lexed` says whether it
    /// has a lexer, `unspelled` which bytes it writes and no token has.
    pub(crate) fn new(
        sessions: Arc<EngineGrammar>,
        source: GrammarSource,
        is_lexed: bool,
        report: Option<Report>,
        unspelled: ByteSet,
        captures: Option<Captures>,
        limits: Limits,
    ) -> CompiledGrammar {
        let source = Arc::new(source);
        let entries = report.iter().flat_map(Report::entries);
        let unsure = entries.filter(|entry| matches!(entry.status, Status::NotEnforced { .. }));
        let unsure = unsure.filter_map(|entry| Some(entry.tool?.to_owned())).collect();
        let labelled = labelled(&sessions, &source, &limits);
        if let Some(kind) = source.schemas() {
            let (labelled, source) = (labelled.clone(), source.clone());
            let document = LazyLock::new(Box::new(move || source.document()) as Box<_>);
            sessions.speak(Arc::new(SourceWords { kind, unsure, labelled, document }));
        }
        let report_bytes = report.as_ref().map_or(0, Report::memory_usage);
        sessions.count_beside(size_of::<CompiledGrammar>() + source.memory_usage() + report_bytes);
        CompiledGrammar {
            sessions,
            source,
            is_lexed,
            report,
            unspelled,
            infiller: Mutex::default(),
            labelled,
            captures,
            limits,
        }
    }

    /// A session at the beginning of a text.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
    /// let tokens = ["yes", "no", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
    /// let grammar = compiler.compile(&GrammarSource::choice(["no"]), &CompileOptions::default())?;
    /// let mut matcher = grammar.matcher();
    /// assert!(!matcher.accept_token(TokenId(0))? && matcher.accept_token(TokenId(1))?);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn matcher(&self) -> Matcher {
        Matcher::new(&self.sessions)
    }

    /// A session at the beginning of a text, with a limit on tokens, more tokens that end the text, or a
    /// limit on work.
    ///
    /// # Errors
    /// If a stop token is out of range or the stop tokens leave no text; if `max_tokens` is too small
    /// ([`Error::needed`] says which is not: from there on each is large enough); if a limit on work is
    /// reached.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, MatcherConfig, TokenId, Tokenizer};
    /// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
    /// let grammar = compiler.compile(&GrammarSource::regex("a+b?"), &CompileOptions::default())?;
    /// let mut matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(2))?;
    /// assert!(matcher.accept_token(TokenId(0))?);
    /// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(2)], "no other token is left");
    /// let mut config = MatcherConfig::default();
    /// config.stop_tokens.push(TokenId(1));
    /// let mut matcher = grammar.matcher_with(&config)?;
    /// assert!(matcher.accept_token(TokenId(0))? && matcher.accept_token(TokenId(1))? && matcher.is_terminated());
    /// let too_small = MatcherConfig::with_max_tokens(1);
    /// assert_eq!(grammar.matcher_with(&too_small).unwrap_err().needed(), Some(2));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn matcher_with(&self, config: &MatcherConfig) -> Result<Matcher, Error> {
        Matcher::with_config(&self.sessions, config)
    }

    /// A template: pieces of text and holes that together form one text of the grammar.
    ///
    /// # Errors
    /// As [`infiller`](CompiledGrammar::infiller) with the default options, and [`Template::new`].
    ///
    /// ```
    /// use maskwright::infill::{Hole, Part};
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
    /// let tokens = ["1", "+", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
    /// let sum = compiler.compile(&GrammarSource::regex(r"1(\+1)*"), &CompileOptions::default())?;
    /// let mut template = sum.template(vec![Part::Hole(Hole::Exactly(2)), Part::Text(b"1".to_vec())])?;
    /// assert_eq!(template.complete()?.as_deref(), Some(&b"1+1"[..]));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn template(&self, parts: Vec<Part>) -> Result<Template, Error> {
        Template::new(&self.infiller(&CompileOptions::default())?, parts)
    }

    /// A canvas: positions of one token each, known or masked (`None`). [`Canvas::new`] also takes a
    /// configuration, with the tokens for padding and masked positions.
    ///
    /// # Errors
    /// As [`infiller`](CompiledGrammar::infiller) with the default options, and [`Canvas::new`].
    pub fn canvas(&self, positions: &[Option<TokenId>]) -> Result<Canvas, Error> {
        Canvas::new(&self.infiller(&CompileOptions::default())?, positions, CanvasConfig::default())
    }

    /// Says how far a text is in the language, and if it is not, where it leaves it and why. In time linear
    /// in the text for usual grammars. [`Limits::mask_work`] does not apply.
    ///
    /// # Errors
    /// If the text is so ambiguous that another limit is reached, or the tokenizer of `config` has no tokens
    /// for the text.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
    /// let tokenizer = Tokenizer::from_tokens(vec![b"</s>".to_vec()], &[TokenId(0)])?;
    /// let ini = GrammarSource::gbnf("root ::= (name \" = \" [0-9]+ \"\\n\")+\nname ::= [a-z]+");
    /// let ini = Compiler::new(&tokenizer).compile(&ini, &CompileOptions::default())?;
    /// let check = ini.check(b"host = 1\nport = = 80\n", &Default::default())?;
    /// assert!(!check.is_valid && !check.is_prefix);
    /// assert_eq!((check.offset, check.line, check.column), (16, 2, 8));
    /// assert_eq!(check.reason.unwrap().to_string(), r#""=" cannot come here"#);
    /// assert!(ini.check(b"host = 1\n", &Default::default())?.is_valid);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn check(&self, text: &[u8], config: &CheckConfig<'_>) -> Result<Check, Error> {
        check(&self.matcher().unbounded(), text, config)
    }

    /// What a session's text says while it is written: text, reasoning, calls of tools with their arguments,
    /// or the value of a JSON Schema. Other texts are text. The source is read again on the first call, in
    /// linear time; masks and sessions know nothing of it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn events(&self) -> Result<Events, Error> {
        Events::new(&self.labelled.get()?)
    }

    /// The texts of the [captured](GrammarSource::capture) rules in a session's text, in the order of their
    /// beginnings, as far as all readings of the text agree. Takes time in the text.
    ///
    /// # Errors
    /// If no rule is captured, or a limit is reached.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
    /// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
    /// let text = "start: \"let\" name \"=\" /[0-9]+/\nname: /[a-z]+/\n%ignore \" \"\n";
    /// let source = GrammarSource::lark(text, Default::default()).capture(["name"]);
    /// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
    /// let mut matcher = grammar.matcher();
    /// assert!(matcher.accept_bytes(b"let  x = ")?);
    /// let captures = grammar.captures(&matcher)?;
    /// assert_eq!((&*captures[0].name, captures[0].start, captures[0].end), ("name", 5, Some(6)));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn captures(&self, matcher: &Matcher) -> Result<Vec<Capture>, Error> {
        match &self.captures {
            Some(captures) => captures.of(matcher, false),
            None => Err(Error::message(ErrorKind::Argument, "the grammar was compiled without `capture`")),
        }
    }

    /// Reads a whole text: what it says of text, reasoning and calls.
    ///
    /// # Errors
    /// If the text is not one of the grammar, or a limit is reached.
    pub fn parse(&self, text: &[u8]) -> Result<Message, Error> {
        let mut matcher = self.matcher().unbounded();
        if !matcher.accept_bytes(text)? || !matcher.is_accepting() {
            let check = self.check(text, &CheckConfig::default())?;
            return Err(Error::message(ErrorKind::Argument, check.to_string()));
        }
        self.message(&matcher)
    }

    /// The same for a text as tokens, with or without one that ends it.
    ///
    /// # Errors
    /// As [`parse`](CompiledGrammar::parse).
    pub fn parse_tokens(&self, tokens: &[TokenId]) -> Result<Message, Error> {
        let mut matcher = self.matcher().unbounded();
        let n_read = matcher.accept_tokens(tokens)?;
        if n_read < tokens.len() || !matcher.is_accepting() {
            let message = match n_read < tokens.len() {
                true => format!("the token at index {n_read} is not allowed there"),
                false => {
                    format!("the tokens end too early: at least one more must follow the {n_read} given")
                }
            };
            return Err(Error::message(ErrorKind::Argument, message));
        }
        self.message(&matcher)
    }

    /// What the whole text of a session says.
    fn message(&self, matcher: &Matcher) -> Result<Message, Error> {
        let mut message = Message::of(&self.events()?.of_whole(matcher)?);
        if let Some(captures) = &self.captures {
            message.captures = captures.of(matcher, true)?;
        }
        Ok(message)
    }

    /// The kind of source that it was compiled from; see [`GrammarSource::kind`].
    pub fn kind(&self) -> &str {
        self.source.kind()
    }

    /// What of a JSON Schema, or of a structural tag, is enforced, keyword by keyword; `None` for other
    /// sources.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Warnings about strings of a GBNF or Lark grammar that contain the name of a special token, which they
    /// do not match, and about bytes that the grammar writes and no token has. Reads the source again, in
    /// linear time.
    pub fn warnings(&self) -> Vec<GrammarWarning> {
        let mut warnings = self.source.warnings(self.vocabulary());
        warnings.extend(unspelled(&self.unspelled));
        warnings
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.sessions.vocabulary()
    }

    /// The grammar made ready for infilling. Made on the first call, in time linear in the source; all calls
    /// give the same one, which is cheap to clone and shares what it learns.
    ///
    /// # Errors
    /// If a rule of a grammar with indentation leaves a block or bracket open, strings of the grammar name
    /// tokens that end texts ([`GrammarSource::special_tokens_in_text`]), or a limit is reached.
    ///
    /// ```
    /// use maskwright::infill::{Hole, Part};
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Template, TokenId, Tokenizer};
    /// let tokens = ["1", "2", ",", "[", "]", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(5)])?);
    /// let options = CompileOptions::default();
    /// let list = GrammarSource::gbnf(r#"root ::= "[" [0-9] ("," [0-9])* "]""#);
    /// let list = compiler.compile(&list, &options)?;
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
        let fuel = options.fuel(&self.limits);
        let limits = self.limits.infill();
        if self.sessions.has_named_ends() {
            let message =
                "infilling cannot tell which token ends a text, and strings of this grammar name such tokens";
            let hint =
                "compile it without special_tokens_in_text, or without the names of tokens that end texts";
            return Err(lark::with_hint(message, hint));
        }
        let parsed = self.source.read(Some(self.vocabulary()), &fuel)?.0;
        let near = self.source.near(self.vocabulary(), &options.fuel(&self.limits))?;
        let near = near.iter().map(|(grammar, relation)| (Form::OverBytes(grammar), *relation));
        // In the order in which they are asked.
        let forms: Vec<(Form<'_>, Relation)> = match &parsed {
            Parsed::OverBytes(grammar, _) => {
                near.chain([(Form::OverBytes(grammar), Relation::Same)]).collect()
            }
            Parsed::Lark(lark) => match &lark.over_bytes {
                Some(grammar) => vec![(Form::OverBytes(grammar), Relation::Same)],
                None => {
                    let lexed = |form| Form::Lexed(&lark.lexed, lark.indentation.as_ref(), form);
                    // Infilling reads no lines that are indented by such tabs.
                    let is_apart = lark.indentation.as_ref().is_some_and(|layout| layout.tabs == Tabs::Apart);
                    let wider = if is_apart { Relation::Near } else { Relation::Wider };
                    match lark.lexer {
                        LexerKind::Basic => vec![(lexed(LexerForm::Basic), Relation::Same)],
                        _ => vec![
                            (lexed(LexerForm::ContextualStrict), Relation::Near),
                            (lexed(LexerForm::ContextualFree), wider),
                        ],
                    }
                }
            },
        };
        let made = Infiller::of(&self.sessions, &forms, limits, &fuel)?;
        Ok(self.lock_infiller().get_or_insert(made).clone())
    }

    /// A panic of another thread leaves either no infiller or a whole one.
    fn lock_infiller(&self) -> MutexGuard<'_, Option<Infiller>> {
        self.infiller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the grammar reads the tokens of a lexer (Lark).
    pub fn is_lexed(&self) -> bool {
        self.is_lexed
    }

    /// The grammar as bytes, for [`Compiler::deserialize`](crate::Compiler::deserialize): its source, with
    /// the files that it refers to. It is for any vocabulary.
    ///
    /// # Errors
    /// If the grammar was built by hand, and so has no source.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
    /// let tokens = ["yes", "no", "n", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
    /// let options = CompileOptions::default();
    /// let saved = compiler.compile(&GrammarSource::choice(["no"]), &options)?.serialize()?;
    /// let compiled = compiler.deserialize(&saved, &options)?;
    /// assert_eq!(Matcher::new(&compiled).mask()?.len(), 2);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn serialize(&self) -> Result<Vec<u8>, Error> {
        self.source.serialize()
    }

    /// What it was compiled from, with the documents and files that were read.
    pub fn source(&self) -> &GrammarSource {
        &self.source
    }
}

/// For our own crates.
#[doc(hidden)]
impl Deref for CompiledGrammar {
    type Target = Arc<EngineGrammar>;

    fn deref(&self) -> &Arc<EngineGrammar> {
        &self.sessions
    }
}

impl fmt::Debug for CompiledGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledGrammar")
            .field("kind", &self.kind())
            .field("n_vocab", &self.vocabulary().n_vocab())
            .field("is_lexed", &self.is_lexed())
            .finish_non_exhaustive()
    }
}

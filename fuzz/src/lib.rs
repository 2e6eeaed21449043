//! What the fuzz targets share: small limits, a small vocabulary, and what must hold of errors and sessions.
//!
//! Inputs are bytes of options, then parts with [`BETWEEN`] between them, which no text contains. A check
//! that fails is a panic. Within [`limits`] each input takes less than a second, so whatever takes longer, or
//! more memory than libFuzzer allows, is a finding too.

pub mod schemas;
pub mod tokenizers;

use std::sync::{Arc, LazyLock};

use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, ErrorKind, GrammarSource, Limits, MaskStatus, Matcher,
    MatcherConfig, TokenId, Tokenizer, mask_contains, mask_words,
};

/// What stands between the parts of an input: a byte that UTF-8 never has.
pub const BETWEEN: u8 = 0xff;

/// The tokens beside the bytes: what ends in the middle of a character, spans JSON's punctuation and ends
/// lines.
const LONGER: [&[u8]; 26] = [
    b"ab",
    b"abc",
    b"aa",
    b"bb",
    b"\"a",
    b"a\"",
    b"{\"",
    b"\":",
    b"\", \"",
    b"\"]",
    b"}}",
    b"[[",
    b"1]",
    b"12",
    b"00",
    b"0.",
    b"e+",
    b"true",
    b"null",
    b"  ",
    b"\n ",
    b"\n\n",
    b"\xc3\xa9",
    b"\xe2\x82",
    b"\xac",
    b"\\u00",
];

/// The token that ends a text.
pub const EOS: TokenId = TokenId(256 + LONGER.len() as u32);

/// All bytes, some longer tokens, a special one and [`EOS`].
pub static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.extend(LONGER.map(<[u8]>::to_vec));
    tokens.extend([b"</s>".to_vec(), b"<call>".to_vec()]);
    Tokenizer::from_tokens_with_special(tokens, &[EOS], &[TokenId(EOS.0 + 1)]).expect("the tokens differ")
});

/// What one input may spend: a tenth of a second or so of a usual core without a sanitizer.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.compile_work = 200_000;
    limits.compile_bytes = 32 << 20;
    limits.max_threads = 400;
    limits.max_calls = 4_000;
    limits.mask_work = Some(100_000);
    limits.row_cache_bytes = 8 << 20;
    limits.automaton_bytes = 16 << 20;
    limits.machine_bytes = 16 << 20;
    limits.memory_bytes = 64 << 20;
    limits.max_states = 2_000;
    limits.max_residue_size = 4_000;
    limits.liveness_fuel = 20_000;
    limits.infill_work = 150_000;
    limits.max_positions = 64;
    limits
}

/// A compiler for [`TOKENIZER`] within [`limits`], without what earlier inputs have left in it. A new one
/// takes longer than most inputs.
pub fn compiler() -> Compiler {
    static COMPILER: LazyLock<Compiler> = LazyLock::new(|| Compiler::with_limits(&TOKENIZER, limits()));
    COMPILER.clear_caches();
    COMPILER.clone()
}

/// The options, the first `n` bytes, and the parts after them; `None` if that many bytes are not there.
pub fn parts(data: &[u8], n: usize) -> Option<(&[u8], Vec<&[u8]>)> {
    let (options, rest) = data.split_at_checked(n)?;
    Some((options, rest.split(|&byte| byte == BETWEEN).collect()))
}

/// A part as text; `None` if it is none or is not there.
pub fn text<'a>(parts: &[&'a [u8]], index: usize) -> Option<&'a str> {
    std::str::from_utf8(parts.get(index)?).ok()
}

/// The grammar; `None` with a proper error.
pub fn compile(compiler: &Compiler, source: &GrammarSource) -> Option<Arc<CompiledGrammar>> {
    proper(compiler.compile(source, &CompileOptions::default()))
}

/// The same for the text of a source. Where it counts to many thousands, texts take long by rights, and only
/// the first mask is looked at.
pub fn compile_text(compiler: &Compiler, text: &str, source: &GrammarSource) -> Option<Arc<CompiledGrammar>> {
    let grammar = compile(compiler, source)?;
    let is_far = text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 4);
    if is_far {
        check_mask(&grammar, &mut grammar.matcher());
    }
    (!is_far).then_some(grammar)
}

/// A result; an error must be [proper](check_error).
pub fn proper<T>(result: Result<T, Error>) -> Option<T> {
    result.inspect_err(check_error).ok()
}

/// An error is no panic in disguise, says something, quotes only the beginning of what is long, and says
/// where it is or which limit was reached.
pub fn check_error(error: &Error) {
    let message = error.to_string();
    assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Cancelled), "{message}");
    assert!(!message.is_empty() && message.len() < 8_000, "{} bytes: {message}", message.len());
    let is_placed = error.line().is_some() || error.pointer().is_some();
    // Of the grammar as a whole.
    let is_general = ["matches no text", "there is no rule", "is used but", "no text", "choice", "saved"];
    let is_about_all = is_general.iter().any(|part| message.contains(part));
    match error.kind() {
        ErrorKind::Grammar | ErrorKind::Schema => assert!(is_placed || is_about_all, "no place: {error:?}"),
        _ => {}
    }
}

/// A call of a session, which may only fail at a limit.
fn limited<T>(result: Result<T, Error>) -> Option<T> {
    result.inspect_err(|error| assert!(error.is_limit(), "{error:?}")).ok()
}

/// What must hold of sessions that read `text`, and of a whole check of it. Returns whether the text is in
/// the language; `None` if a limit was reached.
pub fn check_text(grammar: &Arc<CompiledGrammar>, text: &[u8]) -> Option<bool> {
    let start = grammar.matcher();
    let n_valid = limited(start.validate_bytes(text))?;
    // One place takes most of the time of an input.
    let place = if text.len() % 3 == 0 { n_valid / 2 } else { n_valid };
    let mut matcher = start.fork();
    let is_read = limited(matcher.accept_bytes(&text[..place]))?;
    assert!(is_read, "{place} bytes are read one by one");
    check_mask(grammar, &mut matcher)?;
    check_finish(grammar, &matcher)?;
    let mut matcher = start.fork();
    if n_valid < text.len() {
        let refused = limited(matcher.accept_bytes(&text[..=n_valid]))?;
        assert!(!refused && matcher.n_steps() == 0, "a refused text leaves a session as it was");
    }
    let is_valid = n_valid == text.len() && limited(matcher.accept_bytes(text))? && matcher.is_accepting();
    let check = limited(grammar.check(text, &Default::default()))?;
    assert_eq!((check.is_valid, check.offset), (is_valid, n_valid), "{check}");
    assert_eq!(check.reason.is_none(), is_valid);
    Some(is_valid)
}

/// The mask has the tokens that are accepted, and these are the ones whose bytes are, or which the grammar
/// names.
pub fn check_mask(grammar: &CompiledGrammar, matcher: &mut Matcher) -> Option<()> {
    let names_tokens = names_tokens(grammar);
    let n_vocab = matcher.grammar().vocabulary().n_vocab();
    let mut words = vec![0; mask_words(n_vocab)];
    let status = limited(matcher.fill_mask(&mut words))?;
    assert!(words.iter().any(|&word| word != 0), "a mask is never empty");
    for token in (0..n_vocab as u32).map(TokenId) {
        let is_in = mask_contains(&words, token);
        let mut fork = matcher.fork();
        let Some(is_accepted) = limited(fork.accept_token(token)) else { continue };
        assert!(is_accepted || !is_in, "{token:?} is in the mask and refused");
        assert!(
            is_in || !is_accepted || status == MaskStatus::Bound,
            "{token:?} is accepted, not in the mask"
        );
        if is_accepted {
            fork.rollback(1).expect("one token was accepted");
            assert_eq!(fork.text(), matcher.text());
        }
        let vocabulary = matcher.grammar().vocabulary().clone();
        let is_longer = |bytes: &&[u8]| bytes.len() > 1 && status == MaskStatus::Exact;
        let Some(bytes) = vocabulary.token_bytes(token).filter(is_longer) else { continue };
        let Some(is_read) = limited(matcher.fork().accept_bytes(bytes)) else { continue };
        let is_same = is_read == is_in || is_in && names_tokens;
        assert!(is_same, "{token:?} and its bytes {:?}", bytes.escape_ascii().to_string());
    }
    if status == MaskStatus::Exact && !matcher.grammar().has_named_ends() && !names_tokens {
        let ends = matcher.grammar().vocabulary().eos_token_ids().to_vec();
        let is_end = ends.iter().all(|&end| mask_contains(&words, end));
        assert_eq!(is_end, matcher.is_accepting(), "the end is allowed where the text is complete");
    }
    Some(())
}

/// What is forced is read, and the completion that a session knows completes its text in as many tokens as it
/// says.
fn check_finish(grammar: &CompiledGrammar, matcher: &Matcher) -> Option<()> {
    let forced = limited(matcher.forced_bytes())?;
    // Tokens that the grammar names are in them by their names.
    let is_read = limited(matcher.fork().accept_bytes(&forced))?;
    assert!(is_read || names_tokens(grammar), "forced bytes are refused");
    let tokens = finish(matcher)?;
    let mut fork = matcher.fork();
    for &token in &tokens {
        // With a limit on work, what is not decided is refused unless a mask has shown it.
        if !limited(fork.accept_token(token))? {
            limited(fork.mask())?;
            assert!(fork.mask_status() == MaskStatus::Bound, "{token:?} of a completion is refused");
            return None;
        }
    }
    assert!(fork.is_terminated() || fork.is_accepting(), "a completion ends the text");
    Some(())
}

/// A completion, unless it is long, which takes no skill but time.
fn finish(matcher: &Matcher) -> Option<Vec<TokenId>> {
    let least = matcher.tokens_to_finish().inspect_err(check_error).ok()?.n_tokens;
    if least > 1_000 {
        return None;
    }
    let tokens = matcher.finish().inspect_err(check_error).ok()?;
    assert_eq!(tokens.len(), least);
    Some(tokens)
}

/// Whether the source may name tokens, which are no text then.
pub fn names_tokens(grammar: &CompiledGrammar) -> bool {
    let saved = grammar.serialize().unwrap_or_default();
    ["<[", "<call>", "</s>"].iter().any(|name| saved.windows(name.len()).any(|part| part == name.as_bytes()))
}

/// A text of the grammar: tokens of its masks, chosen by `choices`, then a completion. `None` if a limit was
/// reached.
pub fn walk(grammar: &Arc<CompiledGrammar>, choices: &[u8]) -> Option<Vec<u8>> {
    let mut matcher = grammar.matcher();
    for &choice in choices.iter().take(20) {
        let allowed: Vec<TokenId> = limited(matcher.mask())?.iter().collect();
        let token = *allowed.get(usize::from(choice) * allowed.len() / 256).expect("a mask is never empty");
        assert!(limited(matcher.accept_token(token))?, "{token:?} is in the mask and refused");
        if matcher.is_terminated() {
            return Some(matcher.text());
        }
    }
    let tokens = finish(&matcher)?;
    let is_known = |token: &&TokenId| matcher.grammar().vocabulary().token_bytes(**token).is_some();
    let rest = TOKENIZER.decode(&tokens.iter().filter(is_known).copied().collect::<Vec<_>>());
    Some([matcher.text(), rest].concat())
}

/// Within a limit on tokens that a session takes, each choice of tokens ends a text within it.
pub fn check_limited_walk(grammar: &Arc<CompiledGrammar>, choices: &[u8]) -> Option<()> {
    let least = grammar.matcher().tokens_to_finish().inspect_err(check_error).ok()?.n_tokens;
    let more = usize::from(choices.first().copied().unwrap_or(0) % 8);
    let max_tokens = least + more;
    let mut matcher = limited(grammar.matcher_with(&MatcherConfig::with_max_tokens(max_tokens)))?;
    for n_tokens in 0..max_tokens.min(16) {
        let allowed: Vec<TokenId> = limited(matcher.mask())?.iter().collect();
        let choice = choices.get(n_tokens + 1).copied().unwrap_or(255);
        let token = *allowed.get(usize::from(choice) * allowed.len() / 256)?;
        assert!(limited(matcher.accept_token(token))?, "{token:?} is in the mask and refused");
        if matcher.is_terminated() {
            return Some(());
        }
    }
    assert!(max_tokens > 16 || matcher.is_accepting(), "no end within {max_tokens} tokens");
    Some(())
}

//! Sessions of `maskwright.h`.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use maskwright::{
    CancelToken, CompiledGrammar, Error, ErrorKind, Events, MaskStatus, Matcher, TokenCountStatus, TokenId,
    Tokenizer, bindings, stop,
};

use super::error::{put_text, report};
use super::{ErrorInfo, MwCancel, MwGrammar, Status};
use crate::guard::{argument, caught};
use crate::pointers::{
    Opaque, clear, free, get, get_mut, give_to, items, items_mut, optional_text, place, put, put_tokens,
};

/// One text under a grammar: the tokens so far, and which may come next.
pub struct MwSession {
    _opaque: [u8; 0],
}

impl Opaque for MwSession {
    type Inner = Session;
    const NAME: &'static str = "session";
}

/// Tokens of the last mask may be missing; those in it are allowed.
pub const MW_MASK_IS_BOUND: u32 = 1;
/// The last mask allows every token, and need not be applied.
pub const MW_MASK_IS_FULL: u32 = 2;

/// A matcher, and what its calls need.
pub(crate) struct Session {
    matcher: Matcher,
    grammar: Arc<CompiledGrammar>,
    tokenizer: Tokenizer,
    events: Option<Events>,
    cancel: Option<CancelToken>,
    /// Whether a call panicked.
    is_broken: bool,
}

impl Session {
    /// Does something with the matcher, unless that is cancelled.
    fn work<T>(&mut self, call: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Error> {
        if self.is_broken {
            return Err(Error::message(
                ErrorKind::Internal,
                "the session is broken: an earlier call has met a bug",
            ));
        }
        let cancelled = || Error::message(ErrorKind::Cancelled, "the work was cancelled");
        let cancel = self.cancel.clone();
        let result = caught(|| match cancel {
            None => call(self),
            Some(cancel) if cancel.is_cancelled() => Err(cancelled()),
            Some(cancel) => {
                let before = self.matcher.fork();
                match stop::watched(move || cancel.is_cancelled(), || call(self)) {
                    (_, true) => {
                        // What the call has returned, or done, says nothing.
                        self.matcher = before;
                        Err(cancelled())
                    }
                    (result, false) => result,
                }
            }
        });
        self.is_broken = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Internal);
        result
    }

    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<u32, Error> {
        self.work(|session| {
            let status = session.matcher.fill_mask(mask)?;
            let bound = if status == MaskStatus::Bound { MW_MASK_IS_BOUND } else { 0 };
            Ok(bound | if session.matcher.mask_is_full() { MW_MASK_IS_FULL } else { 0 })
        })
    }
}

/// A session at the beginning of a text. `options`: JSON, `{"max_tokens": 200, "stop_token_ids": [5]}` (the
/// text is complete within so many tokens, the one that ends it included; tokens that end it too), or NULL.
/// Result: `session`, to be freed with `mw_session_free`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_new(
    grammar: *const MwGrammar,
    options: *const c_char,
    session: *mut *mut MwSession,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(session) };
    let call = || {
        // SAFETY: the caller's promise.
        let (grammar, options) = unsafe { (get(grammar)?, optional_text(options, "the options")?) };
        let matcher = match options {
            None => grammar.compiled.matcher(),
            Some(options) => grammar.compiled.matcher_with(&bindings::matcher_config(options)?)?,
        };
        let made = Session {
            matcher,
            grammar: grammar.compiled.clone(),
            tokenizer: grammar.compiler.tokenizer().clone(),
            events: None,
            cancel: None,
            is_broken: false,
        };
        // SAFETY: as above.
        unsafe { give_to(session, made, "where to put the session") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Frees a session; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_free(session: *mut MwSession) {
    // SAFETY: the caller's promise.
    unsafe { free(session) };
}

/// An independent session in the same state, at a cost that does not depend on the text's length. Result:
/// `clone`, to be freed with `mw_session_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_clone(
    session: *mut MwSession,
    clone: *mut *mut MwSession,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(clone) };
    let work = |session: &mut Session| {
        let (grammar, tokenizer) = (session.grammar.clone(), session.tokenizer.clone());
        let matcher = session.matcher.fork();
        let cancel = session.cancel.clone();
        let made = Session { matcher, grammar, tokenizer, events: None, cancel, is_broken: false };
        // SAFETY: the caller's promise.
        unsafe { give_to(clone, made, "where to put the clone") }
    };
    // SAFETY: as above.
    unsafe { with(session, error, work) }
}

/// Makes later calls of this session end with `MW_STATUS_CANCELLED` once `cancel` is cancelled; NULL
/// removes the token. A call that is cancelled leaves the session as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_cancel_with(
    session: *mut MwSession,
    cancel: *const MwCancel,
    error: *mut *mut ErrorInfo,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let token = if cancel.is_null() { None } else { Some(unsafe { get(cancel) }?.clone()) };
        // SAFETY: as above.
        unsafe { get_mut(session) }?.cancel = token;
        Ok(())
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Runs `work` on the session of a pointer.
///
/// # Safety
/// That of the function of C that calls it.
unsafe fn with(
    session: *mut MwSession,
    error: *mut *mut ErrorInfo,
    work: impl FnOnce(&mut Session) -> Result<(), Error>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { report(error, || get_mut(session)?.work(work)) }
}

/// The same for work that has a result, which goes to `to`. Nothing is done without a place for it.
///
/// # Safety
/// That of the function of C that calls it.
unsafe fn with_result<T>(
    session: *mut MwSession,
    error: *mut *mut ErrorInfo,
    (to, what): (*mut T, &str),
    work: impl FnOnce(&mut Session) -> Result<T, Error>,
) -> Status {
    let work = |session: &mut Session| {
        // SAFETY: the caller's promise.
        unsafe { place(to, what) }?.write(work(session)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { with(session, error, work) }
}

/// The same for tokens, of which the buffer holds as many as it can.
///
/// # Safety
/// That of the function of C that calls it.
unsafe fn with_tokens(
    session: *mut MwSession,
    error: *mut *mut ErrorInfo,
    (ids, capacity, n_ids): (*mut u32, usize, *mut usize),
    work: impl FnOnce(&mut Session) -> Result<Vec<TokenId>, Error>,
) -> Status {
    // SAFETY: the caller's promise.
    let work = |session: &mut Session| unsafe { put_tokens(&work(session)?, ids, capacity) };
    // SAFETY: as above.
    unsafe { with_result(session, error, (n_ids, "where to put the number of ids"), work) }
}

/// The same for a text, which C frees.
///
/// # Safety
/// That of the function of C that calls it.
unsafe fn with_text(
    session: *mut MwSession,
    error: *mut *mut ErrorInfo,
    (to, what): (*mut *mut c_char, &str),
    work: impl FnOnce(&mut Session) -> Result<String, Error>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(to) };
    // SAFETY: as above.
    let work = |session: &mut Session| unsafe { put_text(to, work(session)?, what) };
    // SAFETY: as above.
    unsafe { with(session, error, work) }
}

/// Writes the mask of the tokens that may come next to `n_words` words: at least `mw_tokenizer_mask_words`,
/// those beyond are cleared. `flags`: MW_MASK_IS_BOUND and MW_MASK_IS_FULL; may be NULL. After the end of the
/// text the mask has the tokens that end it; if the tokenizer has none, all tokens, as soon as nothing can
/// follow. If the call fails, don't use the words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_fill_mask(
    session: *mut MwSession,
    mask: *mut u32,
    n_words: usize,
    flags: *mut u32,
    error: *mut *mut ErrorInfo,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (session, mask) = unsafe { (get_mut(session)?, items_mut(mask, n_words, "the mask")?) };
        let filled = session.fill_mask(mask)?;
        if !flags.is_null() {
            // SAFETY: it is not NULL, and the caller's promise.
            unsafe { put(flags, filled, "the flags") }?;
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Fills a row of `masks` for each of `n` sessions, which must all be different; `words_per_row` words from
/// one row to the next. `n_threads` at most are at work, 0: one for each core. `statuses`: what became of
/// each row; may be NULL. A row that fails is cleared, and the call returns the status of the first that did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_fill_masks(
    sessions: *const *mut MwSession,
    n: usize,
    masks: *mut u32,
    words_per_row: usize,
    n_threads: usize,
    statuses: *mut Status,
    error: *mut *mut ErrorInfo,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let sessions = unsafe { items(sessions, n, "the sessions") }?;
        let mut sorted = sessions.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(argument("a session is there twice"));
        }
        let n_words = n.checked_mul(words_per_row).ok_or_else(|| argument("the rows are too long"))?;
        if words_per_row == 0 && n > 0 {
            return Err(argument("a row has no words"));
        }
        // SAFETY: as above.
        let masks = unsafe { items_mut(masks, n_words, "the masks") }?;
        let mut jobs = Vec::with_capacity(n);
        for (&session, row) in sessions.iter().zip(masks.chunks_mut(words_per_row.max(1))) {
            // SAFETY: as above; no session is there twice.
            jobs.push((unsafe { get_mut(session) }?, row, Ok(())));
        }
        fill_all(&mut jobs, n_threads);
        for (at, (.., result)) in jobs.iter().enumerate().filter(|_| !statuses.is_null()) {
            let result = result.clone();
            // SAFETY: as above; there is no error to write.
            unsafe { put(statuses.add(at), report(std::ptr::null_mut(), || result), "the statuses") }?;
        }
        jobs.into_iter().try_for_each(|(.., result)| result)
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// A session, its row, and what became of it.
type Job<'a> = (&'a mut Session, &'a mut [u32], Result<(), Error>);

fn fill_all(jobs: &mut [Job<'_>], n_threads: usize) {
    let fill = |job: &mut Job<'_>| {
        let (session, row, result) = job;
        *result = session.fill_mask(row).map(|_| ());
        if result.is_err() {
            row.fill(0);
        }
    };
    let n_threads = match n_threads {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        n => n,
    };
    let n_helpers = n_threads.min(jobs.len()).saturating_sub(1);
    if n_helpers == 0 {
        return jobs.iter_mut().for_each(fill);
    }
    let left = Mutex::new(jobs.iter_mut());
    // The lock is held while a job is taken, not while it is done.
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(job) = next() {
            fill(job);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..n_helpers {
            // Without a helper the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// Accepts a token if it is allowed. Result: `is_accepted`. A refused token changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_accept(
    session: *mut MwSession,
    id: u32,
    is_accepted: *mut bool,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| session.matcher.accept_token(TokenId(id));
    // SAFETY: the caller's promise.
    unsafe { with_result(session, error, (is_accepted, "where to put whether it is accepted"), work) }
}

/// Accepts tokens until one is refused. Result: `n_accepted`, how many were accepted, also if the call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_accept_tokens(
    session: *mut MwSession,
    ids: *const u32,
    n_ids: usize,
    n_accepted: *mut usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| {
        // SAFETY: the caller's promise.
        let (ids, to) =
            unsafe { (items(ids, n_ids, "the ids")?, place(n_accepted, "where to put the number")?) };
        let to = to.write(0);
        for &id in ids {
            if !session.matcher.accept_token(TokenId(id))? {
                break;
            }
            *to += 1;
        }
        Ok(())
    };
    // SAFETY: as above.
    let status = unsafe { with(session, error, work) };
    if status == Status::Cancelled {
        // SAFETY: as above. The session is as before.
        let _ = unsafe { put(n_accepted, 0, "") };
    }
    status
}

/// Accepts a text if some text of the grammar continues with it. Result: `is_accepted`. A rollback undoes it
/// in one step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_accept_bytes(
    session: *mut MwSession,
    text: *const u8,
    n_bytes: usize,
    is_accepted: *mut bool,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    let work =
        |session: &mut Session| session.matcher.accept_bytes(unsafe { items(text, n_bytes, "the text") }?);
    // SAFETY: as above.
    unsafe { with_result(session, error, (is_accepted, "where to put whether it is accepted"), work) }
}

/// How many of the tokens would be accepted, one after the other. The session does not change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_validate(
    session: *mut MwSession,
    ids: *const u32,
    n_ids: usize,
    n_accepted: *mut usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| {
        // SAFETY: the caller's promise.
        let ids = unsafe { items(ids, n_ids, "the ids") }?;
        let ids: Vec<TokenId> = ids.iter().map(|&id| TokenId(id)).collect();
        session.matcher.validate_tokens(&ids)
    };
    // SAFETY: as above.
    unsafe { with_result(session, error, (n_accepted, "where to put the number"), work) }
}

/// Undoes the last `n` steps: tokens, and calls of `mw_session_accept_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_rollback(
    session: *mut MwSession,
    n: usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(session, error, |session| session.matcher.rollback(n)) }
}

/// Goes back to the beginning of the text, which also mends a session that has met a bug.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_reset(session: *mut MwSession, error: *mut *mut ErrorInfo) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let session = unsafe { get_mut(session) }?;
        session.matcher.reset();
        session.events = None;
        session.is_broken = false;
        Ok(())
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Result: `is_accepting`, whether the text may end here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_is_accepting(
    session: *mut MwSession,
    is_accepting: *mut bool,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| Ok(session.matcher.is_accepting());
    // SAFETY: the caller's promise.
    unsafe { with_result(session, error, (is_accepting, "where to put the answer"), work) }
}

/// Result: `is_terminated`, whether a token that ends the text was accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_is_terminated(
    session: *mut MwSession,
    is_terminated: *mut bool,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| Ok(session.matcher.is_terminated());
    // SAFETY: the caller's promise.
    unsafe { with_result(session, error, (is_terminated, "where to put the answer"), work) }
}

/// The tokens that can be taken without asking the model. Writes at most `capacity` ids to `ids`, which may
/// be NULL, and to `n_ids` how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_forced_tokens(
    session: *mut MwSession,
    ids: *mut u32,
    capacity: usize,
    n_ids: *mut usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| {
        let encode = |bytes: &[u8]| session.tokenizer.encode_bytes(bytes).unwrap_or_default();
        session.matcher.forced_tokens(encode)
    };
    // SAFETY: the caller's promise.
    unsafe { with_tokens(session, error, (ids, capacity, n_ids), work) }
}

/// A completion of the text, as short as is easily found, the token that ends it included. Writes at most
/// `capacity` ids to `ids`, which may be NULL, and to `n_ids` how many there are. The session does not
/// change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_finish(
    session: *mut MwSession,
    ids: *mut u32,
    capacity: usize,
    n_ids: *mut usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with_tokens(session, error, (ids, capacity, n_ids), |session| session.matcher.finish()) }
}

/// Result: `n_tokens`, how many tokens complete the text at most, the one that ends it included; `is_exact`,
/// whether fewer are certainly not enough (may be NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_tokens_to_finish(
    session: *mut MwSession,
    n_tokens: *mut usize,
    is_exact: *mut bool,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| {
        let least = session.matcher.tokens_to_finish()?;
        if !is_exact.is_null() {
            // SAFETY: it is not NULL, and the caller's promise.
            unsafe { put(is_exact, least.status == TokenCountStatus::Exact, "is_exact") }?;
        }
        // SAFETY: as above.
        unsafe { put(n_tokens, least.n_tokens, "where to put the number") }
    };
    // SAFETY: as above.
    unsafe { with(session, error, work) }
}

/// What the text says, from event number `since` on: a JSON array of objects with `kind` ("text",
/// "reasoning", "tool", "argument", "input", "end") and the fields of Python's `Event`. Result: `events`, to
/// be freed with `mw_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_events(
    session: *mut MwSession,
    since: usize,
    events: *mut *mut c_char,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| {
        let of_text = match &mut session.events {
            Some(known) => known,
            none => none.insert(session.grammar.events()?),
        };
        let all = of_text.of(&session.matcher)?;
        Ok(bindings::events(all.get(since..).unwrap_or_default()).to_string())
    };
    // SAFETY: the caller's promise.
    unsafe { with_text(session, error, (events, "where to put the events"), work) }
}

/// Where the text is, and what may come next, in words: a JSON object with `path`, `within`, `rules`,
/// `keywords`, `next`, `is_complete` and `sentence`. Result: `state`, to be freed with `mw_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_state(
    session: *mut MwSession,
    state: *mut *mut c_char,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| Ok(bindings::state(&session.matcher.state()?).to_string());
    // SAFETY: the caller's promise.
    unsafe { with_text(session, error, (state, "where to put the state"), work) }
}

/// Why a token is allowed or refused here, in words. Result: `words`, to be freed with `mw_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_session_explain(
    session: *mut MwSession,
    id: u32,
    words: *mut *mut c_char,
    error: *mut *mut ErrorInfo,
) -> Status {
    let work = |session: &mut Session| session.matcher.explain(TokenId(id));
    // SAFETY: the caller's promise.
    unsafe { with_text(session, error, (words, "where to put the words"), work) }
}

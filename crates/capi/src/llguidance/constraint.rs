//! Constraints of `llguidance.h`: matchers that stop by themselves, with logs and masks in parallel.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use maskwright::{Error, TokenId};

use super::grammar::compile;
use super::writer::Writer;
use super::{LlgConstraintInit, LlgToken, cloned};
use crate::guard::{argument, caught};
use crate::pointers::{Opaque, c_text, free, get, get_mut, give, items, items_mut, put};

/// One text under a grammar.
pub struct LlgConstraint {
    _opaque: [u8; 0],
}

impl Opaque for LlgConstraint {
    type Inner = Inner;
    const NAME: &'static str = "LlgConstraint";
}

#[derive(Clone)]
pub(crate) struct Inner {
    /// The session, or what went wrong for good.
    writer: Result<Writer, Arc<CString>>,
    /// The last mask, which the caller may be reading.
    mask: Option<Arc<[u32]>>,
    /// The last tokens, which the caller may be reading.
    tokens: Vec<u32>,
    has_stopped: bool,
    ff_tokens_ok: bool,
    log_buffer_level: u32,
    log: String,
    /// The last log, which the caller may be reading.
    flushed: CString,
}

impl Inner {
    /// Does something with the session. What fails is an error for good.
    fn work<T>(&mut self, call: impl FnOnce(&mut Writer) -> Result<T, Error>) -> Option<T> {
        let writer = self.writer.as_mut().ok()?;
        caught(|| call(writer)).map_err(|error| self.fail(&error)).ok()
    }

    fn fail(&mut self, error: &Error) {
        self.writer = Err(Arc::new(c_text(error.to_string())));
    }

    fn log(&mut self, level: u32, line: impl FnOnce() -> String) {
        if self.log_buffer_level >= level {
            self.log.push_str(&line());
            self.log.push('\n');
        }
    }

    /// Computes the mask; none where the text has stopped.
    fn compute(&mut self) -> Option<()> {
        let made = self.work(|writer| Ok(if writer.is_stopped()? { None } else { Some(writer.mask()?) }))?;
        let why = self.writer.as_ref().ok().and_then(Writer::ended_by).map(str::to_owned);
        if let Some(why) = why {
            self.log(1, || format!("the text ends here: {why}"));
        }
        self.has_stopped = made.is_none();
        let n_allowed = made.iter().flat_map(|mask| mask.iter()).map(|word| word.count_ones()).sum::<u32>();
        self.log(2, || format!("mask: {n_allowed} tokens"));
        self.mask = made;
        Some(())
    }

    /// The last mask; where the text has stopped, that of the tokens that end it.
    fn mask_or_ends(&mut self) -> Option<Arc<[u32]>> {
        match &self.mask {
            Some(mask) => Some(mask.clone()),
            None => self.work(Writer::mask),
        }
    }

    fn commit(&mut self, token: u32) -> Option<()> {
        if self.has_stopped {
            self.tokens.clear();
            return Some(());
        }
        let with_forced = self.ff_tokens_ok;
        let tokens = self.work(|writer| {
            writer.consume(token)?;
            let mut tokens = vec![token];
            if with_forced {
                for TokenId(id) in writer.forced() {
                    if writer.ended_by().is_some() {
                        break;
                    }
                    writer.consume(id)?;
                    tokens.push(id);
                }
            }
            Ok(tokens)
        })?;
        self.log(2, || format!("tokens: {tokens:?}"));
        self.tokens = tokens;
        Some(())
    }
}

/// A mask.
#[repr(C)]
pub struct LlgMaskResult {
    /// A bit for each token, until the next call for the constraint; NULL if the text has stopped.
    pub sample_mask: *const u32,
    /// Always 0: grammars set no temperature.
    pub temperature: f32,
    /// Whether the text has stopped.
    pub is_stop: bool,
}

/// What a token led to.
#[repr(C)]
pub struct LlgCommitResult {
    /// The tokens to append, until the next call for the constraint.
    pub tokens: *const u32,
    /// How many they are.
    pub n_tokens: u32,
    /// Whether the text has stopped.
    pub is_stop: bool,
}

/// A constraint whose mask is to be computed, and where to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LlgConstraintStep {
    /// The constraint; NULL is left out.
    pub constraint: *mut LlgConstraint,
    /// Where the mask is written.
    pub mask_dest: *mut u32,
    /// How many bytes are there.
    pub mask_byte_len: usize,
}

/// What is called when work is done.
pub type LlgCallback = Option<unsafe extern "C" fn(user_data: *const c_void)>;

/// # Safety
/// As [`compile`].
unsafe fn made(
    init: *const LlgConstraintInit,
    kind: *const c_char,
    data: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    let writer = caught(|| unsafe { compile(init, kind, data) }?.writer());
    // SAFETY: as above.
    let init = unsafe { items(init, 1, "init") }.ok().map(|init| &init[0]);
    give(Inner {
        writer: writer.map_err(|error| Arc::new(c_text(error.to_string()))),
        mask: None,
        tokens: Vec::new(),
        has_stopped: false,
        ff_tokens_ok: init.is_some_and(|init| init.ff_tokens_ok),
        log_buffer_level: init.map_or(0, |init| init.log_buffer_level),
        log: String::new(),
        flushed: CString::default(),
    })
}

/// A constraint of llguidance's list of grammars. Never NULL: `llg_get_error` says whether it could be made.
/// To be freed with `llg_free_constraint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_constraint(
    init: *const LlgConstraintInit,
    llguidance: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { made(init, c"llguidance".as_ptr(), llguidance) }
}

/// The same of a regular expression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_constraint_regex(
    init: *const LlgConstraintInit,
    regex: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { made(init, c"regex".as_ptr(), regex) }
}

/// The same of a JSON Schema.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_constraint_json(
    init: *const LlgConstraintInit,
    json_schema: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { made(init, c"json_schema".as_ptr(), json_schema) }
}

/// The same of a Lark grammar.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_constraint_lark(
    init: *const LlgConstraintInit,
    lark: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { made(init, c"lark".as_ptr(), lark) }
}

/// The same of a kind, as for `llg_new_matcher`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_constraint_any(
    init: *const LlgConstraintInit,
    constraint_type: *const c_char,
    data: *const c_char,
) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { made(init, constraint_type, data) }
}

/// What went wrong, as long as the constraint lives; NULL if nothing did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_get_error(cc: *const LlgConstraint) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { get(cc) }.map(|constraint| &constraint.writer) {
        Ok(Err(message)) => message.as_ptr(),
        Ok(Ok(_)) => std::ptr::null(),
        Err(_) => c"the constraint is NULL, or something else".as_ptr(),
    }
}

/// Always 0: grammars set no temperature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_get_temperature(_cc: *const LlgConstraint) -> f32 {
    0.0
}

/// Whether the last mask has said that the text has stopped; also after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_is_stopped(cc: *const LlgConstraint) -> bool {
    // SAFETY: the caller's promise.
    unsafe { get(cc) }.map_or(true, |constraint| constraint.writer.is_err() || constraint.has_stopped)
}

/// Computes the mask of the tokens that may come next. 0, or -1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_compute_mask(cc: *mut LlgConstraint, res_p: *mut LlgMaskResult) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(constraint) = (unsafe { get_mut(cc) }) else { return -1 };
    if constraint.compute().is_none() {
        return -1;
    }
    let result = LlgMaskResult {
        sample_mask: constraint.mask.as_ref().map_or(std::ptr::null(), |mask| mask.as_ptr()),
        temperature: 0.0,
        is_stop: constraint.has_stopped,
    };
    // SAFETY: as above.
    if unsafe { put(res_p, result, "res_p") }.is_ok() { 0 } else { -1 }
}

/// Accepts the token that was chosen by the mask. 0, or -1 for an error: after a refused token the object
/// stays in the error state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_commit_token(
    cc: *mut LlgConstraint,
    token: LlgToken,
    res_p: *mut LlgCommitResult,
) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(constraint) = (unsafe { get_mut(cc) }) else { return -1 };
    if constraint.commit(token).is_none() {
        return -1;
    }
    let tokens = &constraint.tokens;
    let result = LlgCommitResult {
        tokens: if tokens.is_empty() { std::ptr::null() } else { tokens.as_ptr() },
        n_tokens: tokens.len() as u32,
        is_stop: constraint.has_stopped,
    };
    // SAFETY: as above.
    if unsafe { put(res_p, result, "res_p") }.is_ok() { 0 } else { -1 }
}

/// The steps of a call, on their way to another thread.
struct Steps {
    steps: Vec<LlgConstraintStep>,
    user_data: *const c_void,
    done: LlgCallback,
}

// SAFETY: the caller promises that nobody else uses the objects until the callback is called, and that this
// may be on another thread.
unsafe impl Send for Steps {}

impl Steps {
    fn run(self) {
        for step in &self.steps {
            // SAFETY: the caller's promise.
            let Ok(constraint) = (unsafe { get_mut(step.constraint) }) else { continue };
            let fits = step.mask_byte_len.is_multiple_of(4);
            // SAFETY: as above.
            let into = unsafe { items_mut(step.mask_dest, step.mask_byte_len / 4, "mask_dest") };
            match into {
                Ok(into) if fits => {
                    into.fill(0);
                    let mask = constraint.compute().and_then(|()| constraint.mask_or_ends());
                    if let Some(mask) = mask {
                        let n = mask.len().min(into.len());
                        into[..n].copy_from_slice(&mask[..n]);
                    }
                }
                _ => {
                    let message = format!("mask_byte_len is {}, not a multiple of 4", step.mask_byte_len);
                    constraint.fail(&argument(message));
                }
            }
        }
        if let Some(done) = self.done {
            // SAFETY: the caller's promise.
            unsafe { done(self.user_data) };
        }
    }
}

/// Computes the masks of several constraints on other threads, then calls `done_cb`, on one of them. If it is
/// NULL, the call returns when the masks are there. A text that has stopped has the tokens that end it in its
/// mask. Until then the constraints and masks are in use; none may be there twice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_par_compute_mask(
    steps: *const LlgConstraintStep,
    n_steps: usize,
    user_data: *const c_void,
    done_cb: LlgCallback,
) {
    // SAFETY: the caller's promise.
    let given = unsafe { items(steps, n_steps, "steps") }.unwrap_or_default();
    let all = Steps { steps: given.to_vec(), user_data, done: done_cb };
    if done_cb.is_none() {
        return in_parallel(all);
    }
    let again = Steps { steps: given.to_vec(), user_data, done: done_cb };
    if std::thread::Builder::new().spawn(move || in_parallel(all)).is_err() {
        again.run();
    }
}

/// Divides steps among the cores.
fn in_parallel(all: Steps) {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let n_each = all.steps.len().div_ceil(n_threads).max(1);
    let part = |steps: &[LlgConstraintStep]| Steps {
        steps: steps.to_vec(),
        user_data: std::ptr::null(),
        done: None,
    };
    std::thread::scope(|scope| {
        let mut parts = all.steps.chunks(n_each);
        // This thread does one part, and the parts for which no thread could be started.
        let mut own: Vec<Steps> = parts.next().map(part).into_iter().collect();
        for steps in parts {
            let other = part(steps);
            if std::thread::Builder::new().spawn_scoped(scope, move || other.run()).is_err() {
                own.push(part(steps));
            }
        }
        own.into_iter().for_each(Steps::run);
    });
    Steps { steps: Vec::new(), ..all }.run();
}

/// A constraint in the same state, to be freed by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_clone_constraint(cc: *const LlgConstraint) -> *mut LlgConstraint {
    // SAFETY: the caller's promise.
    unsafe { cloned(cc) }
}

/// Frees a constraint; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_free_constraint(cc: *mut LlgConstraint) {
    // SAFETY: the caller's promise.
    unsafe { free(cc) };
}

/// The log since the last call, until the next; NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_flush_logs(cc: *mut LlgConstraint) -> *const c_char {
    // SAFETY: the caller's promise.
    let Ok(constraint) = (unsafe { get_mut(cc) }) else { return std::ptr::null() };
    constraint.flushed = c_text(std::mem::take(&mut constraint.log));
    constraint.flushed.as_ptr()
}

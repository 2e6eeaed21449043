//! The definition of what a pattern matches: a backtracking matcher, step by step as Python's does it.
//!
//! Exponential in the worst case, so its fuel matters. It decides keywords when a lexer is made and is the
//! reference that the [`Lexer`](crate::Lexer) is tested against; texts are tokenized by that.
//!
//! A repetition whose copy matched nothing is not tried again from the same place but left (CPython,
//! `Modules/_sre`, "zero-width match protection"), so `(|a)*` matches the empty word of "a".

use std::rc::Rc;

use maskwright_automata::Fuel;

use crate::nfa::MAX_DEPTH;
use crate::{LexError, Pattern, PatternNode};

/// What is still to be matched, first thing first.
type Continuation<'p> = Option<Rc<Frame<'p>>>;

struct Frame<'p> {
    task: Task<'p>,
    next: Continuation<'p>,
}

#[derive(Clone, Copy)]
enum Task<'p> {
    One(&'p Pattern),
    All(&'p [Pattern]),
    Any(&'p [Pattern]),
    /// A repetition after `n_copies`; the last optional copy began at `last_start`.
    Again {
        repeat: Repeat<'p>,
        n_copies: u32,
        last_start: Option<usize>,
    },
    /// An optional copy more.
    Copy {
        repeat: Repeat<'p>,
        n_copies: u32,
    },
}

#[derive(Clone, Copy)]
struct Repeat<'p> {
    inner: &'p Pattern,
    min: u32,
    max: Option<u32>,
    greedy: bool,
}

/// Where the match of `pattern` that begins at byte `start` of `text` ends, as Python's
/// `re.compile(...).match(text, start)` finds it; `None` if there is no match.
///
/// What lies before `start` is seen by lookbehind.
///
/// # Errors
/// More than `fuel` is needed (one unit a step), or the pattern is nested deeper than 400 levels.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Pattern, find_prefix};
/// let ordered = Pattern::alternation([Pattern::literal(b"a"), Pattern::literal(b"ab")]);
/// assert_eq!(find_prefix(&ordered, b"abc", 0, &Fuel::new(100))?, Some(1));
/// # Ok::<(), maskwright_lexing::LexError>(())
/// ```
pub fn find_prefix(
    pattern: &Pattern,
    text: &[u8],
    start: usize,
    fuel: &Fuel,
) -> Result<Option<usize>, LexError> {
    if pattern.depth() > MAX_DEPTH {
        return Err(LexError::limit("levels of nesting", u64::from(MAX_DEPTH)));
    }
    find(pattern, text, start, None, fuel)
}

/// The first match in backtracking order, of those that end at `end` if it is given.
fn find(
    pattern: &Pattern,
    text: &[u8],
    start: usize,
    end: Option<usize>,
    fuel: &Fuel,
) -> Result<Option<usize>, LexError> {
    let mut choices: Vec<(usize, Continuation<'_>)> = vec![(start, then(Task::One(pattern), None))];
    while let Some((mut at, mut continuation)) = choices.pop() {
        loop {
            fuel.spend(1)?;
            let Some(frame) = continuation else {
                if end.is_none_or(|end| end == at) {
                    return Ok(Some(at));
                }
                break;
            };
            let next = frame.next.clone();
            continuation = match frame.task {
                Task::One(pattern) => match pattern.node() {
                    PatternNode::Concat(parts) => then(Task::All(parts), next),
                    PatternNode::Alternation(parts) => then(Task::Any(parts), next),
                    &PatternNode::Repeat { ref inner, min, max, greedy } => {
                        let repeat = Repeat { inner, min, max, greedy };
                        then(Task::Again { repeat, n_copies: 0, last_start: None }, next)
                    }
                    PatternNode::Look { ahead, negated, inner } => {
                        let found = if *ahead {
                            find(inner, text, at, None, fuel)?.is_some()
                        } else {
                            ends_at(inner, text, at, fuel)?
                        };
                        if found == *negated {
                            break;
                        }
                        next
                    }
                    leaf => match leaf_length(leaf, &text[at..]) {
                        Some(length) => {
                            at += length;
                            next
                        }
                        None => break,
                    },
                },
                Task::All([first, rest @ ..]) => then(Task::One(first), then(Task::All(rest), next)),
                Task::All([]) => next,
                Task::Any([first, rest @ ..]) => {
                    if !rest.is_empty() {
                        choices.push((at, then(Task::Any(rest), next.clone())));
                    }
                    then(Task::One(first), next)
                }
                Task::Any([]) => break,
                Task::Copy { repeat, n_copies } => {
                    let again =
                        Task::Again { repeat, n_copies: n_copies.saturating_add(1), last_start: Some(at) };
                    then(Task::One(repeat.inner), then(again, next))
                }
                Task::Again { repeat, n_copies, last_start } => {
                    if n_copies < repeat.min {
                        let again = Task::Again { repeat, n_copies: n_copies + 1, last_start };
                        then(Task::One(repeat.inner), then(again, next))
                    } else if repeat.max.is_some_and(|max| n_copies >= max) || last_start == Some(at) {
                        next
                    } else {
                        let copy = then(Task::Copy { repeat, n_copies }, next.clone());
                        let (first, second) = if repeat.greedy { (copy, next) } else { (next, copy) };
                        choices.push((at, second));
                        first
                    }
                }
            };
        }
    }
    Ok(None)
}

fn then<'p>(task: Task<'p>, next: Continuation<'p>) -> Continuation<'p> {
    Some(Rc::new(Frame { task, next }))
}

/// Whether some match ends at `at`.
fn ends_at(pattern: &Pattern, text: &[u8], at: usize, fuel: &Fuel) -> Result<bool, LexError> {
    for start in (0..=at).rev() {
        if find(pattern, text, start, Some(at), fuel)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many bytes a pattern without inner patterns matches at the beginning of `text`.
fn leaf_length(leaf: &PatternNode, text: &[u8]) -> Option<usize> {
    match leaf {
        PatternNode::Bytes(set) => text.first().filter(|&&byte| set.contains(byte)).map(|_| 1),
        PatternNode::Literal(word) => text.starts_with(word).then_some(word.len()),
        PatternNode::Class(ranges) => {
            let c = first_char(text)?;
            let next = ranges.partition_point(|&(_, high)| high < c);
            ranges.get(next).filter(|&&(low, _)| low <= c).map(|_| c.len_utf8())
        }
        _ => Some(0),
    }
}

/// The character whose UTF-8 form `text` begins with.
fn first_char(text: &[u8]) -> Option<char> {
    (1..=text.len().min(4)).find_map(|length| std::str::from_utf8(&text[..length]).ok())?.chars().next()
}

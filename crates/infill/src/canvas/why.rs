//! Why holes cannot be filled, in words.

use maskwright_automata::meter::Meter;
use maskwright_engine::{Matcher, MatcherStep, text_parts, written};
use maskwright_vocabulary::Vocabulary;

use crate::answer::{Answer, Place, Question, Relation, Solver, with_fuel};

/// Why a question has no text whose parts can be read one by one.
const NOT_FILLED: &str = "no text of the language has all parts of it";

/// A reason may take one part of so many of the work of a first question, in each of its two steps.
const PART_OF_WORK: u64 = 10;

/// The most bytes of a text that are shown before a place.
const MOST_BEFORE: usize = 40;
/// The most bytes that are shown after it.
const MOST_AFTER: usize = 20;

/// Why a question that has no text has none: the known text that nothing can read, how far it can be read,
/// and why not further. Where that takes more work than there is, it says only that there is no text.
pub(super) fn impossible(solver: &mut Solver, question: &Question) -> String {
    let infiller = solver.infiller.clone();
    let vocabulary = infiller.vocabulary();
    // One of the language itself, or of one that has all its texts.
    let readers = infiller.readers();
    let same = readers.iter().find(|reader| reader.relation == Relation::Same);
    let Some(reader) = same.or_else(|| readers.iter().find(|reader| reader.has_all())).or(readers.first())
    else {
        return NOT_FILLED.to_owned();
    };
    let lattice = question.lattices(reader, vocabulary).0.swap_remove(0);
    let work = infiller.limits().work / PART_OF_WORK;
    let Ok(blocked) = with_fuel(work, |fuel| reader.tables().blocked(&lattice, fuel)) else {
        return NOT_FILLED.to_owned();
    };
    let (before, from) = question.places.split_at(blocked.position.min(question.places.len()));
    let place = from.first().map(|(place, _)| place);
    let Some(text) = place.and_then(|place| known(place, vocabulary)) else {
        let why = match place {
            Some(Place::Masked) => "the holes have too few tokens, or too many, for the text around them",
            Some(Place::Free) => "no text of the language has what stands after the last hole",
            Some(Place::Nothing) => "there is a special token that the grammar does not name, or a byte 0xFF",
            None if question.places.is_empty() => "the empty text is not in the language",
            _ => NOT_FILLED,
        };
        return why.to_owned();
    };
    let (read, rest) = text.split_at(blocked.n_bytes.min(text.len()));
    // With the known text on both sides.
    let mut texts: Vec<Vec<u8>> =
        before.iter().rev().map_while(|(place, _)| known(place, vocabulary)).collect();
    texts.reverse();
    let mut around = [&texts.concat(), read].concat();
    let mark = around.len();
    let texts: Vec<Vec<u8>> = from[1..].iter().map_while(|(place, _)| known(place, vocabulary)).collect();
    around.extend([rest, &texts.concat()].concat());
    let (before, after) = around.split_at(character_at(&around, mark));
    let shown_after = &after[..character_at(after, MOST_AFTER)];
    let cut = if shown_after.len() < after.len() { "…" } else { "" };
    let shown = format!("`{}⟂{}{cut}`", end_of(before), visible(shown_after));
    if rest.is_empty() {
        return format!("nothing that can follow completes the text up to `⟂` in {shown}");
    }
    let why =
        Meter { limit: work }.run(|| refusal(solver, question, blocked.position, read, &around[mark..]));
    let why = why.map_or_else(String::new, |why| format!("; {why}"));
    format!("no text of the language goes on like this at `⟂` in {shown}{why}")
}

/// Why `rest` cannot follow the places before `position` and `read`, in the words of the grammar's source.
/// Where there are holes before it, it is said of one way to fill them; `None` where none is found.
fn refusal(
    solver: &mut Solver,
    question: &Question,
    position: usize,
    read: &[u8],
    rest: &[u8],
) -> Option<String> {
    let mut places = question.places[..position].to_vec();
    let has_holes = places.iter().any(|(place, _)| matches!(place, Place::Masked | Place::Free));
    places.extend(Place::text(read).map(|place| (place, None)));
    places.push((Place::Free, Some(places.len() as u32 + 1)));
    let ends = vec![places.len()];
    let question = Question { places, ends, focus: None, keeps_text: false };
    let Ok(Answer::Yes(witness)) = solver.answer(&question, None) else { return None };
    let witness = solver.tidied(&question, witness).ok()?;
    let infiller = &solver.infiller;
    let known = (&infiller.readers()[witness.reader], &solver.blanks[..], &**infiller.vocabulary());
    let mut parts = witness.parts(&question, known).unwrap_or_default();
    if let Some(Some(Place::Text(after))) = witness.places.last() {
        parts.truncate(parts.len().saturating_sub(text_parts(after).count()));
    }
    let mut session = Matcher::new(infiller.sessions()).unbounded();
    for part in &parts {
        let is_read = match part {
            &MatcherStep::Token(token) => session.accept_token(token).ok()?,
            MatcherStep::Bytes(bytes) => session.accept_bytes(bytes).ok()?,
        };
        if !is_read {
            return None;
        }
    }
    let why = match session.refusal(rest) {
        Some(why) => why,
        None => format!("expected {}", session.expected().ok()?.join(" or ")),
    };
    Some(if has_holes { format!("after `{}`: {why}", end_of(&session.text())) } else { why })
}

/// The text of a place that is known and can be read.
fn known(place: &Place, vocabulary: &Vocabulary) -> Option<Vec<u8>> {
    match place {
        Place::Text(text) => Some(text.to_vec()),
        &(Place::Token(token) | Place::Read(token)) => Some(written(vocabulary, token).into_owned()),
        Place::Masked | Place::Free | Place::Nothing => None,
    }
}

/// The end of a text.
fn end_of(text: &[u8]) -> String {
    let end = &text[character_at(text, text.len().saturating_sub(MOST_BEFORE))..];
    let cut = if end.len() < text.len() { "…" } else { "" };
    format!("{cut}{}", visible(end))
}

/// The start of the character that `at` is within, or `at` if it is within none.
fn character_at(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    let reaches_over = |begin: usize| {
        let length = match text[begin] {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        };
        text.get(begin..begin + length).is_some_and(|text| std::str::from_utf8(text).is_ok())
            && begin + length > at
    };
    (at.saturating_sub(3)..at).find(|&begin| reaches_over(begin)).unwrap_or(at)
}

/// A piece of a text, with control characters escaped.
fn visible(text: &[u8]) -> String {
    let escaped = |character: char| match character {
        _ if character.is_control() => character.escape_default().collect(),
        _ => vec![character],
    };
    String::from_utf8_lossy(text).chars().flat_map(escaped).collect()
}

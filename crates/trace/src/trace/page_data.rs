//! The data of the page, as small JSON.
//!
//! Texts of tokens and other strings that repeat are in tables, keys are one letter, probabilities have four
//! significant digits, and what a field's default says is left out. `page.js` reads it; both change together.
//!
//! Every text is already [visible](super::shown): the page adds nothing but marks for blanks.

use std::collections::HashMap;

use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};

use super::cost::probability;
use super::shown::{Piece, Shown, complete_length, visible, visible_bytes};
use super::{Candidate, Cell, Outcome, Trace};

/// A whole trace.
#[derive(Serialize)]
pub(crate) struct PageData {
    title: String,
    model: Option<String>,
    grammar: Option<String>,
    prompt: Option<String>,
    is_complete: Option<bool>,
    /// The sum in nats; absent if infinite or not measured.
    cost: Option<f64>,
    is_cost_infinite: bool,
    /// The distinct tokens; others are their indices.
    tokens: Vec<TokenData>,
    /// The distinct paths and reasons; others are their indices.
    strings: Vec<String>,
    steps: Vec<StepData>,
    regions: Vec<RegionData>,
    frames: Vec<Vec<CellData>>,
    tree: Vec<BranchData>,
    /// How many branches are not in the tree.
    n_left_out: usize,
}

/// A token.
#[derive(Serialize)]
struct TokenData {
    #[serde(rename = "i")]
    id: u32,
    #[serde(rename = "t")]
    text: String,
    /// The bytes as hexadecimal digits, if they are not those of `text`.
    #[serde(rename = "h", skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// A token written.
#[derive(Serialize)]
struct StepData {
    #[serde(rename = "k")]
    token: usize,
    /// What is shown, if it is not the token's own text.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    shown: Option<String>,
    #[serde(rename = "f", skip_serializing_if = "is_false")]
    is_forced: bool,
    #[serde(rename = "e", skip_serializing_if = "is_false")]
    is_end: bool,
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    allowed_mass: Option<f64>,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    n_allowed: Option<u64>,
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    wanted: Vec<CandidateData>,
    #[serde(rename = "a", skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<CandidateData>,
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    path: Option<usize>,
    #[serde(rename = "u", skip_serializing_if = "Option::is_none")]
    mask_us: Option<f64>,
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    tokens_left: Option<u64>,
}

/// A candidate: token, probability, and the reason if the grammar refused it (-1 without one).
struct CandidateData {
    token: usize,
    probability: Option<f64>,
    refusal: Option<Option<usize>>,
}

impl Serialize for CandidateData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(2 + usize::from(self.refusal.is_some()))?;
        tuple.serialize_element(&self.token)?;
        tuple.serialize_element(&self.probability)?;
        match self.refusal {
            Some(Some(why)) => tuple.serialize_element(&why)?,
            Some(None) => tuple.serialize_element(&-1)?,
            None => {}
        }
        tuple.end()
    }
}

/// A region; a place is a step and a UTF-16 offset in what it shows.
#[derive(Serialize)]
struct RegionData {
    #[serde(rename = "k")]
    kind: String,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "s")]
    start: (usize, usize),
    #[serde(rename = "e")]
    end: (usize, usize),
    /// Whether the text stopped before the region did.
    #[serde(rename = "o", skip_serializing_if = "is_false")]
    is_open: bool,
}

/// A position of a canvas.
#[derive(Serialize)]
#[serde(untagged)]
enum CellData {
    /// 0: masked, and nothing else is known. 1: as in the frame before, and no longer new.
    Short(u8),
    /// What it shows (`None`: masked), 1 if new plus 2 if given by the user, and both probabilities.
    Whole(Option<String>, u8, Option<f64>, Option<f64>),
}

/// A branch of a search.
#[derive(Serialize)]
struct BranchData {
    #[serde(rename = "t")]
    text: String,
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    log_probability: Option<f64>,
    #[serde(rename = "o", skip_serializing_if = "is_open")]
    outcome: Outcome,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_open(outcome: &Outcome) -> bool {
    *outcome == Outcome::Open
}

impl PageData {
    pub(crate) fn of(trace: &Trace) -> PageData {
        let optional = |text: &Option<String>| text.as_deref().map(visible);
        let cost = trace.cost_nats();
        let mut tables = Tables::default();
        let (steps, regions) = text(trace, &mut tables);
        PageData {
            title: visible(&trace.title),
            model: optional(&trace.model),
            grammar: optional(&trace.grammar),
            prompt: optional(&trace.prompt),
            is_complete: trace.is_complete,
            cost: cost.and_then(rounded),
            is_cost_infinite: cost.is_some_and(f64::is_infinite),
            tokens: tables.tokens,
            strings: tables.strings,
            steps,
            regions,
            frames: frames(trace),
            tree: tree(trace),
            n_left_out: trace.n_left_out,
        }
    }
}

/// The steps and regions of a text.
fn text<'a>(trace: &'a Trace, tables: &mut Tables<'a>) -> (Vec<StepData>, Vec<RegionData>) {
    let pieces = trace.steps.iter().map(Piece::of);
    let mut offsets: Vec<usize> =
        trace.regions.iter().flat_map(|region| [Some(region.start), region.end]).flatten().collect();
    offsets.sort_unstable();
    offsets.dedup();
    let Shown { texts, places } = Shown::of(pieces, &offsets);
    let n_written = trace.steps.iter().rposition(|step| !step.is_end).map_or(0, |last| last + 1);
    let place = |offset: usize| offsets.binary_search(&offset).map_or((n_written, 0), |index| places[index]);
    let regions = trace.regions.iter().map(|region| RegionData {
        kind: visible(&region.kind),
        name: region.name.as_deref().map(visible),
        start: place(region.start),
        end: region.end.map_or((n_written, 0), place),
        is_open: region.end.is_none(),
    });
    let steps = trace.steps.iter().zip(texts).map(|(step, shown)| {
        let token = tables.token(step.token, &step.text, step.name.as_deref());
        let data = &tables.tokens[token];
        let own = data.name.as_ref().unwrap_or(&data.text);
        StepData {
            token,
            shown: (shown != *own).then_some(shown),
            is_forced: step.is_forced,
            is_end: step.is_end,
            allowed_mass: step.allowed_mass.and_then(probability).and_then(rounded),
            n_allowed: step.n_allowed,
            wanted: step.wanted.iter().map(|candidate| tables.candidate(candidate)).collect(),
            allowed: step.allowed.iter().map(|candidate| tables.candidate(candidate)).collect(),
            path: step.path.as_deref().map(|path| tables.string(path)),
            mask_us: step.mask_us.and_then(rounded),
            tokens_left: step.tokens_left,
        }
    });
    (steps.collect(), regions.collect())
}

fn frames(trace: &Trace) -> Vec<Vec<CellData>> {
    let mut before: Vec<(Option<String>, &Cell)> = Vec::new();
    let mut frames = Vec::with_capacity(trace.frames.len());
    for frame in &trace.frames {
        // No character crosses a masked position.
        let pieces = frame.positions.iter().map(|cell| match &cell.text {
            Some(text) => Piece::Bytes(text),
            None => Piece::Named { name: "", n_bytes: 0 },
        });
        let texts = Shown::of(pieces, &[]).texts;
        let now: Vec<(Option<String>, &Cell)> = frame
            .positions
            .iter()
            .zip(texts)
            .map(|(cell, text)| (cell.text.as_ref().map(|_| text), cell))
            .collect();
        let cells = now.iter().enumerate().map(|(position, (text, cell))| {
            let flags = u8::from(cell.is_new) + 2 * u8::from(cell.is_known);
            let [mass, own] = [cell.allowed_mass, cell.probability]
                .map(|value| value.and_then(probability).and_then(rounded));
            if text.is_none() && flags == 0 && mass.is_none() && own.is_none() {
                return CellData::Short(0);
            }
            let is_same = before.get(position).is_some_and(|(earlier_text, earlier)| {
                earlier_text == text
                    && earlier.is_known == cell.is_known
                    && earlier.probability == cell.probability
                    && earlier.allowed_mass == cell.allowed_mass
            });
            if is_same && !cell.is_new {
                CellData::Short(1)
            } else {
                CellData::Whole(text.clone(), flags, own, mass)
            }
        });
        frames.push(cells.collect());
        before = now;
    }
    frames
}

/// The branches. A character that several branches share is shown where it ends.
fn tree(trace: &Trace) -> Vec<BranchData> {
    let mut has_children = vec![false; trace.tree.len()];
    let parent_of = |index: usize| trace.tree[index].parent.filter(|&parent| parent < index);
    for index in 0..trace.tree.len() {
        if let Some(parent) = parent_of(index) {
            has_children[parent] = true;
        }
    }
    // The bytes of each branch's character that is not complete yet.
    let mut unfinished: Vec<Vec<u8>> = Vec::with_capacity(trace.tree.len());
    let mut branches = Vec::with_capacity(trace.tree.len());
    for (index, branch) in trace.tree.iter().enumerate() {
        let parent = parent_of(index);
        let mut bytes = parent.map_or_else(Vec::new, |parent| unfinished[parent].clone());
        bytes.extend_from_slice(&branch.text);
        let rest = if has_children[index] { bytes.split_off(complete_length(&bytes)) } else { Vec::new() };
        unfinished.push(rest);
        branches.push(BranchData {
            text: visible_bytes(&bytes),
            parent,
            log_probability: branch.log_probability.and_then(rounded),
            outcome: branch.outcome,
        });
    }
    branches
}

/// The strings that the data shares.
#[derive(Default)]
struct Tables<'a> {
    tokens: Vec<TokenData>,
    token_indices: HashMap<(u32, &'a [u8], Option<&'a str>), usize>,
    strings: Vec<String>,
    string_indices: HashMap<&'a str, usize>,
}

impl<'a> Tables<'a> {
    fn token(&mut self, id: u32, text: &'a [u8], name: Option<&'a str>) -> usize {
        *self.token_indices.entry((id, text, name)).or_insert_with(|| {
            let shown = visible_bytes(text);
            let bytes = (shown.as_bytes() != text).then(|| hexadecimal(text));
            self.tokens.push(TokenData { id, text: shown, bytes, name: name.map(visible) });
            self.tokens.len() - 1
        })
    }

    fn candidate(&mut self, candidate: &'a Candidate) -> CandidateData {
        CandidateData {
            token: self.token(candidate.token, &candidate.text, candidate.name.as_deref()),
            probability: probability(candidate.probability).and_then(rounded),
            refusal: (!candidate.is_allowed).then(|| candidate.why.as_deref().map(|why| self.string(why))),
        }
    }

    fn string(&mut self, text: &'a str) -> usize {
        *self.string_indices.entry(text).or_insert_with(|| {
            self.strings.push(visible(text));
            self.strings.len() - 1
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

/// A number with four significant digits; `None` if it is not finite.
fn rounded(value: f64) -> Option<f64> {
    if !value.is_finite() {
        return None;
    }
    // Reading back what was written gives the number with the shortest digits.
    format!("{value:.3e}").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, to_value};

    use super::*;
    use crate::{Branch, Frame, Region, Step};

    fn data(trace: &Trace) -> Value {
        to_value(PageData::of(trace)).unwrap()
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(rounded(0.123_456), Some(0.1235));
        assert_eq!(rounded(123_456.0), Some(123_500.0));
        assert_eq!(rounded(f64::NAN), None);
        assert_eq!(serde_json::to_string(&rounded(1.0)).unwrap(), "1.0");
    }

    #[test]
    fn a_split_character_is_shown_in_one_token_and_kept_in_bytes() {
        let step = |text: &[u8]| Step { text: text.to_vec(), ..Step::default() };
        let trace = Trace { steps: vec![step(b"Z\xc3"), step(b"\xbc")], ..Trace::default() };
        let data = data(&trace);
        assert_eq!(data["steps"], json!([{ "k": 0, "c": "Zü" }, { "k": 1, "c": "" }]));
        assert_eq!(data["tokens"][0], json!({ "i": 0, "t": "Z\u{fffd}", "h": "5ac3" }));
    }

    #[test]
    fn an_open_region_ends_before_the_end_token() {
        let step = |text: &str| Step { text: text.into(), ..Step::default() };
        let end =
            Step { is_end: true, name: Some("<eos>".to_owned()), text: b"<eos>".to_vec(), ..Step::default() };
        let region = |start, end| Region { kind: "call".to_owned(), start, end, ..Region::default() };
        let regions = vec![region(1, None), region(1, Some(3))];
        let data = data(&Trace { steps: vec![step("ab"), step("cd"), end], regions, ..Trace::default() });
        let expected = json!([
            { "k": "call", "s": [0, 1], "e": [2, 0], "o": true },
            { "k": "call", "s": [0, 1], "e": [1, 1] },
        ]);
        assert_eq!(data["regions"], expected);
    }

    #[test]
    fn a_frame_repeats_nothing() {
        let cell =
            |text: Option<&str>, is_new| Cell { text: text.map(Into::into), is_new, ..Cell::default() };
        let positions = [
            vec![cell(Some("a"), true), cell(None, false)],
            vec![cell(Some("a"), false), cell(Some("b"), true)],
        ];
        let frames = positions.map(|positions| Frame { positions }).to_vec();
        let data = data(&Trace { frames, ..Trace::default() });
        assert_eq!(data["frames"], json!([[["a", 1, null, null], 0], [1, ["b", 1, null, null]]]));
    }

    #[test]
    fn branches_share_the_beginning_of_a_character() {
        let branch = |parent, text: &[u8]| Branch { parent, text: text.to_vec(), ..Branch::default() };
        let tree = vec![
            branch(None, b"a\xc3"),
            branch(Some(0), b"\xbc"),
            branch(Some(0), b"\xa9\xc3"),
            branch(Some(9), b"x"),
        ];
        let data = data(&Trace { tree, ..Trace::default() });
        let expected =
            json!([{ "t": "a" }, { "t": "ü", "p": 0 }, { "t": "é\u{fffd}", "p": 0 }, { "t": "x" }]);
        assert_eq!(data["tree"], expected);
    }

    #[test]
    fn equal_tokens_are_one() {
        let candidate = |is_allowed, why: Option<&str>| Candidate {
            token: 3,
            text: b"x".to_vec(),
            probability: 0.5,
            is_allowed,
            why: why.map(str::to_owned),
            ..Candidate::default()
        };
        let wanted = vec![candidate(true, None), candidate(false, None), candidate(false, Some("no"))];
        let step = Step { token: 3, text: b"x".to_vec(), wanted, ..Step::default() };
        let data = data(&Trace { steps: vec![step], ..Trace::default() });
        assert_eq!(data["tokens"], json!([{ "i": 3, "t": "x" }]));
        assert_eq!(data["steps"][0]["w"], json!([[0, 0.5], [0, 0.5, -1], [0, 0.5, 0]]));
        assert_eq!(data["strings"], json!(["no"]));
    }
}

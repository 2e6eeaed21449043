//! A lexed grammar and a lattice: what is possible, what masked positions can take, one way to fill them.
//!
//! The whole graph of a lattice with masked positions can be large. So two others are asked before: a part of it (`narrow`), where
//! what is found is possible, and one of a larger set of texts (`wide`), where what is not found is impossible. Only
//! what they leave open is asked of the whole.

use maskwright_automata::Fuel;
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::lexed::charted::Charted;
use crate::lexed::earley::Earley;
use crate::lexed::examples::{Patience, by_examples, by_windows, count, text_like};
use crate::lexed::graph::Graph;
use crate::lexed::narrow::{Reading, narrow, usual};
use crate::lexed::tables::LexedTables;
use crate::lexed::wide::{around, rough, wide};
use crate::parse::Blocked;

/// About how many facts of a narrow graph are made one by one to decide what a position can take, and of a wide one.
const N_NARROW: usize = 30_000;
const N_WIDE: usize = 500_000;

/// How many masked positions on each side of one are left open in a text that is known, at first and then.
const WINDOWS: [&[usize]; 2] = [&[0, 2], &[8]];

/// How much work it may be to make all facts of a narrow graph before more of them, and examples, are looked for.
const SWEEP_WORK: u64 = 5_000_000;
const N_MORE: usize = 200_000;
const EXAMPLES: Patience = Patience { n_facts: N_MORE, n_wide: 0, n_failures: 4 };

/// How hard the tokens that are left are refused, each by itself, if they are no more than may fail.
const REFUSALS: Patience = Patience { n_facts: 1_000, n_wide: N_WIDE, n_failures: 16 };

/// How much work it may be to make all facts of a narrow graph behind that.
const NARROW_WORK: u64 = 45_000_000;

/// How much work the whole graph may be for all its facts to be made before examples are looked for hard.
const WHOLE_WORK: u64 = 80_000_000;
const MORE_EXAMPLES: Patience = Patience { n_facts: N_MORE, n_wide: N_WIDE, n_failures: 4 };

/// How many masked positions before one and behind it are read as such to refuse its tokens, at first and then.
const MASKED_AROUND: [[usize; 2]; 2] = [[0, 3], [3, 3]];

/// Of so many tokens of the vocabulary one is asked about, or fewer: then they are refused before they are looked for at length.
const FEW: usize = 128;

/// See the module. Charts are made when they are needed.
#[derive(Debug, Default)]
pub(crate) struct LexedParse {
    steps: Vec<Step>,
    ends: Vec<usize>,
    /// How the narrow graph reads the positions, if there is one.
    readings: Option<Vec<Reading>>,
    narrow: Option<Charted>,
    whole: Option<Charted>,
    /// The first boundary by which a text is known to end, and the last by which none is.
    possible_by: Option<usize>,
    impossible_by: Option<usize>,
    /// A text that is known of, and the boundary that it ends at.
    text: Option<(usize, Vec<Filling>)>,
    /// The same of a lattice that this was the parse of before.
    text_before: Option<(usize, Vec<Filling>)>,
    /// By masked position, what it can take, where that was asked.
    masks: FxHashMap<usize, Box<[u32]>>,
}

impl LexedParse {
    /// Makes this the parse of the lattice of `steps`, for texts that end at one of the boundaries `ends`.
    pub(crate) fn update(&mut self, steps: &[Step], ends: &[usize], tables: &LexedTables) {
        if self.steps != steps || self.ends != ends {
            let counted = || usual(steps).filter(|_| tables.hypotheses.layout().is_some());
            *self = LexedParse {
                steps: steps.to_vec(),
                ends: ends.to_vec(),
                text_before: self.text.take().or_else(|| self.text_before.take()),
                readings: if tables.narrow_first { narrow(steps, None).or_else(counted) } else { None },
                ..LexedParse::default()
            };
        }
    }

    /// Whether some text ends at `boundary` or before it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn ends_by(
        &mut self,
        boundary: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        if !self.ends.iter().any(|&end| end <= boundary)
            || self.impossible_by.is_some_and(|by| boundary <= by)
        {
            return Ok(false);
        }
        if self.possible_by.is_some_and(|by| by <= boundary) {
            return Ok(true);
        }
        if self.ends.iter().all(|&end| end <= boundary) {
            let is_possible = self.is_possible(tables, fuel)?;
            return Ok(self.note(boundary, is_possible));
        }
        let ends: Vec<usize> = self.ends.iter().copied().filter(|&end| end <= boundary).collect();
        let mut part = LexedParse::default();
        part.update(&self.steps, &ends, tables);
        let is_possible = part.is_possible(tables, fuel)?;
        if self.text.is_none() {
            self.text = part.text.take();
        }
        Ok(self.note(boundary, is_possible))
    }

    /// Keeps in mind, and returns, whether some text ends at `boundary` or before.
    fn note(&mut self, boundary: usize, is_possible: bool) -> bool {
        if is_possible {
            self.possible_by = Some(self.possible_by.map_or(boundary, |by| by.min(boundary)));
        } else {
            self.impossible_by = Some(self.impossible_by.map_or(boundary, |by| by.max(boundary)));
        }
        is_possible
    }

    /// Whether there is some text.
    fn is_possible(&mut self, tables: &mut LexedTables, fuel: &Fuel) -> Result<bool, InfillError> {
        self.learn_from_before(tables, fuel)?;
        if self.text.is_some() {
            return Ok(true);
        }
        if self.whole.is_none()
            && let Some(readings) = &self.readings
        {
            let narrow = match self.narrow.take() {
                Some(known) => known,
                None => Charted::new(&self.steps, &self.ends, readings, tables, fuel)?,
            };
            if self.narrow.insert(narrow).is_possible(tables, fuel)? {
                if !self.has_any_text() {
                    // What comes of it is faster masks only, so a limit that it reaches is no matter.
                    self.text = match self.known_text(tables, fuel) {
                        Err(error) if error.is_limit() => None,
                        text => text?,
                    };
                }
                return Ok(true);
            }
            let more = if self.has_any_text() { rough(&self.steps) } else { wide(&self.steps, None) };
            let mut wide = Charted::new(&more, &self.ends, &[], tables, fuel)?;
            if !wide.is_possible(tables, fuel)? {
                return Ok(false);
            }
        }
        self.whole(tables, fuel)?.is_possible(tables, fuel)
    }

    /// Adds to `mask` the tokens that masked position `position` can take.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn add_tokens(
        &mut self,
        position: usize,
        mask: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if !tables.search_first {
            let mut asked = vec![u32::MAX; mask.len()];
            return self.whole(tables, fuel)?.sweep(position, &mut asked, mask, tables, fuel);
        }
        if self.readings.is_none() {
            return self.whole(tables, fuel)?.add_tokens(position, mask, tables, fuel);
        }
        if !self.masks.contains_key(&position) {
            let allowed = match &self.readings {
                Some(usual) if self.has_any_text() => self.decide_usual(position, usual, tables, fuel)?,
                _ => self.decide(position, tables, fuel)?,
            };
            self.masks.insert(position, allowed.into());
        }
        let allowed = &self.masks[&position];
        mask.iter_mut().zip(allowed).for_each(|(to, from)| *to |= from);
        Ok(())
    }

    /// Whether any text may stand somewhere. Then a narrow graph is one of lines of usual widths.
    fn has_any_text(&self) -> bool {
        self.steps.iter().any(|(piece, _)| matches!(piece, Piece::Free))
    }

    /// The tokens that masked position `position` can take. Those that the text next to it lets pass are asked about, first in windows of a
    /// known text, then on the narrow graph; those that are left on the whole one or, if that is large, on the wide one and by examples
    /// before. A graph is searched for a while and then swept.
    fn decide(
        &mut self,
        position: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Vec<u32>, InfillError> {
        let mut asked = tables.around(around(&self.steps, &self.ends, position, [0; 2]), fuel)?;
        let mut allowed = vec![0; asked.len()];
        let is_done = |asked: &[u32]| asked.iter().all(|&word| word == 0);
        let Some(readings) = narrow(&self.steps, Some(position)) else {
            let mut whole = self.refuted_whole(position, &mut asked, tables, fuel)?;
            whole.settle(position, &mut asked, &mut allowed, tables, fuel)?;
            return Ok(allowed);
        };
        let text = self.some_text(position, tables, fuel)?;
        let (steps, ends) = (&self.steps, &self.ends);
        let n_vocab = tables.vocabulary.n_vocab();
        let are_few = |asked: &[u32]| count(asked) * FEW <= n_vocab;
        for (windows, n_masked) in WINDOWS.into_iter().zip(MASKED_AROUND) {
            if let Some(text) = &text {
                by_windows(steps, text, (position, windows), [&mut asked, &mut allowed], tables, fuel)?;
            }
            if are_few(&asked) {
                tables.refuse_around(around(steps, ends, position, n_masked), &mut asked, fuel)?;
            }
            if is_done(&asked) {
                return Ok(allowed);
            }
        }
        let mut narrow = Charted::asking((steps, ends), &readings, (position, &mut asked), tables, fuel)?;
        narrow.decide(position, &mut asked, &mut allowed, N_NARROW, tables, fuel)?;
        if !is_done(&asked) {
            let sweep = |part: &Fuel| narrow.sweep_if_soon(position, &mut asked, &mut allowed, tables, part);
            if !limited(SWEEP_WORK, position, fuel, sweep)?.unwrap_or(false) {
                narrow.decide(position, &mut asked, &mut allowed, N_MORE, tables, fuel)?;
                let masks = [&mut asked, &mut allowed];
                by_examples((steps, ends), position, masks, EXAMPLES, tables, fuel)?;
                if count(&asked) <= REFUSALS.n_failures {
                    let masks = [&mut asked, &mut allowed];
                    by_examples((steps, ends), position, masks, REFUSALS, tables, fuel)?;
                }
                if !is_done(&asked) {
                    // Of few tokens the graph is smaller.
                    let sweep = |part: &Fuel| {
                        let asking = (position, &mut asked[..]);
                        narrow = Charted::asking((steps, ends), &readings, asking, tables, part)?;
                        narrow.sweep_if_soon(position, &mut asked, &mut allowed, tables, part)
                    };
                    limited(NARROW_WORK, position, fuel, sweep)?;
                }
            }
        }
        drop(narrow);
        if is_done(&asked) {
            return Ok(allowed);
        }
        let mut whole = self.small_whole(position, &mut asked, tables, fuel)?;
        if let Some(whole) = &mut whole {
            let sweep = |part: &Fuel| whole.sweep_if_soon(position, &mut asked, &mut allowed, tables, part);
            if limited(u64::MAX, position, fuel, sweep)?.unwrap_or(false) {
                return Ok(allowed);
            }
        }
        let wide = wide(steps, Some(position));
        let mut wide = Charted::asking((&wide, ends), &[], (position, &mut asked), tables, fuel)?;
        wide.refuse(position, &mut asked, N_WIDE, tables, fuel)?;
        drop(wide);
        if !is_done(&asked) {
            let masks = [&mut asked, &mut allowed];
            by_examples((steps, ends), position, masks, MORE_EXAMPLES, tables, fuel)?;
        }
        if !is_done(&asked) {
            let mut whole = match whole {
                Some(known) => known,
                None => self.refuted_whole(position, &mut asked, tables, fuel)?,
            };
            whole.sweep(position, &mut asked, &mut allowed, tables, fuel)?;
        }
        Ok(allowed)
    }

    /// Looks for a text near that of the lattice before.
    fn learn_from_before(&mut self, tables: &mut LexedTables, fuel: &Fuel) -> Result<(), InfillError> {
        if self.text.is_none()
            && self.readings.is_some()
            && let Some(before) = self.text_before.take()
        {
            self.text = text_like(&self.steps, &self.ends, before, tables, fuel)?;
        }
        Ok(())
    }

    /// A text that ends behind a position and is known of or found soon, and the boundary that it ends at.
    fn some_text(
        &mut self,
        position: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        self.learn_from_before(tables, fuel)?;
        self.text = self.known_text(tables, fuel)?;
        let ends_behind = |(end, _): &(usize, Vec<Filling>)| *end > position;
        if !self.text.as_ref().is_some_and(ends_behind)
            && let Some(readings) = &self.readings
        {
            let ends: Vec<usize> = self.ends.iter().copied().filter(|&end| end > position).collect();
            let mut narrow = Charted::new(&self.steps, &ends, readings, tables, fuel)?;
            if narrow.has_text(N_NARROW, tables, fuel)? == Some(true) {
                self.text = narrow.fillings(&self.steps, tables, fuel)?;
            }
        }
        Ok(self.text.clone().filter(ends_behind))
    }

    /// A text that is known of, and the boundary that it ends at.
    fn known_text(
        &self,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        if self.text.is_some() {
            return Ok(self.text.clone());
        }
        for charted in [&self.narrow, &self.whole].into_iter().flatten() {
            if let Some(fillings) = charted.fillings(&self.steps, tables, fuel)? {
                return Ok(Some(fillings));
            }
        }
        Ok(None)
    }

    /// The same for a lattice with any text under indentation: those that lines of usual widths let it take, and of the others those
    /// that the whole has, if lines of whatever widths do not refuse them.
    fn decide_usual(
        &self,
        position: usize,
        usual: &[Reading],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Vec<u32>, InfillError> {
        let mut rough = Charted::new(&rough(&self.steps), &self.ends, &[], tables, fuel)?;
        let mut asked = vec![u32::MAX; tables.vocabulary.n_words()];
        rough.refute(position, &mut asked, true, tables, fuel)?;
        let mut allowed = vec![0; asked.len()];
        let mut narrow = Charted::new(&self.steps, &self.ends, usual, tables, fuel)?;
        if !narrow.decide(position, &mut asked, &mut allowed, N_NARROW, tables, fuel)? {
            let sweep = |part: &Fuel| narrow.sweep_if_soon(position, &mut asked, &mut allowed, tables, part);
            limited(SWEEP_WORK, position, fuel, sweep)?;
        }
        if asked.iter().any(|&word| word != 0) {
            rough.refuse(position, &mut asked, N_WIDE, tables, fuel)?;
        }
        if asked.iter().any(|&word| word != 0) {
            let mut whole = self.refuted_whole(position, &mut asked, tables, fuel)?;
            whole.settle(position, &mut asked, &mut allowed, tables, fuel)?;
        }
        Ok(allowed)
    }

    /// The whole graph, with what it refuses at once taken out of `asked`.
    fn refuted_whole(
        &self,
        position: usize,
        asked: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Charted, InfillError> {
        Charted::asking((&self.steps, &self.ends), &[], (position, asked), tables, fuel)
    }

    /// The same, if it is not large.
    fn small_whole(
        &self,
        position: usize,
        asked: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<Charted>, InfillError> {
        limited(WHOLE_WORK, position, fuel, |part| self.refuted_whole(position, asked, tables, part))
    }

    /// Whether some text takes the way round piece `position`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn is_skipped(
        &mut self,
        position: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        self.whole(tables, fuel)?.is_skipped(position, tables, fuel)
    }

    /// What some text puts into the unknown places, and the boundary that it ends at; `None` if there is none.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fillings(
        &mut self,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        if !self.is_possible(tables, fuel)? {
            return Ok(None);
        }
        self.known_text(tables, fuel)
    }

    /// How far an impossible lattice can be read from the left: to the last place where a token of the lexer can
    /// begin.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn blocked(
        &self,
        steps: &[Step],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Blocked, InfillError> {
        // What lies ahead restricts what is read, and here it must not.
        let mut graph = Graph::new(steps, &[], &[], tables, fuel)?;
        graph.forget_ahead(tables.n_terminals);
        let mut chart = Earley::new(&graph, tables);
        chart.finish(&graph, tables, fuel)?;
        let boundaries = chart.reached().filter(|&node| graph.is_boundary[node as usize]);
        let last = boundaries.map(|node| graph.nodes[node as usize].0).max_by_key(|place| {
            let offset = match steps.get(place.position as usize) {
                Some((Piece::Bytes(_), _)) => place.inner,
                _ => 0,
            };
            (place.position, offset)
        });
        let Some(place) = last else { return Ok(Blocked { position: 0, n_bytes: 0 }) };
        let position = place.position as usize;
        let is_text = matches!(steps.get(position), Some((Piece::Bytes(_), _)));
        Ok(Blocked { position, n_bytes: if is_text { place.inner as usize } else { 0 } })
    }

    fn whole(&mut self, tables: &mut LexedTables, fuel: &Fuel) -> Result<&mut Charted, InfillError> {
        let whole = match self.whole.take() {
            Some(known) => known,
            None => Charted::new(&self.steps, &self.ends, &[], tables, fuel)?,
        };
        Ok(self.whole.insert(whole))
    }
}

/// What `work` gives if it takes no more than `limit` of what is left, and no more than two thirds of that: the rest is for what comes after.
fn limited<T>(
    limit: u64,
    position: usize,
    fuel: &Fuel,
    work: impl FnOnce(&Fuel) -> Result<T, InfillError>,
) -> Result<Option<T>, InfillError> {
    let limit = limit.min(fuel.left() / 3 * 2);
    let part = Fuel::new(limit);
    let done = work(&part);
    fuel.spend(limit - part.left()).map_err(|error| InfillError::work(position, error))?;
    match done {
        Err(error) if error.is_limit() => Ok(None),
        done => done.map(Some),
    }
}

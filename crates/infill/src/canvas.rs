//! A canvas of tokens and masked positions, filled in any order.

use maskwright_vocabulary::{TokenId, mask_contains, mask_insert, mask_words};

use crate::choices::{Choice, Choices, Filled};
use crate::derivation::Filling;
use crate::lattice::Piece;
use crate::{Error, InfillError, Infiller};

/// What may follow the end of a canvas's text.
///
/// ```
/// use maskwright_infill::CanvasConfig;
/// use maskwright_vocabulary::TokenId;
/// let config = CanvasConfig::with_padding(Some(TokenId(50_257)));
/// assert_ne!(config, CanvasConfig::default());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CanvasConfig {
    /// The token that a model fills up with after EOS, if that is not EOS itself. It must be one that never matches as
    /// text.
    pub padding: Option<TokenId>,
    /// The token that stands for a masked position in the model's input. It is never a part of the text, even where the
    /// grammar allows any token, and must be one that never matches as text.
    pub mask: Option<TokenId>,
}

impl CanvasConfig {
    /// The default, with this padding.
    pub fn with_padding(padding: Option<TokenId>) -> CanvasConfig {
        CanvasConfig { padding, mask: None }
    }

    /// The same with this token for masked positions.
    #[must_use]
    pub fn and_mask(self, mask: Option<TokenId>) -> CanvasConfig {
        CanvasConfig { mask, ..self }
    }

    /// The tokens that are no part of a text.
    fn blanks(&self) -> Vec<TokenId> {
        self.padding.into_iter().chain(self.mask).collect()
    }
}

/// A sequence of positions, each a known token or a masked one (exactly one token).
///
/// The canvas as a whole is one word of the grammar's language, which takes whole positions from the first one on.
/// Behind its end come an EOS and then EOS or padding tokens, or nothing; where the vocabulary has no EOS,
/// padding alone.
///
/// Theorem (exactness). [`fill_bitmask`](Canvas::fill_bitmask)(i) contains t iff all masked positions but i can be
/// filled so that, with t at i, the canvas is of that form.
///
/// Work is kept between calls: a chart of everything to the left of the first position that changed since.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Canvas, CanvasConfig, Infiller};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["(", ")", "()", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[3], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("()").repeat(2, Some(2)));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited())?;
/// let mut canvas = Canvas::new(&infiller, &[None, None, Some(TokenId(1))], CanvasConfig::default())?;
/// assert_eq!(canvas.complete()?, Some(vec![TokenId(2), TokenId(0), TokenId(1)]));
/// assert!(!canvas.set(0, TokenId(0))?, "`(` and one token and `)` is never ()()");
/// assert!(canvas.set(1, TokenId(0))?);
/// canvas.undo();
/// assert_eq!(canvas.positions()[1], None);
/// # Ok::<(), maskwright_infill::Error>(())
/// ```
pub struct Canvas {
    infiller: Infiller,
    config: CanvasConfig,
    positions: Vec<Option<TokenId>>,
    parse: Choices,
    /// Whether the parse is that of `positions`.
    is_fresh: bool,
    /// Whether the positions can be filled, where that is known.
    is_possible: Option<bool>,
    undo: Vec<Change>,
}

/// What a position was before a change, and what was known then.
#[derive(Clone, Copy, Debug)]
struct Change {
    position: usize,
    before: Option<TokenId>,
    was_possible: Option<bool>,
}

impl Canvas {
    /// A canvas; `None` is a masked position. Nothing is computed yet.
    ///
    /// # Errors
    /// If a token is not in the vocabulary, padding or the mask token matches as text or is named by the grammar, or there are
    /// more positions than the limit.
    pub fn new(
        infiller: &Infiller,
        positions: &[Option<TokenId>],
        config: CanvasConfig,
    ) -> Result<Canvas, Error> {
        let limit = infiller.limits().max_positions;
        if positions.len() > limit {
            return Err(InfillError::too_long(positions.len(), limit).into());
        }
        let infiller = infiller.clone();
        let blanks = config.blanks();
        for &token in positions.iter().flatten().chain(&blanks) {
            infiller.check_token(token)?;
        }
        if let Some(blank) = blanks.iter().find(|&&id| infiller.vocabulary().token_bytes(id).is_some()) {
            return Err(InfillError::padding_is_text(blank.0).into());
        }
        if infiller.names_only(&blanks) {
            return Err(InfillError::blank_is_named().into());
        }
        Ok(Canvas {
            parse: Choices::new(&infiller),
            infiller,
            config,
            positions: positions.to_vec(),
            is_fresh: false,
            is_possible: None,
            undo: Vec::new(),
        })
    }

    /// The positions as they are now.
    pub fn positions(&self) -> &[Option<TokenId>] {
        &self.positions
    }

    /// How many positions are masked.
    pub fn n_masked(&self) -> usize {
        self.positions.iter().filter(|position| position.is_none()).count()
    }

    /// Whether the masked positions can be filled.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn is_possible(&mut self) -> Result<bool, Error> {
        if let Some(known) = self.is_possible {
            return Ok(known);
        }
        self.refresh()?;
        let is_possible = self.parse.ends_by(self.positions.len())?;
        self.is_possible = Some(is_possible);
        Ok(is_possible)
    }

    /// Writes to `mask` the tokens that position `position` can take so that the rest can still be filled. At a
    /// position that is known, those that it could have instead. Empty if there are none.
    ///
    /// The first mask after a change marks the chart, which takes time linear in it; those of other positions
    /// then take time in their own tokens.
    ///
    /// # Errors
    /// If there is no such position, the mask is too short, or a limit is reached.
    pub fn fill_bitmask(&mut self, position: usize, mask: &mut [u32]) -> Result<(), Error> {
        self.check_position(position)?;
        let needed = mask_words(self.infiller.vocabulary().n_vocab());
        if mask.len() < needed {
            return Err(InfillError::mask_too_short(mask.len(), needed).into());
        }
        let known = self.positions[position].take();
        self.is_fresh &= known.is_none();
        let filled = self.fill_masked(position, mask);
        self.is_fresh &= known.is_none();
        self.positions[position] = known;
        Ok(filled?)
    }

    /// Puts `token` at `position`, masked or known before; false, and nothing changes, if the rest can then not be
    /// filled.
    ///
    /// # Errors
    /// If there is no such position or token, or a limit is reached; then nothing changes.
    pub fn set(&mut self, position: usize, token: TokenId) -> Result<bool, Error> {
        self.check_position(position)?;
        self.infiller.check_token(token)?;
        let before = self.positions[position];
        let change = Change { position, before, was_possible: self.is_possible };
        if before.is_none() {
            // What the position can take is asked of the chart as it is, so nothing is made anew.
            let mut mask = vec![0; mask_words(self.infiller.vocabulary().n_vocab())];
            self.fill_masked(position, &mut mask)?;
            if !mask_contains(&mask, token) {
                return Ok(false);
            }
            self.put(position, Some(token), Some(true));
        } else {
            self.put(position, Some(token), None);
            match self.is_possible() {
                Ok(true) => {}
                other => {
                    self.put(position, before, change.was_possible);
                    return other;
                }
            }
        }
        self.undo.push(change);
        Ok(true)
    }

    /// Masks `position` again.
    ///
    /// # Errors
    /// If there is no such position.
    pub fn unset(&mut self, position: usize) -> Result<(), Error> {
        self.check_position(position)?;
        let change = Change { position, before: self.positions[position], was_possible: self.is_possible };
        // What could be filled still can.
        self.put(position, None, self.is_possible.filter(|&is_possible| is_possible));
        self.undo.push(change);
        Ok(())
    }

    /// Takes the last [`set`](Canvas::set) or [`unset`](Canvas::unset) back; false if there is none.
    pub fn undo(&mut self) -> bool {
        let Some(Change { position, before, was_possible }) = self.undo.pop() else { return false };
        self.put(position, before, was_possible);
        true
    }

    /// The whole canvas filled in some way; `None` if it is impossible. Without a lexer the text is one that takes the
    /// fewest positions.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn complete(&mut self) -> Result<Option<Vec<TokenId>>, Error> {
        self.refresh()?;
        let Some(found) = self.parse.fillings(&self.choices())? else { return Ok(None) };
        let Filled { end, fillings, .. } = found;
        let blanks = self.config.blanks();
        let mut filled = self.positions.clone();
        for filling in fillings {
            if let Filling::Token { position, token } = filling {
                filled[position] = Some(self.infiller.token_of(token, &blanks));
            }
        }
        let eos = self.infiller.vocabulary().eos_token_ids().first().copied().map(TokenId);
        for (index, position) in filled.iter_mut().enumerate().skip(end) {
            let tail = if index == end { eos } else { self.config.padding.or(eos) };
            *position = position.or(tail).or(self.config.padding);
        }
        Ok(filled.into_iter().collect())
    }

    /// Makes `position` something else; `is_possible` is what is known of the canvas then.
    fn put(&mut self, position: usize, to: Option<TokenId>, is_possible: Option<bool>) {
        self.is_fresh &= self.positions[position] == to;
        self.positions[position] = to;
        self.is_possible = is_possible;
    }

    /// [`fill_bitmask`](Self::fill_bitmask) of a masked position.
    fn fill_masked(&mut self, position: usize, mask: &mut [u32]) -> Result<(), InfillError> {
        mask.fill(0);
        self.refresh()?;
        self.parse.add_tokens(position, mask)?;
        for TokenId(blank) in self.config.blanks() {
            mask[blank as usize / 32] &= !(1 << (blank % 32));
        }
        self.add_tail(position, mask)
    }

    /// Adds the tokens that `position` can have behind a text that ends before it.
    fn add_tail(&mut self, position: usize, mask: &mut [u32]) -> Result<(), InfillError> {
        let vocabulary = self.infiller.vocabulary().clone();
        let eos = vocabulary.eos_token_ids();
        if !eos.is_empty() && self.parse.ends_by(position)? {
            eos.iter().for_each(|&id| mask_insert(mask, TokenId(id)));
        }
        if let Some(padding) = self.config.padding {
            // Padding begins where there is no EOS for that, or behind one.
            let last_end = if eos.is_empty() { Some(position) } else { position.checked_sub(1) };
            if let Some(last_end) = last_end
                && self.parse.ends_by(last_end)?
            {
                mask_insert(mask, padding);
            }
        }
        Ok(())
    }

    /// Makes the parse that of the positions.
    fn refresh(&mut self) -> Result<(), InfillError> {
        if self.is_fresh {
            return Ok(());
        }
        self.parse.update(&self.choices(), &self.ends())?;
        self.is_fresh = true;
        Ok(())
    }

    /// The positions as steps of a lattice.
    fn choices(&self) -> Vec<Choice> {
        let pieces = |position: &Option<TokenId>| match *position {
            None => vec![Piece::Token],
            Some(token) if self.config.blanks().contains(&token) => vec![Piece::Stop],
            Some(token) => self.infiller.pieces(token),
        };
        self.positions.iter().map(|position| (pieces(position), None)).collect()
    }

    /// The boundaries where the text may end as far as the positions behind them go, ascending.
    fn ends(&self) -> Vec<usize> {
        let vocabulary = self.infiller.vocabulary();
        let has_eos = !vocabulary.eos_token_ids().is_empty();
        let is_padding = |token| Some(token) == self.config.padding;
        let mut ends = vec![self.positions.len()];
        if !has_eos && self.config.padding.is_none() {
            return ends;
        }
        for (end, position) in self.positions.iter().enumerate().rev() {
            if position.is_none_or(|token| vocabulary.is_eos(token) || !has_eos && is_padding(token)) {
                ends.push(end);
            }
            if !position.is_none_or(|token| vocabulary.is_eos(token) || is_padding(token)) {
                break;
            }
        }
        ends.reverse();
        ends
    }

    fn check_position(&self, position: usize) -> Result<(), InfillError> {
        if position < self.positions.len() {
            return Ok(());
        }
        Err(InfillError::position(position, self.positions.len()))
    }
}

impl std::fmt::Debug for Canvas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canvas").field("positions", &self.positions).finish_non_exhaustive()
    }
}

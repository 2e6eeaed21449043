//! The decoding loop of paper 3, as a baseline to measure against: propose, check, reject.
//!
//! *Constrained Decoding of Diffusion LLMs with Context-Free Grammars* takes every run of masked positions for any
//! text, however many tokens are left for it. A proposal of the model is kept iff the canvas can be completed in that
//! sense. So a kept proposal may lead to a canvas that has no tokens left to be completed with; then the loop rejects
//! until it gives up, and a completion is an example word instead of what the model wrote. The check is this crate's
//! own; what differs from [`Canvas`](crate::Canvas) is the method.
//!
//! Not for decoding: a canvas gives whole masks and counts tokens.

use maskwright_vocabulary::TokenId;

use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::parse::Parse;
use crate::{InfillError, Infiller};

/// When the paper's loop gives up.
///
/// ```
/// assert_eq!(maskwright_infill::BaselineConfig::default().max_rejections, 100);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaselineConfig {
    /// Proposals rejected in a row.
    pub max_rejections: usize,
}

impl Default for BaselineConfig {
    /// The paper's.
    fn default() -> BaselineConfig {
        BaselineConfig { max_rejections: 100 }
    }
}

/// How the paper's loop ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaselineOutcome {
    /// The positions at the end.
    pub positions: Vec<Option<TokenId>>,
    /// Whether no masked position is left; then the text is a word. If not, the loop gave up.
    pub is_finished: bool,
    /// How many proposals were kept, and how many rejected.
    pub n_kept: usize,
    /// See `n_kept`.
    pub n_rejected: usize,
}

/// A canvas in the paper's relaxed sense: each run of masked positions is any text.
///
/// The text ends before the first EOS, or at the canvas's end; what stands behind an EOS must be EOS too, or masked.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Canvas, CanvasConfig, Infiller, RelaxedCanvas};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[2], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("abab"));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited())?;
/// let positions = [Some(TokenId(0)), None, Some(TokenId(1))];
/// assert!(RelaxedCanvas::new(&infiller, &positions)?.is_possible()?, "any text between them");
/// assert!(!Canvas::new(&infiller, &positions, CanvasConfig::default())?.is_possible()?, "one token is too few");
/// # Ok::<(), maskwright_infill::InfillError>(())
/// ```
#[derive(Debug)]
pub struct RelaxedCanvas {
    infiller: Infiller,
    positions: Vec<Option<TokenId>>,
    parse: Parse,
}

impl RelaxedCanvas {
    /// A canvas; `None` is a masked position. Nothing is computed yet.
    ///
    /// # Errors
    /// If a token is not in the vocabulary, or there are more positions than the limit.
    pub fn new(infiller: &Infiller, positions: &[Option<TokenId>]) -> Result<RelaxedCanvas, InfillError> {
        let limit = infiller.limits().max_positions;
        if positions.len() > limit {
            return Err(InfillError::too_long(positions.len(), limit));
        }
        positions.iter().flatten().try_for_each(|&token| infiller.check_token(token))?;
        let parse = Parse::new(infiller);
        Ok(RelaxedCanvas { infiller: infiller.clone(), positions: positions.to_vec(), parse })
    }

    /// The positions as they are now.
    pub fn positions(&self) -> &[Option<TokenId>] {
        &self.positions
    }

    /// Whether some texts in the place of the masked runs make a word.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn is_possible(&mut self) -> Result<bool, InfillError> {
        let Some(steps) = self.steps() else { return Ok(false) };
        self.parse.update(&steps, &[steps.len()])?;
        self.parse.ends_by(steps.len())
    }

    /// Puts `token` at `position`; false, and nothing changes, if nothing completes the canvas then.
    ///
    /// # Errors
    /// If there is no such position or token, or a limit is reached; then nothing changes.
    pub fn set(&mut self, position: usize, token: TokenId) -> Result<bool, InfillError> {
        if position >= self.positions.len() {
            return Err(InfillError::position(position, self.positions.len()));
        }
        self.infiller.check_token(token)?;
        let before = self.positions[position].replace(token);
        let is_possible = self.is_possible();
        if !matches!(is_possible, Ok(true)) {
            self.positions[position] = before;
        }
        is_possible
    }

    /// An example word that the canvas could become; `None` if there is none.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn complete(&mut self) -> Result<Option<Vec<u8>>, InfillError> {
        let Some(steps) = self.steps() else { return Ok(None) };
        self.parse.update(&steps, &[steps.len()])?;
        let Some((_, fillings)) = self.parse.fillings()? else { return Ok(None) };
        let mut texts: Vec<Vec<u8>> = steps
            .iter()
            .map(|(piece, _)| if let Piece::Bytes(bytes) = piece { bytes.to_vec() } else { Vec::new() })
            .collect();
        for filling in fillings {
            if let Filling::Text { position, bytes } = filling {
                texts[position].extend(bytes);
            }
        }
        Ok(Some(texts.concat()))
    }

    /// The paper's loop: asks `propose` for a position and a token until no position is masked, keeps what
    /// [`set`](Self::set) keeps, and gives up where `propose` has none or too many were rejected in a row.
    ///
    /// # Errors
    /// If a proposal is not on the canvas or in the vocabulary, or a limit is reached.
    pub fn propose_and_check(
        &mut self,
        config: BaselineConfig,
        mut propose: impl FnMut(&[Option<TokenId>]) -> Option<(usize, TokenId)>,
    ) -> Result<BaselineOutcome, InfillError> {
        let (mut n_kept, mut n_rejected, mut in_a_row) = (0, 0, 0);
        while in_a_row < config.max_rejections && self.positions.contains(&None) {
            let Some((position, token)) = propose(&self.positions) else { break };
            if self.set(position, token)? {
                n_kept += 1;
                in_a_row = 0;
            } else {
                n_rejected += 1;
                in_a_row += 1;
            }
        }
        let is_finished = !self.positions.contains(&None) && self.is_possible()?;
        Ok(BaselineOutcome { positions: self.positions.clone(), is_finished, n_kept, n_rejected })
    }

    /// The lattice; `None` if something stands behind the end.
    fn steps(&self) -> Option<Vec<Step>> {
        let vocabulary = self.infiller.vocabulary();
        let is_eos = |position: &Option<TokenId>| position.is_some_and(|token| vocabulary.is_eos(token));
        let end = self.positions.iter().position(is_eos).unwrap_or(self.positions.len());
        if !self.positions[end..].iter().all(|position| position.is_none() || is_eos(position)) {
            return None;
        }
        let mut steps: Vec<Step> = Vec::new();
        for position in &self.positions[..end] {
            match *position {
                Some(token) => {
                    let bytes = vocabulary.token_bytes(token);
                    steps.push((bytes.map_or(Piece::Stop, |bytes| Piece::Bytes(bytes.into())), None));
                }
                None if matches!(steps.last(), Some((Piece::Free, _))) => {}
                None => steps.push((Piece::Free, Some(steps.len() as u32 + 1))),
            }
        }
        Some(steps)
    }
}

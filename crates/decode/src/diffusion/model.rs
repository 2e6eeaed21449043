//! What the loops need of a masked diffusion model.

use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::model::{Logits, ModelError};
use crate::random_model::mix;

/// A model that reads whole canvases, in which a mask token stands for what is not known yet, and says for
/// every position what it takes to be there.
///
/// # Contract
/// * The logits of a canvas depend on its tokens and on nothing else: not on the other canvases of the batch.
/// * Logits of positions that are known may have any values; the loops ask for those that are masked.
pub trait DiffusionModel {
    /// The width of a row of logits; token ids are below it.
    fn n_vocab(&self) -> usize;

    /// The most positions of a canvas.
    fn max_positions(&self) -> usize;

    /// The token that stands for "not known yet".
    fn mask_id(&self) -> TokenId;

    /// A row of logits for each position of each canvas, in order. Canvases may differ in length.
    ///
    /// # Errors
    /// If a canvas is empty or longer than [`max_positions`](DiffusionModel::max_positions), or has an id
    /// that is not in the vocabulary; or if the computation fails.
    fn forward(&mut self, canvases: &[&[TokenId]]) -> Result<Vec<Logits>, ModelError>;
}

impl ModelError {
    /// Checks what [`DiffusionModel::forward`] demands of canvases, so that every model reports it alike.
    ///
    /// # Errors
    /// As [`DiffusionModel::forward`] says.
    pub fn check_canvases(model: &dyn DiffusionModel, canvases: &[&[TokenId]]) -> Result<(), ModelError> {
        let (n_vocab, most) = (model.n_vocab(), model.max_positions());
        for canvas in canvases {
            if canvas.is_empty() || canvas.len() > most {
                let n = canvas.len();
                return Err(Self::new(format!("a canvas has {n} positions, the model takes 1 to {most}")));
            }
            if let Some(id) = canvas.iter().find(|id| id.index() >= n_vocab) {
                let id = id.0;
                return Err(Self::new(format!(
                    "token id {id} is outside the model's vocabulary of {n_vocab}"
                )));
            }
        }
        Ok(())
    }
}

/// Random logits, a pure function of the seed, the canvas and the position: a model without taste, for tests.
///
/// # Examples
/// ```
/// use maskwright_decode::{DiffusionModel, RandomDiffusionModel};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomDiffusionModel::new(50, 16, TokenId(49), 1);
/// let logits = model.forward(&[&[3, 49, 49].map(TokenId), &[TokenId(7)]]).unwrap();
/// assert_eq!((logits.len(), logits[0].n_rows(), logits[1].row(0).len()), (2, 3, 50));
/// ```
#[derive(Clone, Debug)]
pub struct RandomDiffusionModel {
    n_vocab: usize,
    max_positions: usize,
    mask_id: TokenId,
    seed: u64,
}

impl RandomDiffusionModel {
    /// Logits from [0, 4) over `n_vocab` ids.
    #[must_use]
    pub fn new(n_vocab: usize, max_positions: usize, mask_id: TokenId, seed: u64) -> Self {
        RandomDiffusionModel { n_vocab, max_positions, mask_id, seed }
    }
}

impl DiffusionModel for RandomDiffusionModel {
    fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    fn max_positions(&self) -> usize {
        self.max_positions
    }

    fn mask_id(&self) -> TokenId {
        self.mask_id
    }

    fn forward(&mut self, canvases: &[&[TokenId]]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_canvases(self, canvases)?;
        let logits = |canvas: &&[TokenId]| {
            let of_canvas =
                canvas.iter().fold(self.seed, |hash, &id| mix(hash ^ u64::from(id.0)).wrapping_add(1));
            let row = |position: u64| {
                let mut rng = ChaCha8Rng::seed_from_u64(mix(of_canvas.wrapping_add(position)));
                (0..self.n_vocab).map(move |_| 4.0 * rng.random::<f32>())
            };
            Logits::new((0..canvas.len() as u64).flat_map(row).collect(), self.n_vocab)
        };
        Ok(canvases.iter().map(logits).collect())
    }
}

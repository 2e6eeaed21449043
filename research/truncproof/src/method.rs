//! A grammar prepared for one vocabulary: the parser's tables, and the automata of terminals and of pairs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use maskwright_automata::Regex;
use maskwright_grammar::{Grammar, TerminalId};
use maskwright_vocabulary::Vocabulary;

use crate::costs::Costs;
use crate::error::{Kind, TruncProofError};
use crate::ll1::{self, Ll1};

/// An LL(1) grammar prepared for a vocabulary. Shared by sessions; pairs of terminals are added as they are
/// needed.
///
/// # Examples
/// ```
/// use maskwright_decode::Constraint;
/// use maskwright_grammar::GrammarBuilder;
/// use maskwright_truncproof::{TruncProof, TruncProofConstraint};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// // [x], [[x]], …
/// let mut builder = GrammarBuilder::new();
/// let list = builder.declare("list");
/// let (open, close, x, inner) = (builder.literal("["), builder.literal("]"), builder.literal("x"), builder.rule(list));
/// let item = builder.alt(&[inner, x]);
/// let body = builder.seq(&[open, item, close]);
/// builder.define(list, body);
/// let tokens = ["[", "]", "x", "x]]", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
/// let method = TruncProof::new(builder.finish(list).unwrap(), &vocabulary).unwrap();
/// let mut constraint = TruncProofConstraint::new(&method.into(), Some(5)).unwrap();
/// let mut mask = [0];
/// constraint.accept_token(TokenId(0)).unwrap();
/// constraint.fill_mask(&mut mask).unwrap();
/// // One more bracket would need six tokens by the estimate.
/// assert_eq!(mask, [0b00100]);
/// ```
pub struct TruncProof {
    vocabulary: Arc<Vocabulary>,
    terminals: Vec<Regex>,
    costs: Vec<Arc<Costs>>,
    parser: Ll1,
    pairs: Mutex<HashMap<(TerminalId, TerminalId), Arc<Costs>>>,
}

impl std::fmt::Debug for TruncProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TruncProof").field("n_terminals", &self.terminals.len()).finish_non_exhaustive()
    }
}

impl TruncProof {
    /// The automata of all terminals and the parser's tables.
    ///
    /// # Errors
    /// If the grammar is not LL(1), a terminal matches the empty text, no text can be spelled, or an
    /// automaton is too large.
    pub fn new(grammar: Grammar, vocabulary: &Arc<Vocabulary>) -> Result<TruncProof, TruncProofError> {
        let terminals = grammar.terminals().to_vec();
        let mut costs = Vec::with_capacity(terminals.len());
        for (index, regex) in terminals.iter().enumerate() {
            let own = Costs::new(regex, vocabulary)?;
            if own.start().is_some_and(|start| own.is_accepting(start)) {
                return Err(Kind::EmptyTerminal { index }.into());
            }
            costs.push(Arc::new(own));
        }
        let least: Vec<u32> =
            costs.iter().map(|own| own.start().map_or(ll1::NEVER, |start| own.least(start))).collect();
        let parser = Ll1::new(grammar, &least)?;
        if ll1::least(&parser.start()) == ll1::NEVER {
            return Err(Kind::Unspellable.into());
        }
        let pairs = Mutex::default();
        Ok(TruncProof { vocabulary: vocabulary.clone(), terminals, costs, parser, pairs })
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The estimate of the tokens that the shortest text takes, end of text included.
    #[must_use]
    pub fn least(&self) -> u32 {
        ll1::least(&self.parser.start()).saturating_add(self.end())
    }

    /// What the end of the text costs: a token, if the vocabulary has one for it.
    pub(crate) fn end(&self) -> u32 {
        u32::from(!self.vocabulary.eos_token_ids().is_empty())
    }

    pub(crate) fn parser(&self) -> &Ll1 {
        &self.parser
    }

    pub(crate) fn terminal(&self, terminal: TerminalId) -> &Costs {
        &self.costs[terminal.index()]
    }

    /// The automaton of one terminal behind another.
    pub(crate) fn pair(&self, first: TerminalId, second: TerminalId) -> Result<Arc<Costs>, TruncProofError> {
        if let Some(costs) = self.pairs.lock().unwrap_or_else(PoisonError::into_inner).get(&(first, second)) {
            return Ok(costs.clone());
        }
        // Two threads may make the same one; the work is wasted, the result is the same.
        let regex = [&self.terminals[first.index()], &self.terminals[second.index()]].map(Regex::clone);
        let costs = Arc::new(Costs::new(&Regex::concat(regex), &self.vocabulary)?);
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(pairs.entry((first, second)).or_insert(costs).clone())
    }
}

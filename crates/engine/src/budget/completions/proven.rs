//! Tokens that are proven to leave enough room, where a mask has no more work to spend.
//!
//! Only upper bounds are used, and only what is known of the terminals' residues. First comes the token that begins a shortest
//! completion, by the upper bound: after it, the bound is less by one at least. So a session whose text fits by its upper bound always
//! has that token.
//!
//! Proof. Let w be the least of the shortest words from residue r, spelled by the fewest tokens, and t the first of them: w = t·v. Then v is
//! the least of the shortest words from the residue after t, because t·u is a word from r for each word u from there. And v is spelled by one token
//! less. If t is all of w, what comes next is the same as after w. ∎

use maskwright_automata::meter;
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};

use super::Budget;
use crate::EngineError;
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, NEVER, plus};
use crate::parser::{ConfigId, Parser, Thread};
use crate::spelling::{UNITS_PER_BYTE, first_of_way, visit_known};

impl Budget {
    /// Adds tokens that begin shortest completions of fewer than `n_left` more tokens, by their upper bounds.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_first(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        for thread in reader.parser.configs.threads(config).to_vec() {
            if self.thread(&mut reader.parser, thread)? <= n_left {
                let automaton = reader.parser.automaton(thread.terminal);
                let word = automaton.shortest_word(thread.residue);
                let word = word.map_err(EngineError::in_terminal(automaton))?;
                mask.insert_all(first_tokens(&reader.parser.shared.vocabulary, &word));
            }
        }
        Ok(())
    }

    /// The first word of a shortest completion by the upper bounds; `None` where the text may end, or none is known.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn first_word(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let (mut least, mut first) = (NEVER, None);
        if parser.configs.is_accepting(config) {
            return Ok(None);
        }
        for thread in parser.configs.threads(config).to_vec() {
            let of_thread = self.thread(parser, thread)?;
            if of_thread < least {
                (least, first) = (of_thread, Some(thread));
            }
        }
        let Some(Thread { terminal, residue, .. }) = first else { return Ok(None) };
        let automaton = parser.automaton(terminal);
        automaton.shortest_word(residue).map(Some).map_err(EngineError::in_terminal(automaton))
    }

    /// Adds tokens that finish the terminals in progress as runs have found before, if that leaves enough of `n_left` tokens.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_on_known_ways(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        for thread in parser.configs.threads(config).to_vec() {
            let automaton = parser.automaton(thread.terminal).clone();
            let (way, root) = {
                let spelling = self.spelling.lock();
                (spelling.way(&automaton, thread.residue), spelling.futures.root())
            };
            let Some(way) = way.filter(|way| way.cost <= n_left) else { continue };
            if plus(way.cost, self.place(parser, (thread.next, thread.node, root))?) <= n_left {
                let vocabulary = &parser.shared.vocabulary;
                mask.insert_all(&first_of_way(vocabulary, &automaton, thread.residue, way)?);
            }
        }
        Ok(())
    }

    /// Adds tokens after which fewer than `n_left` tokens complete the text.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_proven(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let threads = reader.parser.configs.threads(config).to_vec();
        self.add_first(reader, config, n_left, mask)?;
        for same in threads.chunk_by(Thread::reads_alike) {
            let automaton = reader.parser.automaton(same[0].terminal).clone();
            let n_words = vocabulary.n_words();
            let mut groups = std::collections::BTreeMap::new();
            let seen = visit_known(vocabulary.trie(), &automaton, same[0].residue, |residue, tokens| {
                groups.entry(residue).or_insert_with(|| MaskBuilder::new(n_words)).insert_all(tokens);
            });
            for (residue, tokens) in groups {
                let least = self.after_token_inside(reader, same, residue)?;
                if least < n_left {
                    mask.union(&tokens.finish());
                }
            }
            seen?;
        }
        Ok(())
    }
}

/// The tokens with the bytes that the shortest spelling of `word` begins with, the longest of them; none if there is no spelling.
fn first_tokens<'a>(vocabulary: &'a Vocabulary, word: &[u8]) -> &'a [TokenId] {
    meter::charge(UNITS_PER_BYTE * word.len() as u64);
    let fewest = vocabulary.fewest_tokens(word);
    let trie = vocabulary.trie();
    let (mut node, mut first) = (Trie::ROOT, &[][..]);
    for (at, &byte) in word.iter().enumerate() {
        let Some(child) = trie.child(node, byte) else { break };
        node = child;
        if fewest[0].is_some()
            && fewest[at + 1].map(|rest| rest + 1) == fewest[0]
            && !trie.tokens(node).is_empty()
        {
            first = trie.tokens(node);
        }
    }
    first
}

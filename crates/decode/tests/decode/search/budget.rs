//! Random logits against the engine's budgets: whatever the strategy, every text is whole, in the language,
//! and within its limit.

use super::go_on;
use maskwright_automata::Fuel;
use maskwright_decode::{
    BeamConfig, BestOfConfig, GrammarConstraint, Hypothesis, MostLikelyConfig, ParticlesConfig, RandomModel,
    SamplerConfig, SearchConfig, TreeSearchConfig, beam_search, best_of, most_likely, particles, tree_search,
};
use maskwright_engine::{Compiler, Matcher, MatcherConfig};
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_vocabulary::{TokenId, Tokenizer};

/// Lists in brackets of lists and digits, such as `[1,[],[2]]`.
fn lists() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let list = builder.declare("list");
    let digits = [builder.literal("1"), builder.literal("2")];
    let inner = builder.rule(list);
    let item = builder.alt(&[digits[0], digits[1], inner]);
    let comma = builder.literal(",");
    let more = builder.seq(&[comma, item]);
    let more = builder.repeat(more, 0, None);
    let items = builder.seq(&[item, more]);
    let items = builder.optional(items);
    let (open, close) = (builder.literal("["), builder.literal("]"));
    let body = builder.seq(&[open, items, close]);
    builder.define(list, body);
    builder.finish(list).unwrap()
}

/// How many bytes the list at the beginning of a text has; the naive twin.
fn read_list(text: &[u8]) -> Option<usize> {
    let mut at = text.starts_with(b"[").then_some(1)?;
    if text.get(at) == Some(&b']') {
        return Some(at + 1);
    }
    loop {
        at += match text.get(at)? {
            b'1' | b'2' => 1,
            _ => read_list(&text[at..])?,
        };
        match text.get(at)? {
            b',' => at += 1,
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

#[test]
fn every_strategy_finishes_within_the_limit() {
    let tokens = ["[", "]", ",", "1", "2", "[[", "]]", "],", ",[", "[1", "2]", "],[", "</s>"];
    let tokens: Vec<Vec<u8>> = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let tokenizer = Tokenizer::from_tokens(tokens.clone(), &[TokenId(12)]).unwrap();
    let compiler = Compiler::new(tokenizer.vocabulary().clone(), Default::default());
    let compiled = compiler.compile(lists(), &Fuel::new(100_000)).unwrap();
    for (seed, max_tokens) in (0..24).zip((3..9).cycle()) {
        // At scale 1 a list seldom ends by itself; at 8 a model insists.
        let mut model = RandomModel::new(40, 200, seed).with_scale(if seed % 2 == 0 { 1.0 } else { 8.0 });
        let matcher = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(max_tokens)).unwrap();
        let held = GrammarConstraint::new(matcher, &tokenizer);
        let search = SearchConfig { max_tokens, eos_ids: vec![TokenId(12)] };
        let prompt = [TokenId(3)];
        let mut texts: Vec<Hypothesis> = Vec::new();
        let config = BeamConfig { n_beams: 5, ..BeamConfig::default() };
        texts.extend(beam_search(&mut model, &held, &prompt, &search, &config, &mut go_on).unwrap().texts);
        let config = TreeSearchConfig::default();
        texts.extend(tree_search(&mut model, &held, &prompt, &search, &config, &mut go_on).unwrap().texts);
        let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
        let config = BestOfConfig { n_texts: 20, sampler };
        texts.extend(best_of(&mut model, &held, &prompt, &search, &config, &mut go_on).unwrap().texts);
        let config = ParticlesConfig { n_particles: 20, seed, ..ParticlesConfig::default() };
        let samples = particles(&mut model, &held, &prompt, &search, &config, &mut go_on).unwrap();
        texts.extend(samples.outcome.texts);
        let config = MostLikelyConfig { max_prefixes: 200, ..MostLikelyConfig::default() };
        let found = most_likely(&mut model, &held, &prompt, &search, &config, &mut go_on).unwrap();
        texts.extend(found.outcome.texts);
        assert!(texts.len() > 40);
        for text in texts {
            let bytes: Vec<u8> = text.tokens.iter().flat_map(|id| tokens[id.index()].clone()).collect();
            assert_eq!(read_list(&bytes), Some(bytes.len()), "{}", String::from_utf8_lossy(&bytes));
            assert!(text.eos_id == Some(TokenId(12)) && text.n_tokens <= max_tokens, "{text:?}");
        }
    }
}

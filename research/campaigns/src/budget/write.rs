//! Writing one text: prompt, constraint, strategy, judgement.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use maskwright::json_schema::SchemaConfig;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer, TokenizerOptions,
};
use maskwright_decode::{
    BeamConfig, BestOfConfig, Constraint, DecodeError, GrammarConstraint, LanguageModel, Progress,
    RandomModel, SamplerConfig, SearchConfig, SearchOutcome, TreeSearchConfig, Unconstrained, beam_search,
    best_of, tree_search,
};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel};
use maskwright_truncproof::{TruncProof, TruncProofConstraint};
use serde_json::Value;

use super::task::{Limit, Task, json_grammar};
use super::{Entry, GrammarKind, Method, Outcome, Setting, Strategy};
use crate::data;
use crate::judge::Judge;
use crate::prompt_memory::PromptMemory;
use crate::random_logits::hash;

/// A loaded model, and the grammar of JSON prepared for its vocabulary by both methods.
pub(super) struct Writer<M> {
    model: PromptMemory<M>,
    template: Option<ChatTemplate>,
    compiler: Compiler,
    json: Arc<CompiledGrammar>,
    estimate: Arc<TruncProof>,
    /// The schema compiled last: jobs come record by record.
    schema: Option<(String, Result<Arc<CompiledGrammar>, String>)>,
}

impl Writer<LlamaModel> {
    pub(super) fn load(name: &str) -> anyhow::Result<Self> {
        let path = data::locate_model(name)?;
        let model = LlamaModel::from_gguf(&path)?;
        let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
        let template = ChatTemplate::from_info(model.info())?;
        Writer::new(model, template, &tokenizer)
    }
}

impl<M: LanguageModel> Writer<M> {
    fn new(model: M, template: Option<ChatTemplate>, tokenizer: &Tokenizer) -> anyhow::Result<Self> {
        let compiler = Compiler::new(tokenizer);
        let grammar = json_grammar()?;
        let json = compiler.compile(&grammar.clone().into(), &CompileOptions::default())?;
        let clock = Instant::now();
        let estimate = Arc::new(TruncProof::new(grammar, tokenizer.vocabulary())?);
        eprintln!("the estimate's tables: {:.2} s without pairs", clock.elapsed().as_secs_f64());
        let model = PromptMemory::new(model);
        Ok(Writer { model, template, compiler, json, estimate, schema: None })
    }

    /// The limit on a text, end of text included; of a grammar that is refused, `least` is 0.
    pub(super) fn max_tokens(&mut self, task: &Task, setting: Setting) -> anyhow::Result<usize> {
        Ok(match setting.limit {
            Limit::Tokens(n_tokens) => n_tokens,
            Limit::Percent(percent) => {
                task.n_gold_tokens(self.compiler.tokenizer())? * percent as usize / 100
            }
            Limit::Least => match self.grammar(task, setting.grammar) {
                Ok(grammar) => Matcher::new(&grammar).tokens_to_finish()?.n_tokens,
                Err(_) => 0,
            },
        })
    }

    pub(super) fn entry(&mut self, task: &Task, setting: Setting) -> anyhow::Result<Entry> {
        let tokenizer = self.compiler.tokenizer().clone();
        let prompt = task.prompt(setting.prompt);
        let prompt_text = match &self.template {
            Some(template) => template.render(&[ChatMessage::user(prompt)], true)?,
            // A pretrained model continues a text; it does not answer.
            None => prompt + "\n\nJSON value:\n",
        };
        let prompt_ids = tokenizer.encode_with_special(&prompt_text)?;
        let max_tokens = self.max_tokens(task, setting)?;
        let mut entry = Entry {
            id: task.id.clone(),
            setting,
            max_tokens,
            outcome: Outcome::Refused,
            reason: None,
            is_json: false,
            is_valid: false,
            is_gold: false,
            n_tokens: 0,
            n_model_tokens: 0,
            perplexity: 0.0,
            seconds: 0.0,
            prompt_text,
            text: String::new(),
        };
        let (n_needed, n_held) = (entry.max_tokens + prompt_ids.len(), self.model.context_length());
        if n_needed > n_held {
            entry.reason =
                Some(format!("prompt and limit take {n_needed} tokens, the model's context holds {n_held}"));
            return Ok(entry);
        }
        let clock = Instant::now();
        match self.decode(task, setting, &prompt_ids, max_tokens, &tokenizer)? {
            Err(reason) => entry.reason = Some(reason),
            Ok(result) => {
                entry.seconds = clock.elapsed().as_secs_f64();
                self.judge(task, result, &tokenizer, &mut entry)?;
            }
        }
        Ok(entry)
    }

    /// The texts; the inner error says why the method does not take grammar or limit.
    #[allow(clippy::type_complexity, reason = "a refusal, a failure and a success are three things")]
    fn decode(
        &mut self,
        task: &Task,
        setting: Setting,
        prompt_ids: &[TokenId],
        max_tokens: usize,
        tokenizer: &Tokenizer,
    ) -> anyhow::Result<Result<Result<SearchOutcome, DecodeError>, String>> {
        let search = SearchConfig { max_tokens, eos_ids: tokenizer.eos_token_ids().to_vec() };
        let budget = (setting.method == Method::Exact).then_some(max_tokens);
        Ok(Ok(match setting.method {
            Method::Free => {
                let anything = Unconstrained::new(search.eos_ids.clone());
                self.put(task, setting.strategy, &anything, prompt_ids, &search)
            }
            Method::Unlimited | Method::Exact => {
                let matcher = self.grammar(task, setting.grammar).and_then(|grammar| {
                    Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(budget)).map_err(|error| error.to_string())
                });
                match matcher {
                    Ok(matcher) => {
                        let held = GrammarConstraint::new(matcher, tokenizer);
                        self.put(task, setting.strategy, &held, prompt_ids, &search)
                    }
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            Method::Estimate => match TruncProofConstraint::new(&self.estimate, Some(max_tokens)) {
                Ok(held) => self.put(task, setting.strategy, &held, prompt_ids, &search),
                Err(reason) => return Ok(Err(reason.to_string())),
            },
        }))
    }

    /// One text by a strategy, of the model or of random logits.
    fn put<C: Constraint + Clone>(
        &mut self,
        task: &Task,
        strategy: Strategy,
        constraint: &C,
        prompt_ids: &[TokenId],
        search: &SearchConfig,
    ) -> Result<SearchOutcome, DecodeError> {
        if strategy != Strategy::Random {
            return decode(strategy, &mut self.model, constraint, prompt_ids, search);
        }
        let seed = hash(task.id.as_bytes());
        let mut model = RandomModel::new(self.compiler.tokenizer().n_vocab(), search.max_tokens + 2, seed);
        sample(seed, &mut model, constraint, &[TokenId(0)], search)
    }

    fn grammar(&mut self, task: &Task, kind: GrammarKind) -> Result<Arc<CompiledGrammar>, String> {
        match kind {
            GrammarKind::Json => Ok(self.json.clone()),
            GrammarKind::Schema => self.schema(&task.schema),
        }
    }

    fn schema(&mut self, schema: &Value) -> Result<Arc<CompiledGrammar>, String> {
        let text = schema.to_string();
        if let Some((known, grammar)) = &self.schema
            && *known == text
        {
            return grammar.clone();
        }
        let compiled = self
            .compiler
            .compile(&GrammarSource::json_schema(&text, SchemaConfig::default()), &CompileOptions::default());
        let grammar = compiled.map_err(|error| error.to_string());
        self.schema = Some((text, grammar.clone()));
        grammar
    }

    fn judge(
        &self,
        task: &Task,
        result: Result<SearchOutcome, DecodeError>,
        tokenizer: &Tokenizer,
        entry: &mut Entry,
    ) -> anyhow::Result<()> {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                entry.outcome = Outcome::Failed;
                entry.reason = Some(format!("{:#}", anyhow::Error::new(error)));
                return Ok(());
            }
        };
        let best = outcome.best().context("a search returns a text")?;
        entry.outcome = if best.is_complete() { Outcome::Finished } else { Outcome::CutOff };
        (entry.n_tokens, entry.n_model_tokens) = (best.n_tokens, outcome.n_model_tokens);
        entry.perplexity = best.perplexity();
        let text = tokenizer.decode(&best.tokens);
        let value: Option<Value> = serde_json::from_slice(&text).ok();
        entry.is_json = value.is_some();
        entry.is_gold = value.as_ref() == Some(&task.gold);
        if value.is_some() {
            let judge = Judge::new(&task.schema).context("the validator does not take the schema")?;
            entry.reason = judge.objection(&text);
            entry.is_valid = entry.reason.is_none();
        }
        entry.text = String::from_utf8_lossy(&text).into_owned();
        Ok(())
    }
}

/// One text by a strategy.
pub(super) fn decode<C: Constraint + Clone>(
    strategy: Strategy,
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
) -> Result<SearchOutcome, DecodeError> {
    let mut go_on = |_: &Progress<'_>| ControlFlow::Continue(());
    match strategy {
        Strategy::Greedy => {
            // One text, each token the likeliest: the loop for samples returns the likelihood too.
            let config = BestOfConfig { n_texts: 1, sampler: SamplerConfig::greedy() };
            best_of(model, constraint, prompt_ids, search, &config, &mut go_on)
        }
        Strategy::Beam => {
            beam_search(model, constraint, prompt_ids, search, &BeamConfig::default(), &mut go_on)
        }
        Strategy::Tree => {
            tree_search(model, constraint, prompt_ids, search, &TreeSearchConfig::default(), &mut go_on)
        }
        Strategy::Random => sample(0, model, constraint, prompt_ids, search),
    }
}

/// One text, each token drawn from what the model says under the mask.
pub(super) fn sample<C: Constraint + Clone>(
    seed: u64,
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
) -> Result<SearchOutcome, DecodeError> {
    let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
    let config = BestOfConfig { n_texts: 1, sampler };
    best_of(model, constraint, prompt_ids, search, &config, &mut |_| ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use maskwright_decode::RandomModel;
    use serde_json::json;

    use super::*;
    use crate::budget::PromptKind;

    #[test]
    fn every_combination_is_written_and_judged() {
        let tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]).collect();
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
        let model = RandomModel::new(257, 4_000, 1).with_scale(5.0);
        let mut writer = Writer::new(model, None, &tokenizer).unwrap();
        let task = Task {
            id: "x".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
            gold: json!({"a": 1}),
        };
        let mut n_written = 0;
        for grammar in [GrammarKind::Json, GrammarKind::Schema] {
            for method in [Method::Free, Method::Unlimited, Method::Estimate, Method::Exact] {
                for &strategy in Strategy::value_variants() {
                    let (prompt, limit) = (PromptKind::Compact, Limit::Percent(150));
                    let setting = Setting { grammar, prompt, limit, method, strategy };
                    if !setting.is_meant() {
                        continue;
                    }
                    let entry = writer.entry(&task, setting).unwrap();
                    assert_eq!(entry.max_tokens, 12);
                    assert!(
                        entry.n_tokens <= 12 && entry.reason.is_none() == entry.is_valid || !entry.is_json
                    );
                    if matches!(method, Method::Estimate | Method::Exact) {
                        assert!(entry.outcome == Outcome::Finished && entry.is_json, "{entry:?}");
                        assert!(grammar == GrammarKind::Json || entry.is_valid, "{entry:?}");
                    }
                    n_written += 1;
                }
            }
        }
        assert_eq!(n_written, 1 + 6 + 4 + 8);
        let least = Setting {
            grammar: GrammarKind::Schema,
            prompt: PromptKind::Plain,
            limit: Limit::Least,
            method: Method::Exact,
            strategy: Strategy::Random,
        };
        let entry = writer.entry(&task, least).unwrap();
        assert!(entry.max_tokens == 8 && entry.n_tokens == 8 && entry.is_valid, "{entry:?}");
        let tight = Setting {
            grammar: GrammarKind::Schema,
            prompt: PromptKind::Plain,
            limit: Limit::Tokens(5),
            method: Method::Exact,
            strategy: Strategy::Greedy,
        };
        let entry = writer.entry(&task, tight).unwrap();
        assert!(entry.outcome == Outcome::Refused && entry.reason.unwrap().contains("takes 8"));
    }
}

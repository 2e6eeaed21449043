//! `maskwright generate`: the main job.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context, bail};
use maskwright::debug::counted;
use maskwright::{CompiledGrammar, Matcher, Message, TokenId, Tokenizer, ToolCall};
use maskwright_decode::{
    FinishReason, GenerateConfig, Generation, LanguageModel, Sampler, SamplerConfig, branches, generate,
    text_regions,
};
use maskwright_models::LlamaModel;
use maskwright_trace::{N_CANDIDATES, Trace};
use serde_json::{Value, json};

use crate::arguments::{Generate, StrategyArgument};
use crate::budget::{Start, TokenLimits};
use crate::grammar::Source;
use crate::held::Held;
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome, note, print_json, say};
use crate::prompt::{self, Prompt};
use crate::reading::Reading;
use crate::search::Search;
use crate::statistics::Statistics;
use crate::text_stream::TextWriter;
use crate::{budget, bytes, model, trace};

/// Generates a text.
pub(crate) fn run(arguments: &Generate) -> anyhow::Result<Outcome> {
    model::ensure_one_thread();
    // Everything that can be wrong with the arguments is looked at before the weights are.
    Sampler::new(arguments.sampling.into())?;
    let search = Search::of(arguments)?;
    arguments.trace.as_deref().map_or(Ok(()), trace::check)?;
    let source = Source::read(&arguments.grammar)?;
    let mut prompt = prompt::read(arguments)?;
    if arguments.describe {
        let source =
            source.as_ref().context("--describe needs a grammar: --json-schema FILE, for example")?;
        prompt = format!("{prompt}\n\n{}", source.describe()?);
    }
    // Not before the prompt is read: until then Ctrl-C simply ends the program.
    let interrupt = Interrupt::watch()?;
    interrupt.conclude(generate_text(arguments, search, source.as_ref(), &prompt, &interrupt))
}

fn generate_text(
    arguments: &Generate,
    search: Option<Search>,
    source: Option<&Source>,
    given: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let (mut model, tokenizer) = model::load(&arguments.model, interrupt)?;
    let (prompt, grammar, matcher) = begin(arguments, source, given, &model, &tokenizer, interrupt)?;
    let is_traced = arguments.trace.is_some() || arguments.color;
    let config = GenerateConfig {
        max_tokens: arguments.max_tokens,
        eos_ids: tokenizer.eos_token_ids().to_vec(),
        sampler: sampler(arguments),
        jump_forward: !arguments.no_jump_forward,
        measure_mass: arguments.stats && grammar.is_some() || is_traced,
        n_candidates: if is_traced { N_CANDIDATES } else { 0 },
    };
    let traced = matcher.as_ref().map(Matcher::fork);
    let mut held = Held::new(matcher, &prompt, &tokenizer);
    let writer = TextWriter::new(arguments.json, Some(model.has_answered()));
    let mut writer = TokenWriter { tokenizer: &tokenizer, n_repeated: prompt.healed.len(), writer };
    let mut tokens = Vec::new();
    let mut on_token = |event: &maskwright_decode::TokenEvent| {
        tokens.extend((!event.is_eos).then_some(event.id));
        let written = if event.is_eos { ControlFlow::Continue(()) } else { writer.write(event.id) };
        if interrupt.is_pressed() { ControlFlow::Break(()) } else { written }
    };
    let result = match search {
        None => generate(&mut model, held.constraint(), &prompt.ids, &config, &mut on_token)
            .map(|generation| (generation, None)),
        Some(search) => search
            .generate(&mut model, &mut held, &prompt.ids, &config, &mut on_token, interrupt)
            .map(|(generation, found, outcome)| (generation, Some((found, outcome)))),
    };
    let is_accepting = held.is_accepting();
    let text = writer.writer.finish(result.is_ok() && is_accepting)?;
    let (generation, found) = match result {
        Ok(found) => found,
        // Ctrl-C breaks off a long pass of the model too, which is then an error. What has been written
        // counts; there are no figures.
        Err(_) if interrupt.is_pressed() => {
            if arguments.json {
                let reason = FinishReason::Cancelled;
                print_json(&to_json(&text, reason, held.is_complete(reason), &tokens, Value::Null))?;
            }
            return Ok(interrupted(tokens.len()));
        }
        Err(error) => return Err(Failure(format!("{:#}", anyhow::Error::new(error))).into()),
    };

    let statistics = match &found {
        None => Statistics::new(&generation, prompt.ids.len(), grammar.is_some()),
        Some((found, _)) => Statistics::of_search(&generation, prompt.ids.len(), *found),
    };
    if is_traced {
        let steps =
            trace::steps(&generation, traced.as_ref().map(Matcher::fork), prompt.healed.len(), &tokenizer)?;
        let regions = |matcher: &Matcher| text_regions(matcher, &steps, prompt.healed.len());
        let found = found.as_ref().map(|(_, outcome)| branches(outcome, Some(&tokenizer)));
        let (tree, n_left_out) = found.unwrap_or_default();
        let trace = Trace {
            regions: traced.as_ref().map_or_else(Vec::new, regions),
            steps,
            title: "generated text".to_owned(),
            model: Some(arguments.model.clone()),
            grammar: source.map(Source::title),
            prompt: Some(given.to_owned()),
            tree,
            n_left_out,
            is_complete: Some(held.is_complete(generation.finish_reason)),
            ..Trace::default()
        };
        if let Some(path) = &arguments.trace {
            trace::write(&trace, path)?;
        }
        if arguments.color {
            let _ = write!(anstream::stderr(), "{}", trace.to_ansi());
        }
    }
    let message = held.message(grammar.as_deref());
    if arguments.json {
        let (reason, stats) = (generation.finish_reason, statistics.to_json(arguments.stats));
        let mut value = to_json(&text, reason, held.is_complete(reason), &generation.tokens, stats);
        if let Some(message) = &message {
            value["message"] = message_json(message);
        }
        print_json(&value)?;
    } else {
        let calls = message.iter().flat_map(|message| &message.calls);
        calls.for_each(|call| {
            say(format_args!("call {}: {}", call.name, call.input.as_ref().unwrap_or(&call.arguments)))
        });
        if arguments.stats {
            let _ = write!(anstream::stderr(), "{statistics}");
        }
    }
    conclude(&generation, arguments, &held)
}

/// The prompt, the grammar, and a session whose text fits in the rest of the context.
fn begin(
    arguments: &Generate,
    source: Option<&Source>,
    given: &str,
    model: &Reading<LlamaModel>,
    tokenizer: &Tokenizer,
    interrupt: &Interrupt,
) -> anyhow::Result<(Prompt, Option<Arc<CompiledGrammar>>, Option<Matcher>)> {
    let prompt = prompt::prepare(arguments, given, model.inner().info(), tokenizer)?;
    let (n_prompt, context_length) = (prompt.ids.len(), model.context_length());
    if n_prompt > context_length {
        bail!("the prompt has {n_prompt} tokens, the model reads at most {context_length}");
    }
    let compile = |source: &Source| source.compile(tokenizer, Some(interrupt.cancel_token()));
    let grammar = source.map(compile).transpose()?;
    let limits = TokenLimits { max_tokens: arguments.max_tokens, context_length };
    let (prompt, matcher) = match &grammar {
        None => (prompt, None),
        Some(grammar) if arguments.no_guarantee => (prompt, Some(Matcher::new(grammar))),
        Some(grammar) => {
            let Start { prompt, matcher, remark } = budget::start(grammar, &limits, prompt)?;
            remark.into_iter().for_each(note);
            (prompt, Some(matcher))
        }
    };
    Ok((prompt, grammar, matcher))
}

fn to_json(text: &[u8], reason: FinishReason, is_complete: bool, tokens: &[TokenId], stats: Value) -> Value {
    let (key, text) = bytes::json_member(text);
    json!({
        key: text,
        "finish_reason": finish_name(reason),
        "is_complete": is_complete,
        "tokens": tokens.iter().map(|token| token.0).collect::<Vec<_>>(),
        "stats": stats,
    })
}

/// What a message says, with the arguments of calls as values.
fn message_json(message: &Message) -> Value {
    let call = |call: &ToolCall| {
        let given = match &call.input {
            Some(input) => ("input", json!(input)),
            None => ("arguments", serde_json::from_str(&call.arguments).unwrap_or(Value::Null)),
        };
        json!({"name": call.name, "id": call.id, given.0: given.1})
    };
    json!({
        "text": message.text,
        "reasoning": message.reasoning,
        "calls": message.calls.iter().map(call).collect::<Vec<_>>(),
    })
}

/// Says that Ctrl-C ended the text where it is. A search may have looked at many others.
fn interrupted(n_tokens: usize) -> Outcome {
    say(format_args!("interrupted; the text has {}", counted(n_tokens, "token")));
    Outcome::Interrupted
}

/// Says how it ended, where that needs saying.
fn conclude(generation: &Generation, arguments: &Generate, held: &Held<'_>) -> anyhow::Result<Outcome> {
    let reason = match generation.finish_reason {
        FinishReason::Eos | FinishReason::Terminated => return Ok(Outcome::Done),
        FinishReason::Cancelled => return Ok(interrupted(generation.steps.len())),
        FinishReason::MaxTokens => format!("--max-tokens {} is reached", arguments.max_tokens),
        FinishReason::ContextFull => "the model's context is full".to_owned(),
    };
    if held.is_accepting() {
        let language = if matches!(held, Held::Grammar(_)) { " the text is in the language;" } else { "" };
        note(format_args!("{reason};{language} the model would have gone on"));
        return Ok(Outcome::Done);
    }
    let expected = held.expected()?.join(" or ");
    Err(Failure(format!("{reason} and the text is not complete; expected next: {expected}")).into())
}

/// How tokens are picked one by one, by the arguments.
fn sampler(arguments: &Generate) -> SamplerConfig {
    match arguments.strategy {
        StrategyArgument::Greedy => SamplerConfig::greedy(),
        _ => arguments.sampling.into(),
    }
}

fn finish_name(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Eos => "eos",
        FinishReason::Terminated => "terminated",
        FinishReason::MaxTokens => "max_tokens",
        FinishReason::ContextFull => "context_full",
        FinishReason::Cancelled => "interrupted",
    }
}

/// Takes tokens and writes their bytes.
struct TokenWriter<'t> {
    tokenizer: &'t Tokenizer,
    /// Bytes at the beginning that repeat the prompt's end.
    n_repeated: usize,
    writer: TextWriter,
}

impl TokenWriter<'_> {
    /// Writes a token; special tokens have no text.
    fn write(&mut self, id: TokenId) -> ControlFlow<()> {
        let bytes = self.tokenizer.token_bytes(id).unwrap_or_default();
        let n_skipped = self.n_repeated.min(bytes.len());
        self.n_repeated -= n_skipped;
        self.writer.push(&bytes[n_skipped..])
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Command, CommandLine};

    /// Ctrl-C while the model read a long text was an error, and nothing was written.
    #[test]
    fn what_ctrl_c_breaks_off_is_an_outcome() {
        let Some(model) = maskwright_oracle::shared("models/stories260K/stories260K-f32.gguf") else {
            return;
        };
        let model = model.display().to_string();
        let prompt = "Once upon a time ".repeat(10);
        for strategy in ["sample", "beam"] {
            let line = [
                "maskwright",
                "generate",
                "--model",
                &model,
                "-p",
                &prompt,
                "--strategy",
                strategy,
                "--json",
            ];
            let Command::Generate(arguments) = CommandLine::parse_from(line).command else {
                panic!("the command is generate")
            };
            let search = Search::of(&arguments).unwrap();
            let outcome = generate_text(&arguments, search, None, &prompt, &Interrupt::pressed());
            assert_eq!(outcome.unwrap(), Outcome::Interrupted, "{strategy}");
        }
    }
}

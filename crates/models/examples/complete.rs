//! Pulls a model, feeds it token ids, prints the ids it continues with and the speed:
//! `cargo run --release -p maskwright-models --example complete -- smollm2 1 9690 198`.

use std::{ops::ControlFlow, time::Instant};

use maskwright_decode::{GenerateConfig, SamplerConfig, Summary, generate};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel, PullConfig, pull, resolve_model};
use maskwright_vocabulary::TokenId;

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "this is what an example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("usage: complete MODEL TOKEN-ID...")?;
    let prompt_ids = arguments.map(|id| id.parse().map(TokenId)).collect::<Result<Vec<_>, _>>()?;
    let config = PullConfig::default();
    let mut stage = None;
    let mut report = |progress: maskwright_models::PullProgress| {
        if stage.replace(progress.stage) != Some(progress.stage) {
            eprintln!("{}", progress.stage.describe());
        }
    };
    let path = match resolve_model(&name, &config, &mut report) {
        Err(error) if error.is_not_pulled() => pull(&name, &config, &mut report)?,
        other => other?,
    };
    let clock = Instant::now();
    let mut model = LlamaModel::from_gguf(&path)?;
    eprintln!("{} loaded in {:.2?}: {:?}", path.display(), clock.elapsed(), model.info().name);
    if let Some(template) = ChatTemplate::from_info(model.info())? {
        eprintln!("{}", template.render(&[ChatMessage::user("Tell me a story.")], true)?);
    }
    let settings = GenerateConfig {
        sampler: SamplerConfig::greedy(),
        max_tokens: 200,
        eos_ids: model.info().eos_ids.clone(),
        ..GenerateConfig::default()
    };
    let generation = generate(&mut model, None, &prompt_ids, &settings, &mut |event| {
        println!("{}", event.id.0);
        ControlFlow::Continue(())
    })?;
    let summary = Summary::of(&generation.steps);
    let rate = (summary.n_tokens - 1) as f64 / (summary.forward + summary.sample).as_secs_f64();
    eprintln!(
        "{:?}: {} tokens, {rate:.1} tokens/s after the prompt",
        generation.finish_reason, summary.n_tokens
    );
    Ok(())
}

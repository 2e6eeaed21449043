//! `maskwright infill --model NAME`: holes that a language model writes, from left to right.

use std::ops::ControlFlow;

use anyhow::Context;
use maskwright::infill::Part;
use maskwright_decode::{LanguageModel, MiddleTokens, RegionsConfig, Sampler, SamplerConfig, fill_regions};

use crate::arguments::Infill;
use crate::grammar::Source;
use crate::infill::{Checked, Filled, TemplateText, impossible, n_holes};
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome, print_json, say};
use crate::text_stream::TextWriter;
use crate::{model, prompt};

/// Lets the model `name` fill the holes.
pub(crate) fn run(arguments: &Infill, name: &str) -> anyhow::Result<Outcome> {
    model::ensure_one_thread();
    // Everything that can be wrong with the arguments is looked at before the weights are.
    let sampler: SamplerConfig = arguments.sampling.into();
    Sampler::new(sampler)?;
    let source = Source::require(&arguments.grammar)?;
    let text = TemplateText::read(arguments)?;
    // Not before the template is read: until then Ctrl-C simply ends the program.
    let interrupt = Interrupt::watch()?;
    interrupt.conclude(fill(arguments, name, &source, &text, sampler, &interrupt))
}

fn fill(
    arguments: &Infill,
    name: &str,
    source: &Source,
    text: &TemplateText,
    sampler: SamplerConfig,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let (mut model, tokenizer) = model::load(name, interrupt)?;
    let middle_tokens = match arguments.fim {
        true => {
            let missing = "--fim: the model has no tokens for filling in the middle, such as <|fim_prefix|>";
            Some(MiddleTokens::of(&tokenizer).context(missing)?)
        }
        false => None,
    };
    let infiller =
        source.compile(&tokenizer, Some(interrupt.cancel_token()))?.infiller(&Default::default())?;
    let parts = match text.check(&infiller)? {
        Checked::Impossible { n_holes, why } => {
            return impossible(arguments, n_holes, tokenizer.n_vocab(), &why);
        }
        Checked::Possible { parts, .. } => parts,
    };
    let begins_with_hole = matches!(parts.first(), Some(Part::Text(text)) if text.is_empty());
    let needs_some = begins_with_hole && middle_tokens.is_none();
    let info = model.inner().info();
    let prompt = prompt::before_template(arguments.prompt.as_deref(), needs_some, info, &tokenizer)?;
    let mut writer = TextWriter::new(arguments.json);
    let on_text = &mut |bytes: &[u8]| {
        let written = writer.push(bytes);
        if interrupt.is_pressed() { ControlFlow::Break(()) } else { written }
    };
    let config = RegionsConfig { sampler, max_tokens: arguments.max_tokens, middle_tokens };
    let model: &mut dyn LanguageModel = &mut model;
    let result = fill_regions(model, &tokenizer, &infiller, &parts, &prompt, &config, on_text);
    let is_complete = result.as_ref().is_ok_and(|regions| {
        regions.len() == n_holes(&parts) && regions.iter().all(|region| region.is_ended)
    });
    let text = writer.finish(is_complete)?;
    let regions = result.map_err(|error| Failure(format!("{:#}", anyhow::Error::new(error))))?;
    if arguments.json {
        let n_tokens = Some(regions.iter().map(|region| region.tokens.len()).collect());
        let (n_holes, n_vocab) = (n_holes(&parts), tokenizer.n_vocab());
        print_json(&Filled { text, n_holes, n_vocab, n_tokens, is_complete }.to_json())?;
    }
    if interrupt.is_pressed() && !is_complete {
        let n_ended = regions.iter().filter(|region| region.is_ended).count();
        say(format_args!("interrupted after {n_ended} of {} holes", n_holes(&parts)));
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

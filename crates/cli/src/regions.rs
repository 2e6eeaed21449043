//! `maskwright infill --model NAME`: holes that a language model writes, from left to right.

use std::ops::ControlFlow;

use anyhow::Context;
use maskwright::CompileOptions;
use maskwright::infill::Part;
use maskwright::stop::watched;
use maskwright_decode::{LanguageModel, MiddleTokens, RegionsConfig, Sampler, SamplerConfig, fill_regions};

use crate::arguments::Infill;
use crate::grammar::Source;
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome, print_json, say};
use crate::progress::waiting;
use crate::template::{Checked, Filled, TemplateText, impossible, limits, n_holes};
use crate::text_stream::TextWriter;
use crate::{model, prompt};

/// The default of `--max-tokens`.
const MAX_TOKENS: usize = 64;

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
    let mut options = CompileOptions::default();
    options.cancel = Some(interrupt.cancel_token());
    let grammar = source.compile_within(limits(arguments), &tokenizer, Some(interrupt.cancel_token()))?;
    let infiller = grammar.infiller(&options)?;
    let watch = interrupt.clone();
    let (checked, _) = watched(move || watch.is_pressed(), || waiting(|| text.check(&infiller)));
    if interrupt.is_pressed() {
        say("interrupted");
        return Ok(Outcome::Interrupted);
    }
    let parts = match checked? {
        Checked::Impossible { n_holes, why } => {
            return impossible(arguments, n_holes, tokenizer.n_vocab(), &why);
        }
        Checked::Possible { parts, .. } => parts,
    };
    let begins_with_hole = matches!(parts.first(), Some(Part::Text(text)) if text.is_empty());
    let needs_some = begins_with_hole && middle_tokens.is_none();
    let info = model.inner().info();
    let prompt = prompt::before_template(arguments.prompt.as_deref(), needs_some, info, &tokenizer)?;
    let mut writer = TextWriter::new(arguments.json, Some(model.has_answered()));
    let on_text = &mut |bytes: &[u8]| {
        let written = writer.push(bytes);
        if interrupt.is_pressed() { ControlFlow::Break(()) } else { written }
    };
    let max_tokens = arguments.max_tokens.unwrap_or(MAX_TOKENS);
    let config = RegionsConfig { sampler, max_tokens, middle_tokens };
    let model: &mut dyn LanguageModel = &mut model;
    let result = fill_regions(model, &tokenizer, &infiller, &parts, &prompt, &config, on_text);
    let is_complete = result.as_ref().is_ok_and(|regions| {
        regions.len() == n_holes(&parts) && regions.iter().all(|region| region.is_ended)
    });
    let text = writer.finish(is_complete)?;
    let regions = match result {
        Ok(regions) => Some(regions),
        // Ctrl-C breaks off a long pass of the model too, which is then an error. What has been written
        // counts.
        Err(_) if interrupt.is_pressed() => None,
        Err(error) => return Err(Failure(format!("{:#}", anyhow::Error::new(error))).into()),
    };
    let (n_holes, n_vocab) = (n_holes(&parts), tokenizer.n_vocab());
    if arguments.json {
        let n_tokens =
            regions.as_ref().map(|regions| regions.iter().map(|region| region.tokens.len()).collect());
        print_json(&Filled { text, n_holes, n_vocab, n_tokens, is_complete }.to_json())?;
    }
    if interrupt.is_pressed() && !is_complete {
        match regions {
            Some(regions) => {
                let n_ended = regions.iter().filter(|region| region.is_ended).count();
                say(format_args!("interrupted after {n_ended} of {n_holes} holes"));
            }
            None => say("interrupted"),
        }
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Command, CommandLine};

    /// Ctrl-C after the grammar was compiled ended with exit code 1 if the template was impossible.
    #[test]
    fn ctrl_c_counts_before_the_first_text() {
        let Some(model) = maskwright_oracle::shared("models/stories260K/stories260K-f32.gguf") else {
            return;
        };
        let model = model.display().to_string();
        for template in ["b{{hole}}", "a{{hole}}"] {
            let line = ["maskwright", "infill", "--model", &model, "--regex", "a{50}", "-t", template];
            let Command::Infill(arguments) = CommandLine::parse_from(line).command else {
                panic!("the command is infill")
            };
            let source = Source::require(&arguments.grammar).unwrap();
            let text = TemplateText::read(&arguments).unwrap();
            let sampler = arguments.sampling.into();
            let outcome = fill(&arguments, &model, &source, &text, sampler, &Interrupt::pressed());
            assert_eq!(outcome.unwrap(), Outcome::Interrupted, "{template}");
        }
    }
}

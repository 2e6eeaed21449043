//! `maskwright infill`: a template with holes, filled so that the whole is in the language.
//!
//! Without a model the holes get some text that fits. [`crate::regions`] lets a language model write them,
//! [`diffuse`] the diffusion model.

use anyhow::bail;

use crate::arguments::Infill;
use crate::grammar::Source;
use crate::outcome::{Failure, Outcome, print_json};
use crate::progress::waiting;
use crate::template::{Checked, Filled, TemplateText, impossible, limits, n_holes, verdict};
use crate::text_stream::TextWriter;
use crate::{diffuse, model, regions};

/// Fills the holes.
pub(crate) fn run(arguments: &Infill) -> anyhow::Result<Outcome> {
    match fill(arguments) {
        Err(error) => match undecided(&error) {
            Some(why) if arguments.json => {
                print_json(&verdict(None, None, Some(&why)))?;
                Ok(Outcome::Failed)
            }
            Some(why) => Err(Failure(why).into()),
            None => Err(error),
        },
        done => done,
    }
}

/// What an error says, and the option that helps, if it is the limit on the work of infilling.
fn undecided(error: &anyhow::Error) -> Option<String> {
    let error = error.downcast_ref::<maskwright::Error>()?;
    let (_, units) = error.limit().filter(|(name, _)| *name == "infill_work")?;
    let more = units.saturating_mul(10);
    Some(error.clone().raised_by(&format!("raise it with --infill-work {more}")).to_string())
}

fn fill(arguments: &Infill) -> anyhow::Result<Outcome> {
    match arguments.model.as_deref() {
        Some(diffuse::NAME) if arguments.fim => {
            bail!("--fim goes with a language model, not with {}", diffuse::NAME)
        }
        Some(diffuse::NAME) if arguments.max_tokens.is_some() => {
            bail!("--max-tokens goes with a language model, not with {}", diffuse::NAME)
        }
        Some(diffuse::NAME) => return diffuse::run(arguments),
        _ if arguments.tokens.is_some() => {
            bail!("--tokens goes with --model {}; else a template says what is missing", diffuse::NAME)
        }
        _ => {}
    }
    let of_diffusion = [
        ("--trace", arguments.trace.is_some()),
        ("--unconstrained", arguments.unconstrained),
        ("--tokens-per-step", arguments.tokens_per_step != 1),
    ];
    if let Some((option, _)) = of_diffusion.iter().find(|(_, is_given)| *is_given) {
        bail!("{option} goes with --model {}", diffuse::NAME);
    }
    if let Some(name) = arguments.model.as_deref() {
        return regions::run(arguments, name);
    }
    if let Some(option) = arguments.sampling.given().next() {
        bail!("{option} goes with --model NAME: without a model nothing is drawn at random");
    }
    let source = Source::require(&arguments.grammar)?;
    let text = TemplateText::read(arguments)?;
    let tokenizer = match &arguments.tokenizer {
        Some(tokenizer) => model::load_tokenizer(tokenizer)?,
        None if text.counts_tokens()? => {
            bail!("a hole is counted in tokens: say whose by --tokenizer or --model")
        }
        None => model::byte_tokenizer()?,
    };
    let grammar = source.compile_within(limits(arguments), &tokenizer, None)?;
    let infiller = grammar.infiller(&Default::default())?;
    let filled = match waiting(|| text.check(&infiller))? {
        Checked::Impossible { n_holes, why } => {
            return impossible(arguments, n_holes, tokenizer.n_vocab(), &why);
        }
        Checked::Possible { mut template, parts } => {
            let text = template.complete()?.expect("a possible template has a text");
            Filled {
                text,
                n_holes: n_holes(&parts),
                n_vocab: tokenizer.n_vocab(),
                n_tokens: None,
                is_complete: true,
            }
        }
    };
    if arguments.json {
        print_json(&filled.to_json())?;
    } else {
        let mut writer = TextWriter::new(false, None);
        let _ = writer.push(&filled.text);
        writer.finish(true)?;
    }
    Ok(Outcome::Done)
}

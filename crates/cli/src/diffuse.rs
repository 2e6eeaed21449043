//! `maskwright infill --model builtin-diffusion`: a canvas of tokens filled in the order in which a diffusion
//! model becomes sure of them.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::{Context, bail};
use maskwright::infill::{CanvasConfig, Hole, Infiller, Part};
use maskwright::{Canvas, Matcher, TokenId, Tokenizer};
use maskwright_decode::visible_text;
use maskwright_decode::{
    CanvasTask, FillConfig, FillEvent, FilledCanvas, GrammarCanvas, SamplerConfig, fill_canvases,
};
use maskwright_models::{BUILTIN_SCHEMAS, BuiltinDiffusion, DiffusionConfig, builtin_diffusion};
use maskwright_trace::{Cell, Frame, Trace};
use serde_json::json;

use crate::arguments::{Infill, JsonArgument};
use crate::grammar::Source;
use crate::outcome::{Outcome, print_json, say};
use crate::progress::waiting;
use crate::template::{limits, parts};
use crate::{bytes, input, trace};

/// What `--model` calls the model.
pub(crate) const NAME: &str = "builtin-diffusion";

/// Fills a canvas: the holes of the template, or `--tokens` positions.
pub(crate) fn run(arguments: &Infill) -> anyhow::Result<Outcome> {
    arguments.trace.iter().flatten().try_for_each(|path| trace::check(path))?;
    let mut builtin = builtin_diffusion()?;
    let source = Source::require(&arguments.grammar)?;
    let grammar = source.compile_within(limits(arguments), &builtin.tokenizer, None)?;
    let positions = positions(arguments, &builtin.tokenizer)?;
    let kind = arguments.prompt.clone().unwrap_or_else(|| kind_of(arguments));
    let prompt = builtin.prompt_ids(&kind)?;
    let mut constraint = if arguments.unconstrained {
        None
    } else {
        let infiller = grammar.infiller(&Default::default())?;
        let mut canvas = canvas(&infiller, &positions, builtin.model.config())?;
        if let Some(why) = waiting(|| canvas.why_impossible())? {
            let n_positions = positions.len();
            say(format_args!(
                "the canvas of {n_positions} positions, one token each, cannot be filled: {why}"
            ));
            return Ok(Outcome::Failed);
        }
        Some(GrammarCanvas::new(canvas))
    };
    let task = CanvasTask {
        prompt: &prompt,
        positions: positions.clone(),
        constraint: constraint.as_mut().map(|canvas| canvas as _),
    };
    let filled = fill(&mut builtin, task, positions, arguments)?;
    let ids = filled.text(builtin.tokenizer.eos_token_ids()).context("the canvas is not full")?;
    let text = builtin.tokenizer.decode(&ids);
    let mut matcher = Matcher::new(&grammar);
    let is_word = matcher.accept_bytes(&text)? && matcher.is_accepting();
    write(arguments, &kind, &filled, &text, is_word)?;
    if !is_word {
        say("the text is not in the language");
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Done)
}

fn canvas(
    infiller: &Infiller,
    positions: &[Option<TokenId>],
    model: &DiffusionConfig,
) -> anyhow::Result<Canvas> {
    let config =
        CanvasConfig::with_padding(Some(TokenId(model.pad_id))).and_mask(Some(TokenId(model.mask_id)));
    Ok(Canvas::new(infiller, positions, config)?)
}

fn fill(
    builtin: &mut BuiltinDiffusion,
    task: CanvasTask<'_>,
    mut shown: Vec<Option<TokenId>>,
    arguments: &Infill,
) -> anyhow::Result<FilledCanvas> {
    let config = FillConfig {
        tokens_per_step: arguments.tokens_per_step,
        sampler: arguments.sampling.into(),
        ..FillConfig::default()
    };
    let tokenizer = builtin.tokenizer.clone();
    let known: Vec<bool> = shown.iter().map(Option::is_some).collect();
    let wants_page = matches!(arguments.trace, Some(Some(_)));
    let mut frames = wants_page.then(|| vec![frame(&shown, &known, None, &tokenizer)]);
    let on_event = &mut |event: &FillEvent| {
        shown[event.position] = event.id;
        if let Some(frames) = &mut frames {
            frames.push(frame(&shown, &known, Some(event.position), &tokenizer));
        }
        if arguments.trace == Some(None) {
            say(trace_line(&shown, &tokenizer));
        }
        ControlFlow::Continue(())
    };
    let mut filled = fill_canvases(&mut builtin.model, vec![task], &config, on_event)?;
    let filled = filled.pop().context("one canvas was given")?;
    if let (Some(Some(path)), Some(frames)) = (&arguments.trace, frames) {
        let title = "a canvas".to_owned();
        trace::write(&Trace { title, model: Some(NAME.to_owned()), frames, ..Trace::default() }, path)?;
    }
    match filled.error {
        Some(error) => Err(error.into()),
        None => Ok(filled),
    }
}

/// The canvas after a step, as a page shows it.
fn frame(shown: &[Option<TokenId>], known: &[bool], new: Option<usize>, tokenizer: &Tokenizer) -> Frame {
    let cell = |(position, (token, &is_known)): (usize, (&Option<TokenId>, &bool))| Cell {
        text: token.map(|token| visible_text(token, tokenizer)),
        is_new: new == Some(position),
        is_known,
        ..Cell::default()
    };
    Frame { positions: shown.iter().zip(known).enumerate().map(cell).collect() }
}

/// The known tokens as text, a dot for each masked position, nothing from the end of the text on.
fn trace_line(positions: &[Option<TokenId>], tokenizer: &Tokenizer) -> String {
    let shown = positions.iter().map(|position| match position {
        None => "·".to_owned(),
        Some(id) => match tokenizer.token_bytes(*id) {
            Some(bytes) => bytes.escape_ascii().to_string().replace("\\\"", "\""),
            None => "␃".to_owned(),
        },
    });
    shown.collect()
}

/// What kind of text is asked for where the user does not say: the name of the schema's file, where the model
/// knows it; else a molecule.
fn kind_of(arguments: &Infill) -> String {
    let stem = match &arguments.grammar.json_schema {
        Some(JsonArgument::File(path)) => path.file_stem().and_then(|stem| stem.to_str()),
        _ => None,
    };
    let known = BUILTIN_SCHEMAS.iter().map(|(kind, _)| *kind).find(|kind| stem == Some(kind));
    known.unwrap_or("smiles").to_owned()
}

fn positions(arguments: &Infill, tokenizer: &Tokenizer) -> anyhow::Result<Vec<Option<TokenId>>> {
    if let Some(n_tokens) = arguments.tokens {
        return Ok(vec![None; n_tokens]);
    }
    let file = arguments.file.as_deref();
    let (name, text) =
        input::read("template", "--template TEXT or --tokens N", arguments.template.as_deref(), file)?;
    let text = input::without_line_end(&text).filter(|_| arguments.template.is_none()).unwrap_or(&text);
    let mut positions = Vec::new();
    for part in parts(text, &name)? {
        match part {
            Part::Text(text) => positions.extend(tokenizer.encode_bytes(&text)?.into_iter().map(Some)),
            Part::Tokens(tokens) => positions.extend(tokens.into_iter().map(Some)),
            Part::Hole(Hole::Exactly(n)) => positions.resize(positions.len() + n, None),
            Part::Hole(_) => {
                bail!("a hole of a canvas says how many tokens it has: {{{{hole=8}}}} for eight")
            }
        }
    }
    Ok(positions)
}

fn write(
    arguments: &Infill,
    kind: &str,
    filled: &FilledCanvas,
    text: &[u8],
    is_word: bool,
) -> anyhow::Result<()> {
    if !arguments.json {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text)?;
        stdout.write_all(b"\n")?;
        return Ok(stdout.flush()?);
    }
    let statistics = &filled.statistics;
    // What took no time was not done: without holes no pass, without the grammar no masks.
    let ms = |time: Duration| (!time.is_zero()).then_some(time.as_secs_f64() * 1000.0);
    let (key, member) = bytes::json_member(text);
    let mut value = json!({
        "prompt": kind,
        "seed": SamplerConfig::from(arguments.sampling).seed,
        "is_word": is_word,
        "n_positions": filled.positions.len(),
        "n_steps": statistics.n_steps,
        "n_questions": statistics.n_questions,
        "n_open": statistics.n_open,
        "n_masks": statistics.n_masks,
        "n_refused": statistics.n_refused,
        "forward_ms": ms(statistics.forward),
        "constraint_ms": ms(statistics.constraint),
    });
    value[key] = member;
    Ok(print_json(&value)?)
}

//! A masked diffusion model fills a canvas: positions of one token each, the surest first, in any order.
//!
//! `cargo run -p maskwright --example diffusion`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod stand_in;

use maskwright::infill::{CanvasConfig, Verdict};
use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::{Canvas, CompileOptions, Compiler, Error, GrammarSource, TokenId, mask_words};
use stand_in::{BLANK, END, noise};

/// What the model likes at each position: the age is no number, and the city not one of the list.
const WANTED: &str = r#"{"name":"Ada","age":"36","city":"Paris"}"#;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "city": {"enum": ["Rome", "Oslo"]}},
    "required": ["name", "age", "city"],
    "additionalProperties": false
}"#;

/// How many of a position's best tokens the canvas is asked about before a mask is made.
const N_ASKED: usize = 8;

/// The logits of every position, given the canvas: a model's forward pass.
fn logits(canvas: &Canvas) -> Vec<Vec<f32>> {
    let wanted: Vec<TokenId> = WANTED.bytes().map(|byte| TokenId(byte.into())).collect();
    let row = |at: usize| {
        let mut row: Vec<f32> = (0..258).map(|token| noise(at, token)).collect();
        let liked = wanted.get(at).copied().unwrap_or(END);
        row[liked.index()] += 1.0 + 5.0 * noise(canvas.n_masked(), at);
        row
    };
    (0..canvas.positions().len()).map(row).collect()
}

/// The token to put at a position: the best that the canvas allows.
fn choose(canvas: &mut Canvas, at: usize, row: &[f32]) -> Result<TokenId, Error> {
    let mut best: Vec<TokenId> = (0..row.len() as u32).map(TokenId).collect();
    best.sort_by(|a, b| row[b.index()].total_cmp(&row[a.index()]));
    // A question about a few tokens is far less work than a mask of all.
    let answers = canvas.allows(at, &best[..N_ASKED])?;
    if let Some(n) = answers.iter().position(|&answer| answer == Verdict::Yes) {
        return Ok(best[n]);
    }
    let mut mask = vec![0; mask_words(row.len())];
    canvas.fill_mask(at, &mut mask, false)?;
    Ok(stand_in::likeliest(row, &mask))
}

/// Fills a canvas of which the first positions are known.
pub fn main() -> Result<(), Error> {
    let tokenizer = stand_in::bytes()?;
    let mut style = SchemaConfig::default();
    style.whitespace = Whitespace::Compact;
    let source = GrammarSource::json_schema(SCHEMA, style);
    let options = CompileOptions::default();
    let grammar = Compiler::new(&tokenizer).compile(&source, &options)?;

    let known = tokenizer.encode(r#"{"name":"Ada"#)?;
    let mut positions = vec![None; WANTED.len()];
    for (position, id) in positions.iter_mut().zip(known) {
        *position = Some(id);
    }
    // The token that the model reads at a masked position is never a part of the text.
    let config = CanvasConfig::default().and_mask(Some(BLANK));
    let mut canvas = Canvas::new(&grammar.infiller(&options)?, &positions, config)?;
    assert!(canvas.is_possible()?, "some text has this beginning and this length");

    while canvas.n_masked() > 0 {
        let rows = logits(&canvas);
        let masked = (0..rows.len()).filter(|&at| canvas.positions()[at].is_none());
        let greatest = |at: usize| rows[at].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let surest = masked.max_by(|&a, &b| greatest(a).total_cmp(&greatest(b))).expect("one is masked");
        let token = choose(&mut canvas, surest, &rows[surest])?;
        assert!(canvas.set(surest, token)?, "what is allowed can be put");
        if canvas.n_masked().is_multiple_of(4) {
            let shown = canvas.positions().iter().map(|id| id.map_or(b'_', |id| id.0 as u8));
            println!("{}", String::from_utf8_lossy(&shown.collect::<Vec<u8>>()));
        }
    }

    let ids: Vec<TokenId> = canvas.positions().iter().flatten().copied().collect();
    let text = tokenizer.decode(&ids);
    println!("{}", String::from_utf8_lossy(&text));
    assert!(text.starts_with(br#"{"name":"Ada"#));
    assert!(grammar.check(&text, &Default::default())?.is_valid);
    Ok(())
}

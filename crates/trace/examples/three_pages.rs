//! Writes three pages into a folder: a JSON text, a canvas and a search.
//!
//! ```text
//! cargo run -p maskwright-trace --example three_pages -- target/pages
//! ```
//!
//! The texts are made up. `xtask/pictures/screenshots.py` takes pictures of the pages and checks them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use maskwright_trace::{Branch, Candidate, Cell, Frame, Outcome, Region, Step, Trace};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map_or_else(|| PathBuf::from("target/pages"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    write(&folder, "text", &text())?;
    write(&folder, "canvas", &canvas())?;
    write(&folder, "search", &search())
}

fn write(folder: &Path, name: &str, trace: &Trace) -> io::Result<()> {
    fs::write(folder.join(name).with_extension("html"), trace.html())?;
    fs::write(folder.join(name).with_extension("ansi"), trace.to_ansi())?;
    fs::write(folder.join(name).with_extension("txt"), trace.to_text())
}

fn candidate(text: &str, probability: f64, why: Option<&str>) -> Candidate {
    Candidate {
        token: id(text),
        text: text.as_bytes().to_vec(),
        probability,
        is_allowed: why.is_none(),
        why: why.map(str::to_owned),
        ..Candidate::default()
    }
}

/// A made-up id that is the same for the same text.
fn id(text: &str) -> u32 {
    text.bytes().fold(7, |sum, byte| (sum * 31 + u32::from(byte)) % 50_000)
}

/// A token of the text: forced without a mass; otherwise with what the model wanted instead and why that was
/// refused.
fn token(text: &[u8], path: &str, mass: Option<f64>, refused: Option<(&str, &str)>) -> Step {
    let name = String::from_utf8_lossy(text);
    let mut step = Step {
        token: id(&name),
        text: text.to_vec(),
        is_forced: mass.is_none(),
        allowed_mass: mass,
        path: (!path.is_empty()).then(|| format!("at {path}")),
        ..Step::default()
    };
    let Some(mass) = mass else { return step };
    let own = mass * 0.8;
    step.n_allowed = Some(12 + u64::from(step.token % 900));
    step.mask_us = Some(18.0 + f64::from(step.token % 60));
    step.wanted = vec![
        candidate(&name, own, None),
        candidate("\n", mass * 0.1, None),
        candidate(" the", (1.0 - mass) * 0.09, Some("a string or a bracket must follow")),
    ];
    if let Some((favourite, why)) = refused {
        step.wanted.insert(0, candidate(favourite, (1.0 - mass) * 0.9, Some(why)));
    }
    step.wanted.sort_by(|one, other| other.probability.total_cmp(&one.probability));
    step.allowed = vec![candidate(&name, 0.8, None), candidate("\n", 0.1, None), candidate("  ", 0.04, None)];
    step
}

fn text() -> Trace {
    let string = Some(("Paris", "a string begins with a quotation mark"));
    let mut steps = vec![
        token(b"Let me look that up", "", Some(0.999), None),
        token(b".\n", "", Some(0.93), None),
        Step {
            token: 151_657,
            name: Some("<tool_call>".to_owned()),
            text: b"<tool_call>".to_vec(),
            ..Step::default()
        },
        token(b"{\n", "", Some(0.71), Some(("\n", "the call begins with {"))),
        token(b"  \"", "", None, None),
        token(b"name", "", None, None),
        token(b"\": ", "", None, None),
        token(b"\"find", "/name", Some(0.998), None),
        token(b"_hot", "/name", Some(0.34), Some(("_flights", "no tool has that name"))),
        token(b"els", "/name", None, None),
        token(b"\",\n", "/name", None, None),
        token(b"  \"arguments\": ", "", None, None),
        token(b"{\n", "/arguments", Some(0.995), None),
        token(b"    \"city\"", "/arguments", Some(0.04), Some(("    \"date\"", "the key city comes first"))),
        token(b": ", "/arguments/city", None, None),
        token(b"\"", "/arguments/city", Some(0.62), string),
        token(b"Z\xc3", "/arguments/city", Some(0.97), None),
        token(b"\xbcrich", "/arguments/city", Some(0.999), None),
        token(b"\",\n", "/arguments/city", Some(0.98), None),
        token(b"    \"stay\"", "/arguments", None, None),
        token(b": ", "/arguments/stay", None, None),
        token(b"{ ", "/arguments/stay", Some(0.55), None),
        token(b"\"from\": ", "/arguments/stay/from", None, None),
        token(b"\"2026", "/arguments/stay/from", Some(0.91), None),
        token(b"-", "/arguments/stay/from", None, None),
        token(b"05", "/arguments/stay/from", Some(0.88), None),
        token(b"-", "/arguments/stay/from", None, None),
        token(b"14", "/arguments/stay/from", Some(0.995), None),
        token(b"\", ", "/arguments/stay/from", None, None),
        token(b"\"nights\": ", "/arguments/stay/nights", None, None),
        token(
            b"3",
            "/arguments/stay/nights",
            Some(0.006),
            Some(("\"three\"", "the schema wants an integer")),
        ),
        token(b" },\n", "/arguments/stay", Some(0.84), None),
        token(b"    \"wishes\": [", "/arguments/wishes", None, None),
        token(b"\"quiet", "/arguments/wishes/0", Some(0.96), None),
        token(b" room", "/arguments/wishes/0", Some(0.99), None),
        token("\", \"🏔️".as_bytes(), "/arguments/wishes/1", Some(0.47), None),
        token(b" view", "/arguments/wishes/1", Some(0.992), None),
        token(b"\"]\n", "/arguments/wishes", Some(0.9), None),
        token(b"  }\n}", "", None, None),
        Step {
            token: 151_658,
            name: Some("</tool_call>".to_owned()),
            text: b"</tool_call>".to_vec(),
            ..Step::default()
        },
    ];
    let n_steps = steps.len();
    for (index, step) in steps.iter_mut().enumerate() {
        step.tokens_left = Some((200 + n_steps - index) as u64);
    }
    let whole: Vec<u8> = steps.iter().flat_map(|step| step.text.clone()).collect();
    let end =
        |name: &str| Step { token: 151_645, name: Some(name.to_owned()), is_end: true, ..Step::default() };
    steps.push(Step { allowed_mass: Some(0.97), ..end("<|im_end|>") });
    let region = |kind: &str, name: Option<&str>, from: &str, to: &str| {
        let start = find(&whole, from);
        let end = start + find(&whole[start..], to) + to.len();
        Region { kind: kind.to_owned(), name: name.map(str::to_owned), start, end: Some(end) }
    };
    Trace {
        title: "A call of a tool".to_owned(),
        model: Some("Qwen3 0.6B".to_owned()),
        grammar: Some("tools: find_hotels, find_flights".to_owned()),
        prompt: Some("Find me a quiet hotel in Zürich for three nights from 14 May.".to_owned()),
        regions: vec![
            region("tag", Some("tool_call"), "<tool_call>", "</tool_call>"),
            region("call", Some("find_hotels"), "{\n  \"name\"", "  }\n}"),
            region("argument", Some("city"), "\"Z", "rich\""),
            region("argument", Some("stay"), "{ \"from\"", " }"),
            region("value", Some("from"), "\"2026", "14\""),
            region("value", Some("nights"), "3 }", "3"),
            region("argument", Some("wishes"), "[\"quiet", "]"),
        ],
        steps,
        is_complete: Some(true),
        ..Trace::default()
    }
}

fn find(text: &[u8], part: &str) -> usize {
    text.windows(part.len()).position(|window| window == part.as_bytes()).unwrap_or(0)
}

fn canvas() -> Trace {
    let words = [
        "def", " area", "(", "radius", ":", " float", ")", " ->", " float", ":\n", "    ", "\"\"\"", "The",
        " area", " of", " a", " circle", ".", "\"\"\"\n", "    ", "return", " math", ".pi", " *", " radius",
        " **", " 2", "\n",
    ];
    // The positions that each step fills; what the user gave is there from the beginning.
    let order: [&[usize]; 8] =
        [&[9, 18], &[2, 6, 20], &[4, 7, 22], &[5, 8], &[12, 16], &[13, 14, 15], &[21, 23, 24], &[25, 26, 17]];
    let known = [0, 1, 3, 10, 11, 19, 27];
    let mut filled: Vec<Option<usize>> =
        (0..words.len()).map(|position| known.contains(&position).then_some(0)).collect();
    let mut frames = Vec::new();
    for step in 0..=order.len() {
        if let Some(positions) = step.checked_sub(1).map(|index| order[index]) {
            for &position in positions {
                filled[position] = Some(step);
            }
        }
        let cell = |(position, since): (usize, &Option<usize>)| Cell {
            text: since.map(|_| words[position].as_bytes().to_vec()),
            is_new: step > 0 && *since == Some(step),
            is_known: *since == Some(0),
            probability: since.filter(|&since| since > 0).map(|since| 0.99 - 0.05 * since as f64),
            allowed_mass: since.filter(|&since| since > 0).map(|_| [0.999, 0.95, 0.7, 0.3][position % 4]),
        };
        frames.push(Frame { positions: filled.iter().enumerate().map(cell).collect() });
    }
    Trace {
        title: "A function, filled in".to_owned(),
        model: Some("Dream 7B".to_owned()),
        grammar: Some("python".to_owned()),
        frames,
        is_complete: Some(true),
        ..Trace::default()
    }
}

fn search() -> Trace {
    use Outcome::{Chosen, Dropped, Finished, Open};
    let branch = |parent, text: &str, log_probability, outcome| Branch {
        parent,
        text: text.as_bytes().to_vec(),
        log_probability: Some(log_probability),
        outcome,
    };
    Trace {
        title: "A query, searched for".to_owned(),
        model: Some("SmolLM2 135M".to_owned()),
        grammar: Some("sql.lark".to_owned()),
        prompt: Some("-- the names of all customers in Bern\n".to_owned()),
        tree: vec![
            branch(None, "SELECT", -0.11, Chosen),
            branch(Some(0), " name", -0.92, Chosen),
            branch(Some(0), " *", -1.34, Open),
            branch(Some(0), " customers", -3.71, Dropped),
            branch(Some(1), " FROM", -1.01, Chosen),
            branch(Some(1), ",", -4.02, Dropped),
            branch(Some(4), " customers", -1.25, Chosen),
            branch(Some(4), " people", -5.3, Dropped),
            branch(Some(2), " FROM", -1.4, Open),
            branch(Some(8), " customers", -1.52, Open),
            branch(Some(9), " WHERE city", -2.9, Open),
            branch(Some(10), " =", -3.1, Open),
            branch(Some(11), " 'Bern'", -3.31, Finished),
            branch(Some(11), " \"Bern\"", -6.0, Dropped),
            branch(Some(9), ";", -4.44, Finished),
            branch(Some(6), " WHERE", -1.4, Chosen),
            branch(Some(15), " city", -1.62, Chosen),
            branch(Some(15), " town", -4.1, Dropped),
            branch(Some(16), " = '", -1.71, Chosen),
            branch(Some(18), "B", -1.75, Chosen),
            branch(Some(19), "ern", -1.77, Chosen),
            branch(Some(20), "'", -1.8, Chosen),
            branch(Some(21), ";", -1.93, Chosen),
            branch(Some(21), " ORDER BY name;", -4.2, Finished),
            branch(Some(16), " LIKE '", -3.9, Dropped),
        ],
        is_complete: Some(true),
        ..Trace::default()
    }
}

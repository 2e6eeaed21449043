//! Pages of hostile and of long traces. They are also written to `target/tmp`, for a look in a browser.

use std::fs;
use std::path::Path;

use maskwright_trace::{Branch, Candidate, Cell, Frame, Outcome, Region, Step, Trace};

/// Texts that try to run, to end the page's parts, or to hide.
const HOSTILE: [&[u8]; 12] = [
    b"<script>hostile()</script>",
    b"</script><img src=x onerror=hostile()>",
    b"<!-- <script>",
    b"]]>{{data}}{{script}}",
    b"\0\x01\x1b[2J\x7f\r\n",
    "\u{202e}desrever\u{2066}\u{feff}\u{2028}".as_bytes(),
    b"\xff\xfe\xc3",
    b"\xa9 \xf0\x9f",
    b"",
    b"&lt;img&gt;&quot;",
    b"\"};alert(1)//\\u003c",
    b"javascript:alert(1)",
];

const ODD: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 2.0, f64::MIN_POSITIVE];

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hostile() -> Trace {
    let bytes = |index: usize| HOSTILE[index % HOSTILE.len()].to_vec();
    let odd = |index: usize| ODD[index % ODD.len()];
    let candidate = |index: usize| Candidate {
        token: index as u32,
        text: bytes(index),
        name: index.is_multiple_of(5).then(|| string(HOSTILE[index % HOSTILE.len()])),
        probability: odd(index),
        is_allowed: index.is_multiple_of(2),
        why: index.is_multiple_of(3).then(|| string(HOSTILE[index % HOSTILE.len()])),
    };
    let step = |index: usize| Step {
        token: index as u32,
        text: bytes(index),
        is_forced: index.is_multiple_of(7),
        is_end: index == 30,
        name: (index % 9 == 8).then(|| string(HOSTILE[index % HOSTILE.len()])),
        allowed_mass: Some(odd(index)),
        n_allowed: Some(u64::MAX),
        wanted: (0..5).map(|at| candidate(index + at)).collect(),
        allowed: (0..5).map(|at| candidate(index + at + 1)).collect(),
        path: Some(string(HOSTILE[index % HOSTILE.len()])),
        mask_us: Some(odd(index)),
        tokens_left: Some(0),
    };
    let region = |index: usize| Region {
        kind: string(HOSTILE[index % HOSTILE.len()]),
        name: index.is_multiple_of(2).then(|| string(HOSTILE[(index + 1) % HOSTILE.len()])),
        // They cross each other, are empty or reversed, and end after the text.
        start: index * 11,
        end: (!index.is_multiple_of(4)).then_some(index * index * 3),
    };
    let cell = |index: usize| Cell {
        text: (!index.is_multiple_of(3)).then(|| bytes(index)),
        is_new: index.is_multiple_of(4),
        is_known: index.is_multiple_of(5),
        probability: Some(odd(index)),
        allowed_mass: Some(odd(index + 1)),
    };
    let branch = |index: usize| Branch {
        // Some are not earlier.
        parent: (!index.is_multiple_of(6)).then_some(if index % 6 == 5 { index + 2 } else { index / 2 }),
        text: bytes(index),
        log_probability: Some(odd(index)),
        outcome: [Outcome::Open, Outcome::Dropped, Outcome::Finished, Outcome::Chosen][index % 4],
    };
    let all = HOSTILE.concat();
    Trace {
        title: string(&all),
        model: Some(string(&all)),
        grammar: Some(string(&all)),
        prompt: Some(string(&all)),
        steps: (0..40).map(step).collect(),
        regions: (0..12).map(region).collect(),
        frames: (0..4)
            .map(|from| Frame { positions: (from..from + 10 + from).map(cell).collect() })
            .collect(),
        tree: (0..40).map(branch).collect(),
        n_left_out: 7,
        is_complete: Some(false),
    }
}

/// Tokens of a vocabulary of 3000, each with five wanted and five allowed ones.
fn long(n_steps: usize) -> Trace {
    let word = |index: usize| format!(" word{}", index * 7919 % 3000);
    let candidate = |index: usize, is_allowed: bool| Candidate {
        token: (index * 7919 % 3000) as u32,
        text: word(index).into_bytes(),
        probability: 1.0 / (index % 97 + 3) as f64,
        is_allowed,
        why: (!is_allowed).then(|| format!("rule {} does not begin with it", index % 20)),
        ..Candidate::default()
    };
    let step = |index: usize| Step {
        token: (index * 7919 % 3000) as u32,
        text: if index % 60 == 59 { b"\n".to_vec() } else { word(index).into_bytes() },
        allowed_mass: Some(1.0 / (index % 13 + 1) as f64),
        n_allowed: Some(index as u64 * 17),
        wanted: (0..5).map(|at| candidate(index * 5 + at, at % 2 == 1)).collect(),
        allowed: (0..5).map(|at| candidate(index * 3 + at, true)).collect(),
        path: Some(format!("/items/{}/name", index / 10)),
        mask_us: Some(index as f64 / 7.0),
        tokens_left: Some((n_steps - index) as u64),
        ..Step::default()
    };
    let steps: Vec<Step> = (0..n_steps).map(step).collect();
    let mut starts = vec![0];
    for step in &steps {
        starts.push(starts[starts.len() - 1] + step.text.len());
    }
    let region = |kind: &str, name: &str, from: usize, to: usize| Region {
        kind: kind.to_owned(),
        name: Some(name.to_owned()),
        start: starts[from],
        end: Some(starts[to.min(n_steps)]),
    };
    let regions = (0..n_steps / 20).flat_map(|index| {
        let from = index * 20;
        let argument = |name, at, length| region("argument", name, from + at, from + at + length);
        [
            region("call", "find", from, from + 15),
            argument("from", 1, 1),
            argument("to", 2, 8),
            argument("at", 10, 5),
        ]
    });
    Trace { title: "Long".to_owned(), regions: regions.collect(), steps, ..Trace::default() }
}

/// The page, written for a look.
fn page(name: &str, trace: &Trace) -> String {
    let page = trace.html();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(file, &page).expect("the folder of test files can be written");
    page
}

/// The page's data, read back.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) =
        page.split_once(r#"<script type="application/json" id="data">"#).expect("the data begins");
    let (json, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(json).expect("the data is JSON")
}

#[test]
fn hostile_texts_stay_texts() {
    let page = page("hostile.html", &hostile());
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let is_control = |character: char| character.is_control() && character != '\n' && character != '\t';
    assert!(!page.contains(is_control));
    assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{feff}', '\u{2028}']));
    assert_eq!(data(&page)["tokens"][0]["t"], "<script>hostile()</script>");
    assert_eq!(data(&page)["steps"].as_array().unwrap().len(), 40);
}

#[test]
fn the_page_loads_nothing() {
    let page = Trace::default().html();
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"));
    for loading in
        ["http:", "https:", "src=", "href=", "url(", "@import", "innerHTML", "insertAdjacentHTML", "eval("]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    assert!(!page.contains("{{") && page.matches("<script").count() == 2);
}

#[test]
fn odd_numbers_are_never_written() {
    let data = data(&hostile().html());
    let masses: Vec<Option<f64>> =
        data["steps"].as_array().unwrap().iter().take(ODD.len()).map(|step| step["m"].as_f64()).collect();
    assert_eq!(masses, [None, None, None, Some(0.0), Some(0.0), Some(0.0), Some(1.0), Some(2.225e-308)]);
    assert!(data["cost"].is_null());
    assert_eq!(data["is_cost_infinite"], true);
    assert!(data["steps"][0]["w"][0][1].is_null());
}

#[test]
fn a_page_of_500_tokens_is_small() {
    let page = page("long.html", &long(500));
    assert!(page.len() <= 500_000, "{} bytes", page.len());
    assert!(data(&page)["tokens"].as_array().unwrap().len() <= 3001);
}

#[test]
fn a_token_of_a_million_characters_is_cut_in_texts() {
    let step = Step { text: "é\n".repeat(500_000).into_bytes(), ..Step::default() };
    let trace = Trace { steps: vec![step], ..Trace::default() };
    assert!(trace.to_text().len() < 400 && trace.to_text().contains("(1500000 characters)"));
    page("huge.html", &trace);
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let is_control = |character: char| character.is_control() && character != '\n';
    let trace = hostile();
    assert!(!trace.to_text().contains(is_control));
    let coloured = trace.to_ansi();
    for sequence in coloured.split('\x1b').skip(1) {
        let is_style = sequence.starts_with('[')
            && sequence
                .trim_start_matches(['[', ';', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                .starts_with('m');
        assert!(is_style, "{sequence:?}");
    }
    assert!(coloured.contains("␛[2J"));
}

#[test]
fn the_text_has_one_line_per_token() {
    let refused = Candidate { text: b"\"x\n".to_vec(), probability: 0.75, ..Candidate::default() };
    let path = Some("at /a/0".to_owned());
    let steps = vec![
        Step {
            text: b"Z\xc3".to_vec(),
            allowed_mass: Some(0.25),
            wanted: vec![refused],
            path,
            ..Step::default()
        },
        Step { text: b"\xbc".to_vec(), is_forced: true, ..Step::default() },
        Step { name: Some("<eos>".to_owned()), is_end: true, allowed_mass: Some(1e-6), ..Step::default() },
    ];
    let regions = vec![Region { kind: "call".to_owned(), name: Some("f".to_owned()), start: 0, end: None }];
    let cells = vec![Cell::default(), Cell { text: Some(b"\n".to_vec()), ..Cell::default() }];
    let branches = vec![Branch { text: b"a".to_vec(), log_probability: Some(-1.0), ..Branch::default() }];
    let frames = vec![Frame { positions: cells }];
    let trace =
        Trace { title: "A\nB".to_owned(), steps, regions, frames, tree: branches, ..Trace::default() };
    let expected = "\
A B
probability cut off: 15.202 nats
3 tokens, 1 forced

1 \"Z\\xc3\" allowed 25.0% wanted \"\\\"x\\n\" at /a/0
2 \"\\xbc\" forced
3 <eos> allowed 1e-4%

region call f bytes 0..open

frame 1: ░\\n

branch 0 \"a\" log probability -1.000
";
    assert_eq!(trace.to_text(), expected);
}

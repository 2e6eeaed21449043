//! Random structural tags and random walks over real vocabularies: the mask and `accept` agree for every id,
//! and what the mask allows always leads to a text that is accepted.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failure is a failed test, and says how much was judged"
)]

use maskwright::json_schema::SchemaConfig;
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer, TokenizerOptions};
use maskwright_oracle::shared;
use serde_json::{Value, json};

/// Tags for each vocabulary.
const TAGS: u64 = 40;

/// Tokens of a walk.
const STEPS: usize = 24;

/// A small generator of random numbers (xorshift64*), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Writes random tags that name these special tokens.
struct Tags<'a> {
    random: Random,
    tokens: &'a [(u32, String)],
}

const TEXTS: [&str; 8] = ["<f>", "</f>", "<think>", "ab", "é", "\n\n", "<tool_call>", "x"];

impl Tags<'_> {
    fn text(&mut self) -> &'static str {
        TEXTS[self.random.below(TEXTS.len())]
    }

    fn token(&mut self) -> Value {
        let (id, name) = self.random.one(self.tokens).clone();
        if self.random.below(2) == 0 { json!(id) } else { json!(name) }
    }

    fn token_object(&mut self) -> Value {
        json!({"type": "token", "token": self.token()})
    }

    fn texts(&mut self, most: usize) -> Vec<&'static str> {
        (0..self.random.below(most + 1)).map(|_| self.text()).collect()
    }

    fn ids(&mut self, most: usize) -> Vec<Value> {
        (0..self.random.below(most + 1)).map(|_| self.token()).collect()
    }

    fn formats(&mut self, depth: usize) -> Vec<Value> {
        (0..=self.random.below(3)).map(|_| self.format(depth)).collect()
    }

    fn tag(&mut self, begin: Value, depth: usize) -> Value {
        let end = match self.random.below(3) {
            0 => self.token_object(),
            1 => json!([self.text(), self.text()]),
            _ => json!(self.text()),
        };
        json!({"type": "tag", "begin": begin, "content": self.format(depth), "end": end})
    }

    fn tags(&mut self, depth: usize, prefix: &str) -> Vec<Value> {
        let names = ["one>", "two>", "one "];
        let n_tags = 1 + self.random.below(names.len());
        names[..n_tags].iter().map(|name| self.tag(json!(format!("{prefix}{name}")), depth)).collect()
    }

    fn format(&mut self, depth: usize) -> Value {
        let n_kinds = if depth == 0 { 7 } else { 18 };
        let depth = depth.saturating_sub(1);
        match self.random.below(n_kinds) {
            0 => json!({"type": "const_string", "value": self.text()}),
            1 => json!({"type": "regex", "pattern": *self.random.one(&["[a-z]{1,4}", "(é|x)+", "\\d+"])}),
            2 => json!({"type": "json_schema", "json_schema": {"type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 5}},
                "required": ["a"], "additionalProperties": false},
                "style": *self.random.one(&["json", "qwen_xml", "minimax_xml", "deepseek_xml", "glm_xml"]),
                "any_order": self.random.below(2) == 0}),
            3 => json!({"type": "any_text", "excludes": self.texts(2),
                "max_tokens": *self.random.one(&[None, None, Some(0), Some(1), Some(3)]),
                "max_chars": *self.random.one(&[None, None, Some(4)])}),
            4 => self.token_object(),
            5 => json!({"type": "exclude_token", "exclude_tokens": self.ids(2)}),
            6 => json!({"type": "any_tokens", "exclude_tokens": self.ids(2),
                "max_tokens": *self.random.one(&[None, Some(2)])}),
            7 => json!({"type": "sequence", "elements": self.formats(depth)}),
            8 => json!({"type": "or", "elements": self.formats(depth)}),
            9 => json!({"type": "optional", "content": self.format(depth)}),
            10 => json!({"type": *self.random.one(&["plus", "star"]), "content": self.format(depth)}),
            11 => json!({"type": "repeat", "min": self.random.below(3), "max": *self.random.one(&[-1, 2, 3]),
                "content": self.format(depth)}),
            12 => {
                let begin = if self.random.below(2) == 0 { json!(self.text()) } else { self.token_object() };
                self.tag(begin, depth)
            }
            13 => {
                json!({"type": "triggered_tags", "triggers": ["<call "], "tags": self.tags(depth, "<call "),
                "at_least_one": self.random.below(2) == 0, "stop_after_first": self.random.below(2) == 0,
                "excludes": self.texts(1)})
            }
            14 => json!({"type": "tags_with_separator", "tags": self.tags(depth, "<"),
                "separator": *self.random.one(&["\n", ", "]),
                "at_least_one": self.random.below(2) == 0, "stop_after_first": self.random.below(2) == 0}),
            15 => {
                json!({"type": "dispatch", "rules": [["<go>", self.format(depth)], ["!", self.format(depth)]],
                "loop": self.random.below(2) == 0, "excludes": self.texts(1)})
            }
            16 => {
                let trigger = self.token();
                let begin = json!({"type": "token", "token": trigger.clone()});
                json!({"type": "token_triggered_tags", "trigger_tokens": [trigger],
                    "tags": [self.tag(begin, depth)], "exclude_tokens": self.ids(1),
                    "at_least_one": self.random.below(2) == 0, "stop_after_first": self.random.below(2) == 0})
            }
            _ => json!({"type": "token_dispatch", "rules": [[self.token(), self.format(depth)]],
                "loop": self.random.below(2) == 0, "exclude_tokens": self.ids(1)}),
        }
    }
}

/// Walks through the texts of one tag. Returns how many ids were judged.
fn walk(matcher: &mut Matcher, n_vocab: usize, random: &mut Random, shown: &str) -> usize {
    let mut n_judged = 0;
    for step in 0..STEPS {
        let mask = matcher.mask().unwrap();
        let allowed: Vec<TokenId> = mask.iter().collect();
        assert!(
            !allowed.is_empty(),
            "a dead end after {:?} in {shown}",
            matcher.text().escape_ascii().to_string()
        );
        // All ids at some places, a few hundred at the others.
        let stride = if step == random.below(STEPS) { 1 } else { n_vocab / 300 };
        for id in (random.below(stride)..n_vocab).step_by(stride).map(|id| TokenId(id as u32)) {
            let is_accepted = matcher.validate_tokens(&[id]).unwrap() == 1;
            let text = matcher.text().escape_ascii().to_string();
            assert_eq!(mask.contains(id), is_accepted, "id {} after {text:?} in {shown}", id.0);
            n_judged += 1;
        }
        let token = *random.one(&allowed);
        assert!(matcher.accept_token(token).unwrap());
        if matcher.is_terminated() {
            return n_judged;
        }
    }
    let rest = matcher.finish().unwrap();
    let text = matcher.text().escape_ascii().to_string();
    assert_eq!(matcher.accept_tokens(&rest).unwrap(), rest.len(), "{rest:?} after {text:?} in {shown}");
    assert!(matcher.is_terminated());
    n_judged
}

#[test]
fn masks_and_acceptance_agree_and_lead_to_texts() {
    let Some(folder) = shared("tokenizers") else { return };
    let mut config = SchemaConfig::default();
    config.strict = false;
    for name in ["llama3_1", "qwen2_5", "gemma2"] {
        let path = folder.join(name).join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(&path, &TokenizerOptions::default()).unwrap();
        let eos = tokenizer.eos_token_ids().to_vec();
        let tokens: Vec<(u32, String)> = tokenizer
            .special_tokens()
            .filter(|(id, _)| !eos.contains(id))
            .map(|(id, name)| (id.0, name.to_owned()))
            .take(5)
            .collect();
        let compiler = Compiler::new(&tokenizer);
        let (mut n_tags, mut n_judged) = (0, 0);
        for seed in 1..=TAGS {
            let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut tags = Tags { random, tokens: &tokens };
            let tag = json!({"type": "structural_tag", "format": tags.format(3)}).to_string();
            let source = GrammarSource::structural_tag(tag.as_str(), config);
            // Tags that are ambiguous or empty are refused.
            let Ok(compiled) = compiler.compile(&source, &CompileOptions::default()) else { continue };
            n_tags += 1;
            let mut matcher = Matcher::new(&compiled);
            n_judged += walk(&mut matcher, tokenizer.n_vocab(), &mut tags.random, &tag);
        }
        eprintln!("{name}: {n_tags} tags of {TAGS}, {n_judged} ids judged");
        assert!(n_tags * 2 > TAGS, "{n_tags} of {TAGS} tags were compiled");
        assert!(n_judged > 1_000_000, "{n_judged}");
    }
}

/// Lines of prose and code: descriptions of schemas, and programs.
fn lines(n_lines: usize) -> Option<Vec<String>> {
    let (schemas, programs) = (shared("data/maskbench")?, shared("data/programs")?);
    let mut lines = Vec::new();
    let mut folders = vec![programs];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                lines.extend(text.lines().map(str::to_owned));
            }
        }
        if lines.len() > n_lines / 2 {
            break;
        }
    }
    lines.truncate(n_lines / 2);
    for file in ["Glaiveai2K.jsonl", "JsonSchemaStore.jsonl", "Github_medium.jsonl", "Github_hard.jsonl"] {
        let Ok(text) = std::fs::read_to_string(schemas.join(file)) else { continue };
        for line in text.lines() {
            let mut values = vec![serde_json::from_str::<Value>(line).unwrap()];
            while let Some(value) = values.pop() {
                match value {
                    Value::Object(members) => {
                        values.extend(members.into_iter().map(|(key, value)| match value {
                            Value::String(text) if key == "description" || key == "title" => {
                                lines.extend(text.lines().map(str::to_owned));
                                Value::Null
                            }
                            value => value,
                        }))
                    }
                    Value::Array(items) => values.extend(items),
                    _ => {}
                }
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.truncate(n_lines);
    Some(lines)
}

/// Free text is refused only if it has an excluded string in it.
#[test]
fn prose_and_code_are_free_text() {
    let (Some(folder), Some(lines)) = (shared("tokenizers"), lines(20_000)) else { return };
    let path = folder.join("llama3_1").join("tokenizer.json");
    let tokenizer = Tokenizer::from_file(&path, &TokenizerOptions::default()).unwrap();
    let compiler = Compiler::new(&tokenizer);
    let excluded = ["the ", "return", ".."];
    let free = json!({"type": "any_text", "excludes": excluded});
    let triggered = json!({"type": "triggered_tags", "triggers": ["<function="], "excludes": excluded,
        "tags": [{"begin": "<function=f>", "content": {"type": "json_schema", "json_schema": true},
                  "end": "</function>"}]});
    let (mut n_lines, mut n_refused) = (0, 0);
    for format in [free, triggered] {
        let tag = json!({"type": "structural_tag", "format": format}).to_string();
        let source = GrammarSource::structural_tag(tag.as_str(), SchemaConfig::default());
        let compiled = compiler.compile(&source, &CompileOptions::default()).unwrap();
        for line in &lines {
            let first = excluded.iter().filter_map(|text| Some(line.find(text)? + text.len())).min();
            let mut matcher = Matcher::new(&compiled);
            let n_read = matcher.validate_bytes(line.as_bytes()).unwrap();
            assert_eq!(n_read, first.map_or(line.len(), |end| end - 1), "{line:?}");
            let ids = tokenizer.encode(line).unwrap();
            let is_free = matcher.accept_tokens(&ids).unwrap() == ids.len();
            assert_eq!(is_free, first.is_none(), "{line:?}");
            assert!(matcher.is_accepting(), "free text may end anywhere");
            n_refused += usize::from(!is_free);
        }
        n_lines += lines.len();
    }
    eprintln!("{n_lines} lines, {n_refused} with an excluded string");
    assert!(n_lines == 40_000 && n_refused > 1_000, "{n_lines} lines, {n_refused} refused");
}

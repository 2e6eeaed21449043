//! `lark-verdicts`: real programs and a thousand changes of them, judged by our matchers and by Lark itself.
//!
//! Under the published grammars of Go, Java and Python every text is read under both disciplines, byte by
//! byte and token by token, and judged by Lark's LALR parser with its basic lexer; where that resolves a
//! conflict in silence, by its Earley parser. Under built-in grammars all texts of the data are read.
//! Claimed:
//!
//! 1. `basic` judges as Lark does, programs and mutants, and bytes as tokens do;
//! 2. at each token of a text some token is allowed, the text's own iff it is accepted, and the end iff the
//!    text may end; and tokens drawn from a mask are accepted, others refused;
//! 3. where a text is refused, what was read of it can be completed to a text that Lark accepts;
//! 4. built-in grammars have all texts but those listed.
//!
//! What `contextual` accepts beyond `basic`, and what it refuses, is listed, and no claim.

mod judge;
mod mutate;
mod reading;
mod subjects;

use std::path::PathBuf;

use anyhow::ensure;
use maskwright::Compiler;
use maskwright::lark::LexerKind;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::table::{render, shortened};
pub(crate) use judge::{LarkJudge, python_with_lark};
use judge::{LarkVerdicts, Verdict};
use reading::Reader;
pub(crate) use subjects::Subject;
use subjects::{BUILT_IN, PUBLISHED, Text, reason_to_refuse};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "llama3_1")]
    tokenizer: String,
    /// Only these grammars: go, java, python, sql, smiles, cpp
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Changed texts for each published grammar
    #[arg(long, default_value_t = 1000)]
    mutants: usize,
    /// One text in so many is read
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// A Python that has Lark [default: a virtual environment under target/, made if it is not there]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Changes the mutants
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    log: LogArguments,
}

/// What became of a text.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    subject: String,
    name: String,
    /// How the text was changed; `None` of a text as it is.
    mutation: Option<String>,
    /// `None` of built-in grammars.
    lark: Option<LarkVerdicts>,
    basic: Verdict,
    /// `None` of built-in grammars, which have one discipline.
    contextual: Option<Verdict>,
    n_tokens: usize,
    /// What is claimed and not so.
    failures: Vec<String>,
    /// Kept of changed texts on which somebody differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Entry {
    fn is_expected(&self) -> bool {
        match &self.lark {
            Some(lark) => lark.is_accepting(),
            None => reason_to_refuse(&self.subject, &self.name).is_none(),
        }
    }

    fn is_conflict(&self) -> bool {
        self.lark.as_ref().is_some_and(LarkVerdicts::is_conflict)
    }

    fn is_beyond(&self) -> bool {
        !self.basic.is_accepting() && self.contextual.as_ref().is_some_and(Verdict::is_accepting)
    }

    fn is_short(&self) -> bool {
        self.basic.is_accepting() && self.contextual.as_ref().is_some_and(|verdict| !verdict.is_accepting())
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({
        "tokenizer": arguments.tokenizer, "seed": arguments.seed, "every": arguments.every,
    });
    let mut log = Log::<Entry>::open("lark-verdicts", &settings, &arguments.log)?;
    let python = python_with_lark(arguments.python.as_deref())?;
    let tokenizer = data::load_tokenizer(&arguments.tokenizer)?;
    let names: Vec<&'static str> = PUBLISHED.into_iter().chain(BUILT_IN).collect();
    if let Some(unknown) = arguments.only.iter().find(|name| !names.contains(&name.as_str())) {
        anyhow::bail!("there is no grammar {unknown:?} here: there are {}", names.join(", "));
    }
    for name in names {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == name) {
            continue;
        }
        let subject = Subject::read(name)?;
        let tasks = tasks(&subject, arguments);
        let is_known = |task: &Task<'_>| {
            log.entries().iter().any(|entry| entry.subject == name && entry.name == task.name())
        };
        let left: Vec<Task<'_>> = tasks.iter().filter(|task| !is_known(task)).copied().collect();
        let bar = crate::progress::bar("lark-verdicts", tasks.len() - left.len(), tasks.len());
        if left.is_empty() {
            continue;
        }
        // A compiler for each grammar: its caches end with it.
        let mut bench = Bench::new(&subject, Compiler::new(&tokenizer), &python)?;
        for task in left {
            log.append(bench.judge(task, arguments.seed)?)?;
            bar.inc(1);
        }
        bar.finish();
    }
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// A text of a subject as it is, or changed.
#[derive(Clone, Copy)]
struct Task<'s> {
    text: &'s Text,
    mutant: Option<usize>,
}

impl Task<'_> {
    fn name(&self) -> String {
        match self.mutant {
            None => self.text.name.clone(),
            Some(index) => format!("mutant {index}"),
        }
    }
}

/// The texts, and for published grammars changes of those that Lark accepts, in turn.
fn tasks<'s>(subject: &'s Subject, arguments: &Arguments) -> Vec<Task<'s>> {
    let mut tasks: Vec<Task<'_>> =
        subject.texts.iter().step_by(arguments.every).map(|text| Task { text, mutant: None }).collect();
    let accepted: Vec<&Text> =
        subject.texts.iter().filter(|text| text.listed.as_deref() == Some("accept")).collect();
    if !accepted.is_empty() {
        let mutant = |index: usize| Task { text: accepted[index % accepted.len()], mutant: Some(index) };
        tasks.extend((0..arguments.mutants).map(mutant));
    }
    tasks
}

/// All that judges texts of one subject.
struct Bench<'s> {
    subject: &'s Subject,
    basic: Reader,
    contextual: Option<Reader>,
    lark: Option<LarkJudge>,
}

impl<'s> Bench<'s> {
    fn new(subject: &'s Subject, compiler: Compiler, python: &std::path::Path) -> anyhow::Result<Bench<'s>> {
        let basic = Reader::new(subject.compile(&compiler, LexerKind::Basic)?, &compiler);
        let (mut contextual, mut lark) = (None, None);
        if let Some(file) = &subject.file {
            let compiled = subject.compile(&compiler, LexerKind::Contextual)?;
            contextual = Some(Reader::new(compiled, &compiler));
            lark = Some(LarkJudge::start(python, file, subject.is_indented())?);
        }
        Ok(Bench { subject, basic, contextual, lark })
    }

    fn judge(&mut self, task: Task<'_>, seed: u64) -> anyhow::Result<Entry> {
        let number = task.mutant.map_or(u64::MAX, |index| index as u64);
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        let (mut text, mut mutation) = (task.text.text.clone(), None);
        if let Some(index) = task.mutant {
            let kind = index % mutate::KINDS.len();
            text = mutate::mutant(&mut rng, &text, &self.basic.tokens(&text)?, kind);
            mutation = Some(format!("{}: {}", task.text.name, mutate::KINDS[kind]));
        }
        let (mut failures, mut n_tokens) = (Vec::new(), 0);
        let lark = self.lark.as_mut().map(|lark| lark.judge(&text)).transpose()?;
        if let (Some(listed), Some(LarkVerdicts { lalr: Some(lalr), .. }), None) =
            (&task.text.listed, &lark, task.mutant)
        {
            let said = match lalr {
                Verdict::Accepts => "accept".to_owned(),
                Verdict::Refuses(why) | Verdict::GivesUp(why) => format!("reject:{why}"),
            };
            if said != *listed {
                failures.push(format!("Lark says {said}, the list says {listed}"));
            }
        }
        let mut verdicts = Vec::new();
        let readers = [("basic", Some(&self.basic)), ("contextual", self.contextual.as_ref())];
        for (lexer, reader) in readers.into_iter().filter_map(|(lexer, reader)| Some((lexer, reader?))) {
            let mut found = Vec::new();
            let read = reader.read(&text, &mut rng, &mut found)?;
            n_tokens += read.n_tokens;
            if let (Some(lark), "basic", true) = (self.lark.as_mut(), lexer, rng.random_bool(0.25))
                && let Some(whole) = reader.completed(&text, &read, &mut found)?
                && !lark.judge(&whole)?.is_accepting()
            {
                found.push(format!("Lark refuses the completion {:?}", shortened(&whole, 4000)));
            }
            failures.extend(found.into_iter().map(|failure| format!("{lexer}: {failure}")));
            verdicts.push(read.verdict);
        }
        let mut verdicts = verdicts.into_iter();
        let basic = verdicts.next().unwrap_or_else(|| Verdict::GivesUp("not read".to_owned()));
        let contextual = verdicts.next();
        let mut entry = Entry {
            subject: self.subject.name.to_owned(),
            name: task.name(),
            mutation,
            lark,
            basic,
            contextual,
            n_tokens,
            failures,
            text: None,
        };
        if entry.is_expected() != entry.basic.is_accepting() {
            entry.failures.push(format!("basic: {:?}, and Lark says {:?}", entry.basic, entry.lark));
        }
        if let Some(Verdict::GivesUp(why)) = &entry.contextual {
            entry.failures.push(format!("contextual: {why}"));
        }
        let is_kept =
            !entry.failures.is_empty() || entry.is_beyond() || entry.is_short() || entry.is_conflict();
        entry.text = (is_kept && task.mutant.is_some()).then_some(text);
        Ok(entry)
    }
}

fn report(entries: &[Entry]) -> String {
    let head = ["", "texts", "accepted", "LALR conflicts", "contextual: more", "less", "tokens", "FAILURES"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for name in PUBLISHED.into_iter().chain(BUILT_IN) {
        for is_changed in [false, true] {
            let these: Vec<&Entry> = entries
                .iter()
                .filter(|entry| entry.subject == name && entry.mutation.is_some() == is_changed)
                .collect();
            if these.is_empty() {
                continue;
            }
            let count =
                |is: &dyn Fn(&Entry) -> bool| these.iter().filter(|entry| is(entry)).count().to_string();
            rows.push(vec![
                if is_changed { format!("{name}, changed") } else { name.to_owned() },
                these.len().to_string(),
                count(&|entry| entry.basic.is_accepting()),
                count(&Entry::is_conflict),
                count(&Entry::is_beyond),
                count(&Entry::is_short),
                these.iter().map(|entry| entry.n_tokens).sum::<usize>().to_string(),
                count(&|entry| !entry.failures.is_empty()),
            ]);
        }
    }
    let mut text = render(&rows);
    let mut list = |title: &str, is: &dyn Fn(&Entry) -> bool, tell: &dyn Fn(&Entry) -> String| {
        let found: Vec<&Entry> = entries.iter().filter(|entry| is(entry)).collect();
        if found.is_empty() {
            return;
        }
        text += &format!("\n{title}:\n");
        for entry in found {
            let mutation =
                entry.mutation.as_ref().map(|mutation| format!(" ({mutation})")).unwrap_or_default();
            text += &format!("  {} {}{mutation}{}\n", entry.subject, entry.name, tell(entry));
        }
    };
    let nothing = |_: &Entry| String::new();
    let of_built_in = |entry: &Entry| entry.lark.is_none() && !entry.basic.is_accepting();
    list(
        "accepted by Lark's Earley parser only, since LALR resolves conflicts in silence",
        &Entry::is_conflict,
        &nothing,
    );
    list("accepted by the contextual lexer only", &Entry::is_beyond, &nothing);
    list("refused by the contextual lexer only", &Entry::is_short, &|entry| {
        format!(": {:?}", entry.contextual)
    });
    list("not in the language of a built-in grammar", &of_built_in, &|entry| {
        let why = reason_to_refuse(&entry.subject, &entry.name).unwrap_or("NOBODY KNOWS WHY");
        format!(": {why}")
    });
    list("FAILURES", &|entry| !entry.failures.is_empty(), &|entry| {
        format!("\n    {}", shortened(&entry.failures.join("\n    "), 1500))
    });
    text
}

/// Whether the claims hold.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let n_failures = entries.iter().filter(|entry| !entry.failures.is_empty()).count();
    ensure!(n_failures == 0, "{n_failures} of {} texts are not judged as they should be", entries.len());
    println!("{} texts, each judged as it should be", entries.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::{TokenId, Tokenizer};

    use super::*;

    fn byte_compiler() -> Compiler {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.extend([b"select ".to_vec(), b"a, b".to_vec(), Vec::new()]);
        Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(258)]).unwrap())
    }

    fn entry(subject: &str, name: &str, basic: Verdict) -> Entry {
        Entry {
            subject: subject.to_owned(),
            name: name.to_owned(),
            mutation: None,
            lark: None,
            basic,
            contextual: None,
            n_tokens: 1,
            failures: Vec::new(),
            text: None,
        }
    }

    #[test]
    fn texts_of_built_in_grammars_are_read_in_all_ways() {
        let text =
            |name: &str, text: &str| Text { name: name.to_owned(), text: text.to_owned(), listed: None };
        let texts = vec![text("good", "select a, b from t"), text("bad", "select a, b from")];
        let subject = Subject { name: "sql", file: None, texts };
        let mut bench = Bench::new(&subject, byte_compiler(), std::path::Path::new("")).unwrap();
        let [good, bad] =
            [0, 1].map(|index| bench.judge(Task { text: &subject.texts[index], mutant: None }, 1).unwrap());
        assert!(good.basic.is_accepting() && good.failures.is_empty() && good.n_tokens == 10, "{good:?}");
        assert!(!bad.basic.is_accepting() && bad.failures.len() == 1, "{bad:?}");
        assert!(verdict(std::slice::from_ref(&good)).is_ok() && verdict(&[good, bad]).is_err());
    }

    #[test]
    fn what_differs_is_listed() {
        let refuses = || Verdict::Refuses("UnexpectedToken".to_owned());
        let known = entry("smiles", "line 138", refuses());
        let beyond = Entry {
            lark: Some(LarkVerdicts { lalr: Some(refuses()), earley: Some(refuses()) }),
            contextual: Some(Verdict::Accepts),
            mutation: Some("x.java: a token deleted".to_owned()),
            ..entry("java", "mutant 1", refuses())
        };
        let conflict = Entry {
            lark: Some(LarkVerdicts { lalr: Some(refuses()), earley: Some(Verdict::Accepts) }),
            contextual: Some(refuses()),
            ..entry("go", "full/y.go", Verdict::Accepts)
        };
        let entries = [known, beyond, conflict];
        assert!(entries.iter().all(|entry| entry.is_expected() == entry.basic.is_accepting()));
        assert!(entry("smiles", "line 139", refuses()).is_expected());
        let text = report(&entries);
        for part in
            ["line 138: a ring bond", "mutant 1 (x.java: a token deleted)", "go full/y.go\n", "java, changed"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("FAILURES:"), "{text}");
    }
}

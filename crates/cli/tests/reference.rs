//! The page of the command line, docs/reference/command-line.md, made of what `--help` says.

mod common;
#[path = "../../maskwright/tests/support/page.rs"]
#[allow(dead_code, reason = "shared with the pages of the library")]
mod page;

use std::collections::BTreeMap;
use std::fmt::Write;

use common::maskwright;
use page::{Blocks, code, message, table};

const COMMANDS: [&str; 8] =
    ["generate", "check", "mask", "infill", "tokenize", "pull", "completions", "debug"];
/// The commands that take a grammar.
const OF_GRAMMARS: [&str; 5] = ["generate", "check", "mask", "infill", "debug"];

/// What the help of a command says.
struct Help {
    about: String,
    usage: String,
    entries: Vec<Entry>,
    /// The text after the options, without the examples.
    after: String,
    examples: Vec<String>,
}

/// An argument or option.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    heading: String,
    /// How it is written: `-t, --text <TEXT>`.
    written: String,
    text: Vec<String>,
}

impl Help {
    fn of(command: &str) -> Help {
        let text = maskwright(&[command, "--help"]).exits(0).stdout;
        let (about, rest) = text.split_once("\nUsage: ").unwrap_or_else(|| panic!("{text}"));
        let (usage, rest) = rest.split_once("\n\n").unwrap_or_else(|| panic!("{text}"));
        let mut help = Help {
            about: about.trim().to_owned(),
            usage: usage.to_owned(),
            entries: Vec::new(),
            after: String::new(),
            examples: Vec::new(),
        };
        let mut heading = "";
        let mut lines = rest.lines().peekable();
        while let Some(line) = lines.next_if(|line| !is_after(line)) {
            let own = line.trim_start();
            let indentation = line.len() - own.len();
            if indentation == 0 {
                heading = if own.is_empty() { heading } else { own.trim_end_matches(':') };
            } else if indentation < 10 && own.starts_with(['-', '<', '[']) {
                let (written, text) = own.split_once("  ").unwrap_or((own, ""));
                let text = Some(text.trim()).filter(|text| !text.is_empty());
                help.entries.push(Entry {
                    heading: heading.to_owned(),
                    written: written.to_owned(),
                    text: text.into_iter().map(str::to_owned).collect(),
                });
            } else if let Some(entry) = help.entries.last_mut() {
                entry.text.push(own.to_owned());
            }
        }
        let after: Vec<&str> = lines.collect();
        let examples = after.iter().position(|line| *line == "Examples:").unwrap_or_else(|| panic!("{text}"));
        let n_lines = after[examples + 1..].iter().take_while(|line| line.starts_with("  ")).count();
        for line in &after[examples + 1..][..n_lines] {
            match help.examples.last_mut() {
                Some(example) if line.starts_with("    ") => *example += &format!("\n{}", &line[2..]),
                _ => help.examples.push(line[2..].to_owned()),
            }
        }
        let beside = [&after[..examples], &after[examples + 1 + n_lines..]].concat();
        help.after = beside.join("\n").trim().to_owned();
        help
    }
}

/// Whether a line is of the text after the options.
fn is_after(line: &str) -> bool {
    line == "Examples:" || line.starts_with(|c: char| c != ' ') && !line.ends_with(':')
}

/// The text of an entry as a cell: sentences, then the possible values, then the default.
fn cell(text: &[String]) -> String {
    let mut parts: Vec<String> = vec![String::new()];
    let mut is_value = false;
    for line in text {
        if line == "Possible values:" {
            is_value = true;
        } else if let Some((value, text)) =
            line.strip_prefix("- ").filter(|_| is_value).and_then(|line| line.split_once(':'))
        {
            parts.push(format!("`{}`: {}", value.trim(), text.trim()));
        } else if line.starts_with("[default:") {
            parts.push(line.clone());
        } else if !line.is_empty() {
            let last = parts.last_mut().expect("there is one");
            let between = if last.is_empty() { "" } else { " " };
            *last += &format!("{between}{line}");
        }
    }
    let parts: Vec<String> =
        parts.into_iter().filter(|part| !part.is_empty()).map(|part| message(&part)).collect();
    parts.join("<br>")
}

/// A table for each heading.
fn tables(entries: &[Entry], level: &str) -> String {
    let mut headings: Vec<&str> = Vec::new();
    for entry in entries {
        if !headings.contains(&entry.heading.as_str()) {
            headings.push(&entry.heading);
        }
    }
    let mut made = String::new();
    for heading in headings {
        let of_heading = entries.iter().filter(|entry| entry.heading == heading);
        let rows: Vec<Vec<String>> =
            of_heading.map(|entry| vec![code(&entry.written), cell(&entry.text)]).collect();
        let title = if level.is_empty() { format!("**{heading}**") } else { format!("{level} {heading}") };
        writeln!(made, "{title}\n\n{}", table(&["option", "meaning"], &rows)).expect("memory can be written");
    }
    made
}

/// Paragraphs of a help text, each on one line.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let joined = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        message(&joined)
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Lines of a page, wrapped as its prose is.
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 140;
    let mut made = String::new();
    for paragraph in text.split("\n\n") {
        let mut n_columns = 0;
        for word in paragraph.split(' ') {
            let length = word.chars().count();
            match n_columns {
                0 => {}
                n if n + 1 + length > COLUMNS => {
                    made.push('\n');
                    n_columns = 0;
                }
                _ => {
                    made.push(' ');
                    n_columns += 1;
                }
            }
            made += word;
            n_columns += length;
        }
        made += "\n\n";
    }
    made
}

#[test]
fn the_page_is_what_help_says() {
    let helps: Vec<(&str, Help)> = COMMANDS.map(|command| (command, Help::of(command))).into();
    // What every command with a grammar takes is said once.
    let mut n_times: BTreeMap<String, usize> = BTreeMap::new();
    for (_, help) in helps.iter().filter(|(command, _)| OF_GRAMMARS.contains(command)) {
        for entry in &help.entries {
            *n_times.entry(format!("{entry:?}")).or_default() += 1;
        }
    }
    let is_shared = |entry: &Entry| {
        !["Options", "Arguments"].contains(&entry.heading.as_str())
            && n_times.get(&format!("{entry:?}")) == Some(&OF_GRAMMARS.len())
    };
    let generate = &helps[0].1;
    let shared: Vec<Entry> = generate.entries.iter().filter(|entry| is_shared(entry)).cloned().collect();
    assert!(shared.len() >= 20, "{shared:?}");
    let mut blocks = Blocks::default();
    blocks.add("Grammar", &tables(&shared, "###"));
    let mut commands = String::new();
    for (command, help) in &helps {
        let own = |entry: &&Entry| !(OF_GRAMMARS.contains(command) && is_shared(entry));
        let own: Vec<Entry> = help
            .entries
            .iter()
            .filter(own)
            .filter(|entry| !entry.written.contains("--help"))
            .cloned()
            .collect();
        writeln!(
            commands,
            "## {command}\n\n{}```text\n{}\n```\n",
            wrapped(&paragraphs(&help.about)),
            help.usage
        )
        .expect("memory can be written");
        if OF_GRAMMARS.contains(command) {
            commands += "Takes [the options of a grammar](#a-grammar) too.\n\n";
        }
        commands += &tables(&own, "");
        let mark = match *command {
            "pull" => "<!-- shown: it downloads weights -->",
            _ => "<!-- run by: cargo test -p maskwright-cli -->",
        };
        write!(commands, "{mark}\n```sh\n{}\n```\n\n", help.examples.join("\n"))
            .expect("memory can be written");
        if !help.after.is_empty() {
            commands += &wrapped(&paragraphs(&help.after));
        }
    }
    blocks.add("Commands", &commands);
    let text = maskwright(&["--help"]).exits(0).stdout;
    let (_, codes) = text.split_once("\nExit code: ").expect("the help says the exit codes");
    let (codes, _) = codes.split_once(".\nMore: ").expect("the help ends with a link");
    let codes = codes.replace('\n', " ");
    let rows = codes
        .split("; ")
        .flat_map(|part| part.split_once(' '))
        .map(|(number, means)| vec![code(number), message(means)]);
    blocks.add("Exit codes", &table(&["code", "meaning"], &rows.collect::<Vec<_>>()));
    blocks.check("command-line.md");
    // The subcommands are those of the help.
    let (_, listed) = text.split_once("\nCommands:\n").expect("the help lists commands");
    let (listed, _) = listed.split_once("\n\n").expect("options follow");
    let listed: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(listed, [&COMMANDS[..], &["help"]].concat());
}

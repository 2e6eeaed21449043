//! Pages of the reference: the blocks in them that tests make, between `<!-- generated: NAME -->` and
//! `<!-- end of generated -->`, and how Markdown is written in them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// If this variable is set, blocks that differ are written again.
const WRITE: &str = "MASKWRIGHT_WRITE_REFERENCE";
const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of generated -->";

/// A file of the project.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The blocks of a page: each name, and what shall be there.
#[derive(Default)]
pub(crate) struct Blocks(Vec<(String, String)>);

impl Blocks {
    pub(crate) fn add(&mut self, name: &str, content: &str) {
        self.0.push((name.to_owned(), content.trim_end().to_owned()));
    }

    /// Compares the blocks with those of `docs/reference/NAME`, or writes them.
    ///
    /// # Panics
    /// If they differ, or the page has other blocks.
    #[track_caller]
    pub(crate) fn check(&self, name: &str) {
        let path = path(&format!("docs/reference/{name}"));
        let page =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let made = self.put_into(&page);
        if page == made {
            return;
        }
        assert!(
            std::env::var_os(WRITE).is_some(),
            "docs/reference/{name} is out of date: run with {WRITE}=1 to write it again\n{}",
            first_difference(&page, &made)
        );
        std::fs::write(&path, made).expect("the page can be written");
    }

    #[track_caller]
    fn put_into(&self, page: &str) -> String {
        let mut made = String::new();
        let mut rest = page;
        let mut found = Vec::new();
        while let Some((before, block)) = rest.split_once(BEGIN) {
            let (name, block) = block.split_once(" -->\n").expect("a line begins each block");
            let (_, after) = block.split_once(END).unwrap_or_else(|| panic!("the block {name} does not end"));
            let (_, content) = self
                .0
                .iter()
                .find(|(made, _)| made == name)
                .unwrap_or_else(|| panic!("nothing makes the block {name}"));
            write!(made, "{before}{BEGIN}{name} -->\n{content}\n{END}").expect("memory can be written");
            found.push(name);
            rest = after;
        }
        let missing: Vec<&String> =
            self.0.iter().map(|(name, _)| name).filter(|name| !found.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "the page has no blocks named {missing:?}");
        made + rest
    }
}

/// The first lines that are not the same.
fn first_difference(page: &str, made: &str) -> String {
    let (mut page, mut made) = (page.lines(), made.lines());
    loop {
        match (page.next(), made.next()) {
            (None, None) => return "only the end of the file differs".to_owned(),
            (old, new) if old == new => {}
            (old, new) => {
                return format!(
                    "the page has  {}\nit should be  {}",
                    old.unwrap_or("(its end)"),
                    new.unwrap_or("(its end)")
                );
            }
        }
    }
}

/// A table. Cells are Markdown without bare `|`. Columns that are empty in every row are left out.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let is_used = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..head.len()).filter(is_used).collect();
    let mut made = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        made.push('|');
        cells.for_each(|cell| made.extend([" ", cell, " |"]));
        made.push('\n');
    };
    line(&mut columns.iter().map(|&column| head[column]));
    line(&mut columns.iter().map(|_| "---"));
    for row in rows {
        line(&mut columns.iter().map(|&column| row[column].as_str()));
    }
    made
}

/// `text` in the font of programs, on one line of a table.
///
/// A bar in backticks ends the cell in some readers of Markdown, and is shown with a backslash in others. So
/// text with one is an element of HTML.
pub(crate) fn code(text: &str) -> String {
    let shown = visible(text);
    if !shown.contains('|') {
        return match (shown.contains("``"), shown.contains('`')) {
            (true, _) => format!("``` {shown} ```"),
            (false, true) => format!("`` {shown} ``"),
            (false, false) => format!("`{shown}`"),
        };
    }
    let escaped = shown.chars().map(|c| match c {
        '|' | '<' | '>' | '&' | '*' | '_' | '[' | ']' | '\\' | '~' | '`' | '$' | '@' => entity(c),
        c => c.to_string(),
    });
    format!("<code>{}</code>", escaped.collect::<String>())
}

/// The text with signs for what is not seen: line ends, tabs, blanks at the ends, control characters.
fn visible(text: &str) -> String {
    let n_first = text.len() - text.trim_start_matches(' ').len();
    let n_last = text.len() - text.trim_end_matches(' ').len();
    let last = text.chars().count() - n_last;
    let shown = text.chars().enumerate().map(|(at, c)| match c {
        '\n' => "⏎".to_owned(),
        '\r' => "␍".to_owned(),
        '\t' => "⇥".to_owned(),
        ' ' if at < n_first || at >= last => "␣".to_owned(),
        c if c.is_control() || matches!(c, '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}') => {
            format!("U+{:04X}", u32::from(c))
        }
        c => c.to_string(),
    });
    shown.collect()
}

/// Lines of a program, one below the other in a cell.
pub(crate) fn lines(text: &str) -> String {
    let line = |line: &str| {
        let own = line.trim_start_matches(' ');
        let indentation = "&emsp;".repeat((line.len() - own.len()).div_ceil(2));
        if own.is_empty() { String::new() } else { indentation + &code(own) }
    };
    text.trim_end_matches('\n').split('\n').map(line).collect::<Vec<_>>().join("<br>")
}

/// Markdown that may have bars in its code, for a cell.
///
/// # Panics
/// If there is a bar elsewhere.
pub(crate) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => {
            assert!(!part.contains('|'), "a bar outside of code: {text}");
            part.to_owned()
        }
        _ => code(part),
    });
    parts.collect()
}

/// A message, in a cell: what stands in backticks is code, everything else is text.
pub(crate) fn message(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => escaped(part),
        _ => code(part),
    });
    parts.collect()
}

/// Text with the signs escaped that mean something in Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let chars: Vec<char> = text.chars().collect();
    let escaped = chars.iter().enumerate().map(|(at, &c)| match c {
        // Within a word it means nothing.
        '_' if is_word(at.checked_sub(1).map(|at| chars[at])) && is_word(chars.get(at + 1).copied()) => {
            c.to_string()
        }
        '*' | '_' | '[' | ']' | '\\' | '`' => format!("\\{c}"),
        '|' | '<' | '>' | '&' | '~' | '$' | '@' => entity(c),
        '\n' => "<br>".to_owned(),
        c => c.to_string(),
    });
    escaped.collect()
}

fn entity(c: char) -> String {
    format!("&#{};", u32::from(c))
}

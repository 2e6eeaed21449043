//! Rust's syntax: from `regex-syntax`'s high-level representation to [`Pattern`].

use std::convert::Infallible;
use std::ops::Range;

use maskwright_automata::{Fuel, Regex};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::ascii::to_ascii;
use super::pattern::{Beside, Classes, Pattern, SetId, Sets};
use crate::MAX_DEPTH;
use crate::error::Fault;

/// The most classes like `\p{L}` and `\w` in a pattern: folding the case of one takes `regex-syntax` 0.3 ms,
/// out of reach of `Fuel`.
const MAX_NAMED: usize = 2_000;

/// Parses `pattern` as the crate `regex` does by default. With `is_ascii`, `\d`, `\w`, `\s` and `\b` are
/// ASCII-only unless the flag `u` is set.
pub(crate) fn parse(pattern: &str, is_ascii: bool, sets: &mut Sets, fuel: &Fuel) -> Result<Pattern, Fault> {
    let whole = 0..pattern.len();
    let mut ast = ParserBuilder::new()
        .nest_limit(MAX_DEPTH as u32)
        .build()
        .parse(pattern)
        .map_err(|error| fault(&error.into(), whole.clone()))?;
    let n_named = ast::visit(&ast, NamedClasses(0)).unwrap_or_else(|never: Infallible| match never {});
    if n_named > MAX_NAMED {
        let message =
            format!("the pattern names {n_named} Unicode classes, more than the limit of {MAX_NAMED}");
        return Err(Fault::limit(whole, message));
    }
    if is_ascii {
        to_ascii(&mut ast, pattern).map_err(|error| fault(&error, whole.clone()))?;
    }
    let hir =
        Translator::new().translate(pattern, &ast).map_err(|error| fault(&error.into(), whole.clone()))?;
    Translation { classes: Classes::default(), sets, fuel, whole }.translate(&hir)
}

/// Counts the classes that stand for tables.
struct NamedClasses(usize);

impl ast::Visitor for NamedClasses {
    type Output = usize;
    type Err = Infallible;

    fn finish(self) -> Result<usize, Infallible> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        self.0 += usize::from(matches!(ast, Ast::ClassUnicode(_) | Ast::ClassPerl(_)));
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        self.0 += usize::from(matches!(item, ClassSetItem::Unicode(_) | ClassSetItem::Perl(_)));
        Ok(())
    }
}

/// The error with its place.
fn fault(error: &regex_syntax::Error, whole: Range<usize>) -> Fault {
    use regex_syntax::ast::ErrorKind::{CaptureLimitExceeded, NestLimitExceeded, UnsupportedLookAround};
    match error {
        regex_syntax::Error::Parse(error) => {
            let span = error.span().start.offset..error.span().end.offset;
            match error.kind() {
                NestLimitExceeded(_) | CaptureLimitExceeded => Fault::limit(span, error.kind().to_string()),
                UnsupportedLookAround => Fault::unsupported(span, error.kind().to_string()),
                kind => Fault::new(span, kind.to_string()),
            }
        }
        regex_syntax::Error::Translate(error) => {
            Fault::new(error.span().start.offset..error.span().end.offset, error.kind().to_string())
        }
        other => Fault::new(whole, other.to_string()),
    }
}

struct Translation<'a> {
    classes: Classes,
    sets: &'a mut Sets,
    fuel: &'a Fuel,
    whole: Range<usize>,
}

impl Translation<'_> {
    /// Recurses on the nesting of the pattern, which the parser limits.
    fn translate(&mut self, hir: &Hir) -> Result<Pattern, Fault> {
        self.fuel.spend(1).map_err(|error| Fault::fuel(self.whole.clone(), error))?;
        Ok(match hir.kind() {
            HirKind::Empty => Pattern::epsilon(),
            // Look-ahead does not occur in this dialect, so a single character needs no class of its own.
            HirKind::Literal(literal) => Pattern::Plain(Regex::literal(&literal.0)),
            HirKind::Class(class) => self.class(class)?,
            HirKind::Look(look) => self.look(*look)?,
            HirKind::Repetition(repetition) => {
                let inner = self.translate(&repetition.sub)?;
                inner.repeat(repetition.min, repetition.max, self.whole.clone())
            }
            HirKind::Capture(capture) => self.translate(&capture.sub)?,
            HirKind::Concat(parts) => {
                Pattern::concat(parts.iter().map(|part| self.translate(part)).collect::<Result<Vec<_>, _>>()?)
            }
            HirKind::Alternation(parts) => Pattern::alternation(
                parts.iter().map(|part| self.translate(part)).collect::<Result<Vec<_>, _>>()?,
            ),
        })
    }

    fn class(&mut self, class: &Class) -> Result<Pattern, Fault> {
        let class = match class {
            Class::Unicode(class) => Some(class.clone()),
            Class::Bytes(class) => class.to_unicode_class(),
        };
        let Some(class) = class else {
            let message = "a class of bytes that are no characters is not supported, only UTF-8 text is";
            return Err(Fault::new(self.whole.clone(), message));
        };
        self.fuel
            .spend(class.ranges().len() as u64)
            .map_err(|error| Fault::fuel(self.whole.clone(), error))?;
        self.classes
            .pattern(class)
            .ok_or_else(|| Fault::limit(self.whole.clone(), "the pattern's classes have too many ranges"))
    }

    fn look(&mut self, look: Look) -> Result<Pattern, Fault> {
        let beside = match look {
            Look::Start => Beside::Start,
            Look::End => Beside::End,
            Look::StartLF => Beside::StartOrAfter(self.line_feed()),
            Look::EndLF => Beside::EndOrBefore(self.line_feed()),
            Look::StartCRLF | Look::EndCRLF => {
                let message = "line anchors in CRLF mode, `(?R)`, are not supported";
                return Err(Fault::new(self.whole.clone(), message));
            }
            Look::WordAscii => Beside::Boundary(self.word(r"(?-u)\w")?),
            Look::WordAsciiNegate => Beside::NotBoundary(self.word(r"(?-u)\w")?),
            Look::WordUnicode => Beside::Boundary(self.word(r"\w")?),
            Look::WordUnicodeNegate => Beside::NotBoundary(self.word(r"\w")?),
            Look::WordStartAscii => Beside::Opening(self.word(r"(?-u)\w")?),
            Look::WordEndAscii => Beside::Closing(self.word(r"(?-u)\w")?),
            Look::WordStartUnicode => Beside::Opening(self.word(r"\w")?),
            Look::WordEndUnicode => Beside::Closing(self.word(r"\w")?),
            Look::WordStartHalfAscii => Beside::NotAfter(self.word(r"(?-u)\w")?),
            Look::WordEndHalfAscii => Beside::NotBefore(self.word(r"(?-u)\w")?),
            Look::WordStartHalfUnicode => Beside::NotAfter(self.word(r"\w")?),
            Look::WordEndHalfUnicode => Beside::NotBefore(self.word(r"\w")?),
        };
        Ok(Pattern::Beside(beside))
    }

    fn line_feed(&mut self) -> SetId {
        self.sets.id(ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]))
    }

    /// The set of word characters, as `regex-syntax` defines `class`.
    fn word(&mut self, class: &str) -> Result<SetId, Fault> {
        match named_class(class) {
            Some(class) => Ok(self.sets.id(class)),
            None => {
                Err(Fault::new(self.whole.clone(), "word characters are not known to the Unicode tables"))
            }
        }
    }
}

/// The characters of one class in `regex-syntax`'s notation, such as `\w` or `\p{Greek}`.
pub(crate) fn named_class(class: &str) -> Option<ClassUnicode> {
    class_of(regex_syntax::parse(class).ok()?)
}

/// The characters that `hir` matches, if it is a single character or class.
pub(super) fn class_of(hir: Hir) -> Option<ClassUnicode> {
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class(),
        HirKind::Literal(literal) => {
            let char = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(char, char)]))
        }
        _ => None,
    }
}

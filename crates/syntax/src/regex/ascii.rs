//! ASCII-only `\d`, `\w`, `\s` and `\b` in Rust's syntax, unless the flag `u` is set.
//!
//! The pass rewrites the syntax tree of `regex-syntax` before it is translated: a class becomes the explicit
//! set of its characters, and a word boundary is put into a group without Unicode. Everything else keeps its
//! meaning, so `.`, `[^a]`, `\p{L}` and case folding are Unicode's. The flag `i` folds only the other members
//! of a bracketed class: `(?i)\w` stays within ASCII, although U+017F, the long s, is a case of `s`.
//!
//! Linear in the tree and in the classes that it names. Recursion is on nesting, which the parser limits.

#![allow(clippy::result_large_err, reason = "the error is the parser's own, and made once at most")]

use regex_syntax::Error;
use regex_syntax::ast::{
    Assertion, AssertionKind, Ast, ClassBracketed, ClassPerl, ClassPerlKind, ClassSet, ClassSetBinaryOpKind,
    ClassSetItem, ClassSetRange, ClassSetUnion, Flag, Flags, FlagsItem, FlagsItemKind, Group, GroupKind,
    Literal, LiteralKind, Span,
};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::rust::class_of;

/// Flags that matter here.
#[derive(Clone, Copy, Default)]
struct State {
    /// `i`.
    ignore_case: bool,
    /// Whether `u` or `-u` is in force. If so, classes keep the meaning that `regex-syntax` gives them.
    says_unicode: bool,
}

impl State {
    fn set(&mut self, flags: &Flags) {
        self.ignore_case = flags.flag_state(Flag::CaseInsensitive).unwrap_or(self.ignore_case);
        self.says_unicode |= flags.flag_state(Flag::Unicode).is_some();
    }
}

/// Rewrites the tree of `pattern`.
///
/// # Errors
/// A class is malformed.
pub(super) fn to_ascii(ast: &mut Ast, pattern: &str) -> Result<(), Error> {
    Rewriting { pattern }.ast(ast, &mut State::default())
}

struct Rewriting<'p> {
    pattern: &'p str,
}

impl Rewriting<'_> {
    fn ast(&self, ast: &mut Ast, state: &mut State) -> Result<(), Error> {
        let written = match ast {
            Ast::Flags(flags) => {
                state.set(&flags.flags);
                return Ok(());
            }
            Ast::Repetition(repetition) => return self.ast(&mut repetition.ast, state),
            Ast::Group(group) => {
                let mut inside = *state;
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    inside.set(flags);
                }
                return self.ast(&mut group.ast, &mut inside);
            }
            Ast::Alternation(parts) => {
                return parts.asts.iter_mut().try_for_each(|part| self.ast(part, state));
            }
            Ast::Concat(parts) => return parts.asts.iter_mut().try_for_each(|part| self.ast(part, state)),
            _ if state.says_unicode => return Ok(()),
            Ast::ClassPerl(class) => set(class.span, &perl(class)),
            Ast::ClassBracketed(class) if names_perl(&class.kind) => {
                set(class.span, &self.bracketed(class, state.ignore_case)?)
            }
            Ast::Assertion(assertion) if is_word_boundary(&assertion.kind) => {
                without(Flag::Unicode, assertion.span, Ast::assertion(Assertion::clone(assertion)))
            }
            _ => return Ok(()),
        };
        *ast = written;
        Ok(())
    }

    fn bracketed(&self, class: &ClassBracketed, ignore_case: bool) -> Result<ClassUnicode, Error> {
        let mut found = self.set(&class.kind, ignore_case)?;
        if class.negated {
            found.negate();
        }
        Ok(found)
    }

    fn set(&self, set: &ClassSet, ignore_case: bool) -> Result<ClassUnicode, Error> {
        let operation = match set {
            ClassSet::Item(item) => return self.item(item, ignore_case),
            ClassSet::BinaryOp(operation) => operation,
        };
        let mut left = self.set(&operation.lhs, ignore_case)?;
        let right = self.set(&operation.rhs, ignore_case)?;
        match operation.kind {
            ClassSetBinaryOpKind::Intersection => left.intersect(&right),
            ClassSetBinaryOpKind::Difference => left.difference(&right),
            ClassSetBinaryOpKind::SymmetricDifference => left.symmetric_difference(&right),
        }
        Ok(left)
    }

    fn item(&self, item: &ClassSetItem, ignore_case: bool) -> Result<ClassUnicode, Error> {
        match item {
            ClassSetItem::Perl(class) => Ok(perl(class)),
            ClassSetItem::Bracketed(class) => self.bracketed(class, ignore_case),
            ClassSetItem::Union(union) => {
                let mut found = ClassUnicode::empty();
                for item in &union.items {
                    found.union(&self.item(item, ignore_case)?);
                }
                Ok(found)
            }
            ClassSetItem::Empty(_) => Ok(ClassUnicode::empty()),
            ClassSetItem::Literal(_)
            | ClassSetItem::Range(_)
            | ClassSetItem::Ascii(_)
            | ClassSetItem::Unicode(_) => {
                let kind = ClassSet::Item(item.clone());
                let alone = Ast::class_bracketed(ClassBracketed { span: *item.span(), negated: false, kind });
                let mut translator = TranslatorBuilder::new().case_insensitive(ignore_case).build();
                Ok(class_of(translator.translate(self.pattern, &alone)?).unwrap_or_else(ClassUnicode::empty))
            }
        }
    }
}

fn is_word_boundary(kind: &AssertionKind) -> bool {
    use AssertionKind as Kind;
    match kind {
        Kind::StartLine | Kind::EndLine | Kind::StartText | Kind::EndText => false,
        Kind::WordBoundary
        | Kind::NotWordBoundary
        | Kind::WordBoundaryStart
        | Kind::WordBoundaryEnd
        | Kind::WordBoundaryStartAngle
        | Kind::WordBoundaryEndAngle
        | Kind::WordBoundaryStartHalf
        | Kind::WordBoundaryEndHalf => true,
    }
}

/// Whether the set contains `\d`, `\w` or `\s`.
fn names_perl(set: &ClassSet) -> bool {
    fn in_item(item: &ClassSetItem) -> bool {
        match item {
            ClassSetItem::Perl(_) => true,
            ClassSetItem::Bracketed(class) => names_perl(&class.kind),
            ClassSetItem::Union(union) => union.items.iter().any(in_item),
            _ => false,
        }
    }
    match set {
        ClassSet::Item(item) => in_item(item),
        ClassSet::BinaryOp(operation) => names_perl(&operation.lhs) || names_perl(&operation.rhs),
    }
}

fn perl(class: &ClassPerl) -> ClassUnicode {
    let ranges: &[(char, char)] = match class.kind {
        ClassPerlKind::Digit => &[('0', '9')],
        ClassPerlKind::Space => &[('\t', '\r'), (' ', ' ')],
        ClassPerlKind::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
    };
    let mut found = ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)));
    if class.negated {
        found.negate();
    }
    found
}

/// One character of `class`, regardless of the flag `i`.
fn set(span: Span, class: &ClassUnicode) -> Ast {
    let literal = |c| Literal { span, kind: LiteralKind::Verbatim, c };
    let range = |range: &ClassUnicodeRange| {
        ClassSetItem::Range(ClassSetRange { span, start: literal(range.start()), end: literal(range.end()) })
    };
    let union = ClassSetUnion { span, items: class.iter().map(range).collect() };
    let kind = ClassSet::Item(union.into_item());
    without(Flag::CaseInsensitive, span, Ast::class_bracketed(ClassBracketed { span, negated: false, kind }))
}

/// `ast` in a group without `flag`.
fn without(flag: Flag, span: Span, ast: Ast) -> Ast {
    let items =
        [FlagsItemKind::Negation, FlagsItemKind::Flag(flag)].map(|kind| FlagsItem { span, kind }).into();
    let kind = GroupKind::NonCapturing(Flags { span, items });
    Ast::group(Group { span, kind, ast: Box::new(ast) })
}

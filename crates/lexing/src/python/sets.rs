//! Sets in brackets.

use regex_syntax::hir::ClassUnicode;

use super::atoms::Escaped;
use super::{Parser, of_class};
use crate::characters::{self, of_ranges};
use crate::{Pattern, PatternError};

/// A member of a set: one code point, or the class of an escape.
enum Member {
    Code(u32),
    Class(ClassUnicode),
}

impl Parser<'_> {
    /// A set; its opening bracket, at `start`, is read.
    pub(super) fn set(&mut self, start: usize) -> Result<Pattern, PatternError> {
        let unterminated = || PatternError::at(start, "this set has no closing bracket");
        let negated = self.eat('^');
        let (mut codes, mut classes) = (ClassUnicode::empty(), ClassUnicode::empty());
        let mut is_first = true;
        loop {
            self.fuel.spend(1)?;
            let at = self.at;
            let c = self.next().ok_or_else(unterminated)?;
            if c == ']' && !is_first {
                break;
            }
            is_first = false;
            let low = self.member(c, at)?;
            if !self.eat('-') {
                add(low, &mut codes, &mut classes);
                continue;
            }
            let high_at = self.at;
            let c = self.next().ok_or_else(unterminated)?;
            if c == ']' {
                add(low, &mut codes, &mut classes);
                codes.union(&of_ranges([('-', '-')]));
                break;
            }
            match (low, self.member(c, high_at)?) {
                (Member::Code(low), Member::Code(high)) if low <= high => {
                    codes.union(&of_codes(low, high));
                }
                _ => {
                    let given = &self.source[at..self.at];
                    return Err(PatternError::at(
                        at,
                        format!("{given} is not a range: the ends must be characters, the lower one first"),
                    ));
                }
            }
        }
        let mut set = codes;
        if self.flags.ignore_case {
            self.fuel.spend(set.ranges().len() as u64)?;
            set = characters::ignoring_case(&set, self.flags.ascii);
        }
        set.union(&classes);
        if negated {
            set.negate();
        }
        self.fuel.spend(set.ranges().len() as u64)?;
        Ok(of_class(&set))
    }

    fn member(&mut self, c: char, at: usize) -> Result<Member, PatternError> {
        if c != '\\' {
            return Ok(Member::Code(u32::from(c)));
        }
        let letter = self.next().ok_or_else(|| PatternError::at(at, "the pattern ends after a backslash"))?;
        match letter {
            'b' => return Ok(Member::Code(8)),
            '0'..='7' => {
                self.at -= 1;
                return Ok(Member::Code(self.octal(at)?));
            }
            _ => {}
        }
        match self.escaped(letter, at)? {
            Escaped::Code(code) => Ok(Member::Code(code)),
            Escaped::Class(class) => Ok(Member::Class(class)),
        }
    }
}

fn add(member: Member, codes: &mut ClassUnicode, classes: &mut ClassUnicode) {
    match member {
        Member::Code(code) => codes.union(&of_codes(code, code)),
        Member::Class(class) => classes.union(&class),
    }
}

/// The characters from `low` to `high`; surrogates, which no text has, are none.
fn of_codes(low: u32, high: u32) -> ClassUnicode {
    let below = (low, high.min(0xD7FF));
    let above = (low.max(0xE000), high);
    of_ranges(
        [below, above]
            .into_iter()
            .filter(|(low, high)| low <= high)
            .filter_map(|(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?))),
    )
}

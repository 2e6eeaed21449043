//! Compiles a schema without the keywords that cannot be enforced (`strict: false`).
//!
//! A schema is compiled exactly first. Only where that fails, for a keyword that is not supported or a limit
//! on size, is it compiled *loosely*: what fails is left out, and the report says so. The texts of a loose
//! grammar include all texts of the schema.
//!
//! # Why they do
//! A keyword that is left out makes the schema around it larger, but what stands below a `not` smaller. So a
//! loose graph reads schemas from two [sides](Side): from above, where a keyword that is left out allows
//! every value, and from below, where it allows none of the types that it constrains. What is negated (`not`,
//! the other branches of `oneOf`, the condition of `else`, items that are too many for `maxContains`) is read
//! from the other side. Unions and intersections are monotone, and negation is the only operation that is
//! not, so by induction over the instance each schema lies between its two sides; the grammar is the root
//! from above.
//!
//! # How the parts to leave out are found
//! A pass over the document leaves out what it cannot read where it stands (a pattern, a divisor). Where
//! something larger fails, the product of two unions, say, the innermost schema that was being read is
//! *blamed* (`graph/blame.rs`), by keyword if one is known, and a new pass begins without it. Each pass
//! leaves out more than the one before, and all of them share the fuel of the caller: what is too much work
//! stays an error.
//!
//! Rejected: leaving out the outermost assertion below a negation. It needs no sides, but it drops the whole
//! of `not` where most of it could be kept, and what a schema shared by `$ref` means would depend on who
//! refers to it anyway.

use rustc_hash::FxHashMap;

use crate::error::Blame;

/// Which bound of a schema is computed when a part of it is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// At least its values.
    Above,
    /// At most its values.
    Below,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Above => Side::Below,
            Side::Below => Side::Above,
        }
    }
}

/// What a loose pass knows.
pub(crate) struct Loose<'a> {
    /// Where schemas are seen from.
    pub(crate) side: Side,
    pub(crate) losses: Losses<'a>,
}

/// What is left out: keywords by the address of their schema, and whole schemas.
#[derive(Default)]
pub(crate) struct Losses<'a> {
    pub(crate) keywords: FxHashMap<(usize, &'a str), Loss>,
    pub(crate) schemas: FxHashMap<usize, String>,
}

#[derive(Clone)]
pub(crate) struct Loss {
    pub(crate) reason: String,
    /// Of `oneOf`: whether its branches are still there, and may hold together.
    pub(crate) may_overlap: bool,
}

impl<'a> Losses<'a> {
    /// Whether nothing of a keyword is left.
    pub(crate) fn has_all_of(&self, schema: usize, keyword: &str) -> bool {
        self.keywords.get(&(schema, keyword)).is_some_and(|loss| !loss.may_overlap)
    }

    /// Leaves out what failed.
    pub(crate) fn add(&mut self, blame: Blame) {
        let Blame { schema, keyword, reason } = blame;
        match keyword {
            Some(keyword) => {
                let may_overlap = keyword == "oneOf" && !self.keywords.contains_key(&(schema, keyword));
                self.keywords.insert((schema, keyword), Loss { reason, may_overlap });
            }
            None => {
                self.schemas.insert(schema, reason);
            }
        }
    }
}

impl<'a> Loose<'a> {
    /// At the beginning of a pass.
    pub(crate) fn new(losses: Losses<'a>) -> Loose<'a> {
        Loose { side: Side::Above, losses }
    }
}

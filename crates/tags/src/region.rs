//! What the parts of a tag's texts are to those who are told of them.
//!
//! A labelled grammar has a number around each region. Numbers below [`FIRST`] are those of the parts of
//! elements ([`ElementPart`](maskwright_json_schema::ElementPart)).

use maskwright_json_schema::Style;

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Region {
    /// Free text; in a tag, what this is called.
    Text(Option<String>),
    /// Where the model reasons.
    Reasoning,
    /// A call of the tool of this name, or a tag with one schema.
    Call {
        /// What it is called.
        name: String,
        /// The JSON pointer of the schema of its arguments in the source, if it has one.
        schema: Option<String>,
        /// How many bytes of its beginning stand before its label: a trigger that others have too.
        n_before: usize,
    },
    /// Another tag of a structural tag.
    Tag {
        /// What it is called.
        name: String,
        /// As of a call.
        n_before: usize,
    },
    /// The id of a call.
    Id,
    /// The arguments of a call, in a style.
    Arguments(Style),
    /// A mark that free text could also contain. If both readings fit, it is the mark.
    Mark,
    /// The text that a custom tool is given: as it is, or as a string of JSON.
    Input {
        /// Whether it is a string of JSON.
        is_json: bool,
    },
}

/// The number of the first region, and that of marks.
const FIRST: u32 = 16;
const MARK: u32 = FIRST - 1;

/// The regions of a grammar, by number.
#[derive(Clone, Default, Debug)]
pub struct Regions(Vec<Region>);

impl Regions {
    /// The region of a label, if it is that of one.
    pub fn get(&self, number: u32) -> Option<&Region> {
        match number {
            MARK => Some(&Region::Mark),
            number => self.0.get(number.checked_sub(FIRST)? as usize),
        }
    }

    /// The number of a region.
    pub fn number(&mut self, region: &Region) -> u32 {
        if *region == Region::Mark {
            return MARK;
        }
        let known = self.0.iter().position(|known| known == region);
        let at = known.unwrap_or_else(|| {
            self.0.push(region.clone());
            self.0.len() - 1
        });
        FIRST + at as u32
    }
}

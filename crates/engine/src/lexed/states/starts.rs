//! Where the readings of a configuration stand: the starts of searches with a limit on tokens.
//!
//! [`States::starts`] lists what such a search needs of each thread, without ids of this floor. An example: in Python, in a
//! statement inside `if x:` whose block is 4 wide, a start has the widths 0 and 4 and no open bracket.

use maskwright_scan::{Blanks, Point};

use super::States;
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// One reading of a text: the lexer's point, the parser's configuration, the blocks around.
pub(crate) struct Start {
    /// Before any bytes; `line` is the width there.
    pub(crate) point: Point,
    pub(crate) line: Option<u32>,
    pub(crate) parser: ConfigId,
    pub(crate) widths: Box<[u32]>,
    pub(crate) depth: u32,
    /// Whether the parser can end here, all blocks closed.
    pub(crate) can_end: bool,
}

impl States {
    /// The readings of a configuration.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn starts(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Vec<Start>, EngineError> {
        let places = &mut self.completions.outlook.places;
        let threads = self.configs.threads(config);
        let mut starts = Vec::with_capacity(threads.len());
        for thread in threads {
            let can_end = places.can_end(parser, (thread.parser, thread.layout))?.value;
            let layout = places.layouts.get(thread.layout);
            starts.push(Start {
                point: Point {
                    hypothesis: thread.hypothesis,
                    line: if layout.line.is_some() { Blanks::More(0) } else { Blanks::None },
                },
                line: layout.line,
                parser: thread.parser,
                widths: places.layouts.widths(layout.blocks),
                depth: layout.depth,
                can_end,
            });
        }
        Ok(starts)
    }
}

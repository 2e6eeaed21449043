//! Where the readings of a configuration stand: what limits on tokens begin their searches at.

use maskwright_scan::{Blanks, Point};

use super::Lexed;
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// One reading of a text: the lexer's point, the parser's configuration, the blocks around.
pub(crate) struct Reading {
    /// Before any bytes; `line` is the width there.
    pub(crate) point: Point,
    pub(crate) line: Option<u32>,
    pub(crate) parser: ConfigId,
    pub(crate) widths: Box<[u32]>,
    pub(crate) depth: u32,
    /// Whether the parser can end here, all blocks closed.
    pub(crate) can_end: bool,
}

impl Lexed {
    /// The readings of a configuration.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn readings(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Vec<Reading>, EngineError> {
        let threads = self.configs.threads(config).to_vec();
        let mut readings = Vec::with_capacity(threads.len());
        for thread in threads {
            let can_end = self.can_end(parser, thread.parser, thread.layout)?;
            let layout = self.layouts.get(thread.layout);
            readings.push(Reading {
                point: Point {
                    hypothesis: thread.hypothesis,
                    line: if layout.line.is_some() { Blanks::More(0) } else { Blanks::None },
                },
                line: layout.line,
                parser: thread.parser,
                widths: self.layouts.widths(layout.blocks),
                depth: layout.depth,
                can_end,
            });
        }
        Ok(readings)
    }
}

//! Stacks cut off at a horizon, so that equal answers are found once.
//!
//! What the bytes of one token can do to the parser depends on few frames of its stack. [`Horizon::cut`]
//! replaces the far frames of a node by one hole ([`Frame::HOLE`]). The result stands for all nodes that are
//! the same up to there: what is found with it holds for each of them, unless a reading returned into the
//! hole, which the parser tells ([`Parser::shift`]). So answers are shared by all places of a text, however
//! deep they are nested.
//!
//! An example: in JSON, after `[[[1` and after `[[[[[1` the nearest frame is the same rest of an array. It
//! must read something before it returns, so it is all that is seen, and both stacks are cut to it.
//!
//! (Paper 2 tells apart what is always accepted, always rejected, or depends on the stack; here the horizon
//! says how much of it is seen.)

use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::parser::{ConfigId, Frame, NodeId, Parser};

/// How far down stacks are seen, in costs of frames.
const DEPTH: u32 = 8;
/// The cost of a frame that must read something before it returns itself.
const READING_FRAME: u32 = 8;
/// The cost of one that may return at once.
const RETURNING_FRAME: u32 = 1;

/// Nodes with their far frames cut off.
#[derive(Default)]
pub(in super::super) struct Horizon {
    /// By node and the remaining depth.
    cut: FxHashMap<(NodeId, u32), NodeId>,
    configs: FxHashMap<ConfigId, ConfigId>,
}

impl Horizon {
    /// `node` with the frames beyond the horizon replaced by [`Frame::HOLE`].
    pub(super) fn cut(&mut self, parser: &mut Parser, node: NodeId) -> NodeId {
        self.cut_below(parser, node, DEPTH)
    }

    /// The configuration with all stacks cut off.
    pub(in super::super) fn cut_all(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<ConfigId, EngineError> {
        if let Some(&known) = self.configs.get(&config) {
            return Ok(known);
        }
        let mut threads = parser.configs.threads(config).to_vec();
        for thread in &mut threads {
            thread.node = self.cut(parser, thread.node);
        }
        let is_accepting = parser.configs.is_accepting(config);
        let made = parser.intern(&mut threads, is_accepting)?.unwrap_or(config);
        self.configs.insert(config, made);
        Ok(made)
    }

    /// [`cut`](Horizon::cut) with `depth` left; recursion is no deeper than that.
    fn cut_below(&mut self, parser: &mut Parser, node: NodeId, depth: u32) -> NodeId {
        if let Some(&known) = self.cut.get(&(node, depth)) {
            return known;
        }
        let mut frames = Vec::new();
        for index in 0..parser.stacks.frames(node).len() {
            let frame = parser.stacks.frames(node)[index];
            if frame == Frame::BOTTOM || frame == Frame::HOLE {
                frames.push(frame);
                continue;
            }
            let is_returning = parser.network.is_nullable(frame.ret);
            let cost = if is_returning { RETURNING_FRAME } else { READING_FRAME };
            frames.push(match depth.checked_sub(cost) {
                Some(left) => Frame { parent: self.cut_below(parser, frame.parent, left), ..frame },
                None => Frame::HOLE,
            });
        }
        frames.sort_unstable();
        frames.dedup();
        let made = parser.stacks.intern(&frames);
        self.cut.insert((node, depth), made);
        made
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.cut.capacity() * 13 + self.configs.capacity() * 9
    }
}

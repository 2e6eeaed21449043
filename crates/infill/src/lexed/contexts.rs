//! What is open around a place of a text: blocks and brackets, as far as the rule that is being read has opened them.
//!
//! Rules open and close blocks in pairs ([`LexedTables::check_pairs`]), so of what was open before a rule began, only
//! the innermost matters to it. A call of the chart is begun with one width, or inside brackets, and an item knows
//! what its own call has opened since. Most rules are part of one line outside of brackets: no width matters to them
//! at all. They are begun with [`Around::Line`], the same call for all widths, and end in the line where they began.
//! Of two [`WIDE`] lines either may be the wider one, and [`ANY_WIDTH`] fits every width.
//!
//! Rejected: one call for all widths, whose end says which widths around it may have. It is exact, and headers have
//! one item instead of one for each width. But ends then differ by the width inside, and as many canvases reached the
//! limit.

use maskwright_grammar::{ExprId, Layout, RuleId, Symbol, TerminalId};
use maskwright_scan::{ANY_WIDTH, Carry, Indent, WIDE};
use rustc_hash::{FxHashMap, FxHashSet};

use maskwright_automata::Fuel;

use crate::InfillError;
use crate::lexed::graph::{Graph, NodeIndex};
use crate::lexed::tables::LexedTables;

/// What is open around a place, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ContextId(u32);

/// What is innermost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Around {
    /// A block of this width.
    Block(u32),
    /// A line of a block, whatever its width.
    Line,
    /// Brackets, in which indentation does not matter.
    Brackets,
}

/// All contexts of a chart. The first is that of the text as a whole.
#[derive(Debug)]
pub(crate) struct Contexts {
    /// What is innermost, and the context around that, if it was opened by the same call.
    list: Vec<(Around, Option<ContextId>)>,
    ids: FxHashMap<(Around, Option<ContextId>), ContextId>,
}

impl Contexts {
    /// That before any text.
    pub(crate) const START: ContextId = ContextId(0);

    /// The context of a call that is begun within `around`, of a rule that is part of one line if it `is_in_line`.
    pub(crate) fn begin(&mut self, around: Around, is_in_line: bool) -> ContextId {
        match around {
            Around::Block(_) if is_in_line => self.intern((Around::Line, None)),
            _ => self.intern((around, None)),
        }
    }

    /// What is innermost.
    pub(crate) fn around(&self, context: ContextId) -> Around {
        self.list[context.0 as usize].0
    }

    /// The context that the call of an item with this one was begun with.
    pub(crate) fn outermost(&self, context: ContextId) -> ContextId {
        let mut outermost = context;
        while let (_, Some(outer)) = self.list[outermost.0 as usize] {
            outermost = outer;
        }
        outermost
    }

    /// The context after an edge from `node`; `None` if the edge is not for it.
    pub(crate) fn behind(
        &mut self,
        context: ContextId,
        node: NodeIndex,
        label: Option<TerminalId>,
        graph: &Graph,
        tables: &LexedTables,
    ) -> Option<ContextId> {
        let Some(layout) = tables.hypotheses.tables().layout.as_ref() else { return Some(context) };
        let indent = tables.hypotheses.indent(graph.nodes[node as usize].1);
        self.after(context, (indent, graph.widths[node as usize]), label, layout)
    }

    /// The context after what the parser gets, a terminal or none, where the text is at `indent` and so wide; `None` if it cannot get
    /// that there.
    fn after(
        &mut self,
        context: ContextId,
        (indent, width): (Indent, u32),
        label: Option<TerminalId>,
        layout: &Layout,
    ) -> Option<ContextId> {
        let (around, outer) = self.list[context.0 as usize];
        if indent.is_read_on() {
            return match label {
                Some(terminal) if layout.open.contains(&terminal) => {
                    Some(self.intern((Around::Brackets, Some(context))))
                }
                Some(terminal) if layout.close.contains(&terminal) => {
                    outer.filter(|_| around == Around::Brackets)
                }
                _ => Some(context),
            };
        }
        let block = match around {
            Around::Block(block) => block,
            // A call that is over at a line's end, or the text's, is over before what follows of that; and no other gets there.
            Around::Line => return None,
            Around::Brackets => return (indent == Indent::Within && label.is_none()).then_some(context),
        };
        match label {
            _ if indent == Indent::Within => None,
            None => is_like(width, block).then_some(context),
            Some(terminal) if terminal == layout.indent => {
                is_less(block, width).then(|| self.intern((Around::Block(width), Some(context))))
            }
            // That the width is a block's is asked when no more blocks end.
            Some(_) => outer.filter(|_| is_less(width, block)),
        }
    }

    fn intern(&mut self, context: (Around, Option<ContextId>)) -> ContextId {
        let next = ContextId(self.list.len() as u32);
        let id = *self.ids.entry(context).or_insert(next);
        if id == next {
            self.list.push(context);
        }
        id
    }
}

fn is_less(left: u32, right: u32) -> bool {
    left < right || left == ANY_WIDTH || right == ANY_WIDTH || [left, right] == [WIDE; 2]
}

fn is_like(left: u32, right: u32) -> bool {
    left == right || left == ANY_WIDTH || right == ANY_WIDTH
}

impl Default for Contexts {
    fn default() -> Contexts {
        let mut contexts = Contexts { list: Vec::new(), ids: FxHashMap::default() };
        contexts.intern((Around::Block(0), None));
        contexts
    }
}

/// What a rule has opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opened {
    Block,
    Brackets,
}

impl LexedTables {
    /// Whether each rule closes the blocks and brackets that it opens, and no others.
    ///
    /// # Errors
    /// If one does not, or a limit is reached.
    pub(crate) fn check_pairs(&mut self, layout: &Layout, fuel: &Fuel) -> Result<(), InfillError> {
        for rule in 0..self.network.n_rules() {
            let rule = RuleId::from_index(rule);
            let body = self.network.body(rule);
            let mut opened: FxHashMap<ExprId, Vec<Opened>> = FxHashMap::from_iter([(body, Vec::new())]);
            let mut stack = vec![body];
            while let Some(state) = stack.pop() {
                let before = opened[&state].clone();
                let moves = self.network.moves(state);
                // What is open is kept by state.
                let n_kept = (before.len() as u64 / 8 + 1) * (moves.len() as u64 + 1);
                fuel.spend(n_kept).map_err(|error| InfillError::work(0, error))?;
                if self.network.is_nullable(state) && !before.is_empty() {
                    return Err(InfillError::unpaired(self.network.name(rule)));
                }
                for index in moves {
                    let step = self.network.move_at(index);
                    let behind = match step.symbol {
                        Symbol::Terminal(terminal) => opened_behind(&before, terminal, layout),
                        Symbol::Rule(_) => Some(before.clone()),
                    };
                    let known = opened.get(&step.next);
                    let Some(behind) = behind.filter(|behind| known.is_none_or(|known| known == behind))
                    else {
                        return Err(InfillError::unpaired(self.network.name(rule)));
                    };
                    if known.is_none() {
                        opened.insert(step.next, behind);
                        stack.push(step.next);
                    }
                }
            }
        }
        Ok(())
    }

    /// By rule, whether it is part of one line outside of brackets: if it reads the end of a line, then last of all.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn rules_in_line(&mut self, layout: &Layout, fuel: &Fuel) -> Result<Vec<bool>, InfillError> {
        let n_rules = self.network.n_rules();
        let mut lines = vec![Lines::Within; n_rules];
        // By rule, the rules that call it, and whether they read on after the call.
        let mut callers = vec![Vec::new(); n_rules];
        for rule in (0..n_rules).map(RuleId::from_index) {
            let body = self.network.body(rule);
            let mut known = FxHashSet::from_iter([body]);
            let mut stack = vec![body];
            while let Some(state) = stack.pop() {
                let moves = self.network.moves(state);
                fuel.spend(1 + moves.len() as u64).map_err(|error| InfillError::work(0, error))?;
                for index in moves {
                    let step = self.network.move_at(index);
                    let reads_on = !self.network.moves(step.next).is_empty();
                    let read = match step.symbol {
                        Symbol::Rule(callee) => {
                            callers[callee.index()].push((rule, reads_on));
                            Lines::Within
                        }
                        Symbol::Terminal(terminal) if terminal == layout.newline => {
                            Lines::UpToEnd.followed(reads_on)
                        }
                        Symbol::Terminal(terminal) if [layout.indent, layout.dedent].contains(&terminal) => {
                            Lines::Several
                        }
                        Symbol::Terminal(_) => Lines::Within,
                    };
                    lines[rule.index()] = lines[rule.index()].max(read);
                    if known.insert(step.next) {
                        stack.push(step.next);
                    }
                }
            }
        }
        let mut changed: Vec<usize> = (0..n_rules).collect();
        while let Some(rule) = changed.pop() {
            for &(caller, reads_on) in &callers[rule] {
                let read = lines[rule].followed(reads_on);
                if lines[caller.index()] < read {
                    lines[caller.index()] = read;
                    changed.push(caller.index());
                }
            }
        }
        Ok(lines.into_iter().map(|lines| lines < Lines::Several).collect())
    }
}

/// How much of a text a rule reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lines {
    /// Part of a line.
    Within,
    /// The end of a line too, last of all.
    UpToEnd,
    /// More, or blocks.
    Several,
}

impl Lines {
    /// What this and something after it are, if that is read.
    fn followed(self, is_followed: bool) -> Lines {
        match self {
            Lines::UpToEnd if is_followed => Lines::Several,
            lines => lines,
        }
    }
}

fn opened_behind(before: &[Opened], terminal: TerminalId, layout: &Layout) -> Option<Vec<Opened>> {
    let mut behind = before.to_vec();
    if terminal == layout.indent {
        behind.push(Opened::Block);
    } else if layout.open.contains(&terminal) {
        behind.push(Opened::Brackets);
    } else if terminal == layout.dedent {
        behind.pop_if(|opened| *opened == Opened::Block)?;
    } else if layout.close.contains(&terminal) {
        behind.pop_if(|opened| *opened == Opened::Brackets)?;
    }
    Some(behind)
}

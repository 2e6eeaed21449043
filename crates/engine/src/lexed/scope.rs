//! The rules restricted to some of the terminals.
//!
//! A guard can forbid a terminal for good: after `/*` read as two operators, no `*/` may come, and no newline
//! if a comment of several lines is a newline too. Whether a thread under such a guard has a completion is
//! asked of the rules without the terminals that cannot come any more: its *scope*. From a hypothesis h only
//! terminals of over(h) are ever read, so a parser that cannot finish within over(h) is at a dead end; and if
//! boundaries are good within that scope, it is at none ([`viability`](super::viability)).

use maskwright_grammar::{Expr, ExprId, Network, RuleId, Seen, TerminalId};

use maskwright_scan::bits::{Bits, contains, insert, ones, unite};
use maskwright_scan::{Hypotheses, HypothesisId};

use super::answers::Answers;
use super::viability::Viability;
use crate::EngineError;
use crate::parser::{ConfigId, Frame, NodeId, Parser};

/// The rules restricted to a set of terminals, and what is known of hypotheses under that.
pub(super) struct Scope {
    pub(super) viability: Viability,
    rules: Restriction,
    is_everything: bool,
    /// Whether it has all that can come where it is asked; otherwise doubtful terminals are left out.
    pub(super) is_complete: bool,
    /// By parser configuration: the terminals that it can read and then finish within the scope.
    readable: Readable,
    /// By stack node: whether some stack of it can be finished within the scope.
    nodes: Answers,
    /// By stack node: whether all of its stacks can.
    finishing: Answers,
    /// The same by parser configuration.
    all_finishing: Answers,
}

impl Scope {
    pub(super) fn new(viability: Viability, rules: Restriction, is_everything: bool) -> Scope {
        Scope {
            viability,
            rules,
            is_everything,
            is_complete: is_everything,
            readable: Readable::default(),
            nodes: Answers::default(),
            finishing: Answers::default(),
            all_finishing: Answers::default(),
        }
    }

    /// The terminals that the parser can read in `config` and then finish within the scope.
    pub(super) fn readable(&mut self, parser: &mut Parser, config: ConfigId) -> &[u64] {
        if !self.readable.has(config) {
            let mut readable: Bits = vec![0; self.rules.terminals.len()].into();
            for index in 0..parser.configs.threads(config).len() {
                let thread = parser.configs.threads(config)[index];
                if contains(&readable, thread.terminal.index()) {
                    continue;
                }
                if self.is_everything
                    || (contains(&self.rules.terminals, thread.terminal.index())
                        && self.rules.is_productive(&mut parser.network, thread.next)
                        && self.can_finish(parser, thread.node))
                {
                    insert(&mut readable, thread.terminal.index());
                }
            }
            self.readable.insert(config, &readable);
        }
        self.readable.get(config, self.rules.terminals.len())
    }

    /// What a hypothesis reads next, and what the parser in `config` can read and then finish.
    pub(super) fn reads_and_readable(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        hypotheses: &mut Hypotheses,
        hypothesis: HypothesisId,
        regime: usize,
    ) -> Result<(&[u64], &[u64]), EngineError> {
        self.readable(parser, config);
        let readable = self.readable.get(config, self.rules.terminals.len());
        Ok((self.viability.reads(hypotheses, hypothesis, regime)?, readable))
    }

    /// Whether the rest of a rule has a sentence within the scope.
    pub(super) fn is_productive(&mut self, parser: &mut Parser, state: ExprId) -> bool {
        self.is_everything || self.rules.is_productive(&mut parser.network, state)
    }

    /// Whether some stack of `node` can be finished. Nodes have no cycles.
    pub(super) fn can_finish(&mut self, parser: &mut Parser, node: NodeId) -> bool {
        if self.is_everything {
            return true;
        }
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.nodes.get(top.0).is_some() {
                work.pop();
                continue;
            }
            let mut answer = Some(false);
            for index in 0..parser.stacks.frames(top).len() {
                let frame = parser.stacks.frames(top)[index];
                // Nothing is cut off but what can always be finished (`always_finishes`).
                if frame == Frame::BOTTOM || frame == Frame::HOLE {
                    answer = Some(true);
                    break;
                }
                if !self.rules.is_productive(&mut parser.network, frame.ret) {
                    continue;
                }
                match self.nodes.get(frame.parent.0) {
                    Some(true) => {
                        answer = Some(true);
                        break;
                    }
                    Some(false) => {}
                    None => {
                        work.push(frame.parent);
                        answer = None;
                        break;
                    }
                }
            }
            if let Some(answer) = answer {
                self.nodes.set(top.0, answer);
                work.pop();
            }
        }
        self.nodes.get(node.0).unwrap_or(false)
    }

    /// Whether all stacks of `node` can be finished, wherever they are returned to.
    pub(super) fn always_finishes(&mut self, parser: &mut Parser, node: NodeId) -> bool {
        if self.is_everything {
            return true;
        }
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.finishing.get(top.0).is_some() {
                work.pop();
                continue;
            }
            let mut answer = Some(true);
            for index in 0..parser.stacks.frames(top).len() {
                let frame = parser.stacks.frames(top)[index];
                if frame == Frame::BOTTOM || frame == Frame::HOLE {
                    continue;
                }
                let is_productive = self.rules.is_productive(&mut parser.network, frame.ret);
                match self.finishing.get(frame.parent.0) {
                    _ if !is_productive => answer = Some(false),
                    Some(false) => answer = Some(false),
                    Some(true) => continue,
                    None => {
                        work.push(frame.parent);
                        answer = None;
                    }
                }
                break;
            }
            if let Some(answer) = answer {
                self.finishing.set(top.0, answer);
                work.pop();
            }
        }
        self.finishing.get(node.0).unwrap_or(false)
    }

    /// The same of all threads of a configuration.
    pub(super) fn all_always_finish(&mut self, parser: &mut Parser, config: ConfigId) -> bool {
        if self.is_everything {
            return true;
        }
        if let Some(known) = self.all_finishing.get(config.0) {
            return known;
        }
        let all = (0..parser.configs.threads(config).len()).all(|index| {
            let node = parser.configs.threads(config)[index].node;
            self.always_finishes(parser, node)
        });
        self.all_finishing.set(config.0, all);
        all
    }

    pub(super) fn clear_memo(&mut self) {
        self.readable = Readable::default();
        self.nodes.clear();
        self.finishing.clear();
        self.all_finishing.clear();
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.viability.memory_usage()
            + self.readable.memory_usage()
            + self.nodes.memory_usage()
            + self.finishing.memory_usage()
            + self.all_finishing.memory_usage()
            + self.rules.states.len()
    }
}

/// Sets of terminals by parser configuration.
#[derive(Default)]
struct Readable {
    /// By configuration, one more than the number of its set; 0 where that is not known.
    numbers: Vec<u32>,
    sets: Vec<u64>,
    n_sets: u32,
}

impl Readable {
    #[inline]
    fn has(&self, config: ConfigId) -> bool {
        self.numbers.get(config.0 as usize).is_some_and(|&number| number > 0)
    }

    /// The set of a configuration that has one, of `n_words` words.
    #[inline]
    fn get(&self, config: ConfigId, n_words: usize) -> &[u64] {
        let start = (self.numbers[config.0 as usize] as usize - 1) * n_words;
        &self.sets[start..start + n_words]
    }

    fn insert(&mut self, config: ConfigId, set: &[u64]) {
        let index = config.0 as usize;
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, 0);
        }
        self.n_sets += 1;
        self.numbers[index] = self.n_sets;
        self.sets.extend_from_slice(set);
    }

    fn memory_usage(&self) -> usize {
        self.numbers.capacity() * 4 + self.sets.capacity() * 8
    }
}

/// Which expressions have a sentence over a set of terminals.
pub(super) struct Restriction {
    terminals: Bits,
    rules: Vec<bool>,
    /// By expression: 0 unknown, 1 none, 2 some.
    states: Vec<u8>,
}

impl Restriction {
    pub(super) fn new(network: &Network, terminals: Bits) -> Restriction {
        let mut rules = vec![false; network.n_rules()];
        let order = expressions(network, &|_| true);
        let mut states = vec![0u8; network.pool().len()];
        loop {
            let mut has_changed = false;
            for &(rule, ref part) in &order {
                for &id in part {
                    if states[id.index()] != 2 && has_sentence(network, id, &terminals, &rules, &states) {
                        states[id.index()] = 2;
                        has_changed = true;
                    }
                }
                if !rules[rule.index()] && states[network.body(rule).index()] == 2 {
                    rules[rule.index()] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
        for id in order.iter().flat_map(|(_, part)| part) {
            states[id.index()] = states[id.index()].max(1);
        }
        Restriction { terminals, rules, states }
    }

    fn is_productive(&mut self, network: &mut Network, state: ExprId) -> bool {
        if self.states.len() < network.pool().len() {
            self.states.resize(network.pool().len(), 0);
        }
        if self.states[state.index()] == 0 {
            let mut seen = Seen::new();
            for id in network.pool().post_order(state, &mut seen) {
                if self.states[id.index()] == 0 {
                    let is = has_sentence(network, id, &self.terminals, &self.rules, &self.states);
                    self.states[id.index()] = 1 + u8::from(is);
                }
            }
        }
        self.states[state.index()] == 2
    }

    /// For each terminal, what has to be readable right after it: what the rest of some sentence has there, if that rest is
    /// over the terminals; bit `n_terminals` is the end. What came before may be of any terminals, so it is not asked whether whole
    /// rules have a sentence, only what is behind. A fixpoint over the expressions of the rules; rounds are few.
    pub(super) fn followers(&self, network: &mut Network, n_terminals: usize) -> Vec<Bits> {
        let n_words = self.terminals.len();
        let parts = expressions(network, &|_| true);
        let order: Vec<ExprId> = parts.into_iter().flat_map(|(_, part)| part).collect();
        // What sentences over the terminals begin with, and what the rests of sentences that are over the terminals end with.
        let mut first = vec![0u64; network.pool().len() * n_words];
        let mut last = first.clone();
        let place = |id: ExprId| id.index() * n_words..(id.index() + 1) * n_words;
        // Adds the set of one expression to that of another.
        let join = |sets: &mut Vec<u64>, to: ExprId, from: ExprId| {
            let from = sets[place(from)].to_vec();
            unite(&mut sets[place(to)], &from)
        };
        for &id in &order {
            if let Expr::Terminal(terminal) = network.pool().get(id)
                && self.states[id.index()] == 2
            {
                insert(&mut first[place(id)], terminal.index());
                insert(&mut last[place(id)], terminal.index());
            }
        }
        loop {
            let mut has_changed = false;
            for &id in &order {
                let is_productive = self.states[id.index()] == 2;
                match network.pool().get(id).clone() {
                    Expr::Never | Expr::Epsilon | Expr::Terminal(_) => {}
                    Expr::Rule(rule) => {
                        let body = network.body(rule);
                        has_changed |= is_productive && join(&mut first, id, body);
                        has_changed |= join(&mut last, id, body);
                    }
                    Expr::Seq(head, tail) => {
                        has_changed |= is_productive && join(&mut first, id, head);
                        has_changed |= join(&mut last, id, tail);
                        if network.is_nullable(head) {
                            has_changed |= is_productive && join(&mut first, id, tail);
                        }
                        if network.is_nullable(tail) {
                            has_changed |= join(&mut last, id, head);
                        }
                    }
                    Expr::Alt(_) | Expr::Repeat { .. } | Expr::Shuffle(_) => {
                        for part in network.pool().children(id) {
                            has_changed |= is_productive && join(&mut first, id, part);
                            has_changed |= join(&mut last, id, part);
                        }
                    }
                }
            }
            if !has_changed {
                break;
            }
        }
        let mut followers = vec![Bits::from(vec![0; n_words]); n_terminals];
        let mut follow = |ends: &[u64], begins: &[u64]| {
            for terminal in ones(ends) {
                unite(&mut followers[terminal], begins);
            }
        };
        for &id in &order {
            match network.pool().get(id) {
                &Expr::Seq(head, tail) => follow(&last[place(head)], &first[place(tail)]),
                &Expr::Repeat { inner, max, .. } if max != Some(1) => {
                    follow(&last[place(inner)], &first[place(inner)]);
                }
                // No lexed grammar has one; if one had, its parts could come in any order.
                Expr::Shuffle(_) => follow(&last[place(id)], &first[place(id)]),
                _ => {}
            }
        }
        let mut end: Bits = vec![0; n_words].into();
        insert(&mut end, n_terminals);
        follow(&last[place(network.body(network.start()))], &end);
        followers
    }
}

/// Whether a rule has `terminal`.
pub(super) fn uses(network: &Network, terminal: TerminalId) -> bool {
    let parts = expressions(network, &|_| true);
    let mut ids = parts.iter().flat_map(|(_, part)| part);
    ids.any(|&id| *network.pool().get(id) == Expr::Terminal(terminal))
}

fn has_sentence(network: &Network, id: ExprId, terminals: &[u64], rules: &[bool], states: &[u8]) -> bool {
    let known = |id: ExprId| states[id.index()] == 2;
    match network.pool().get(id) {
        Expr::Never => false,
        Expr::Epsilon => true,
        Expr::Terminal(terminal) => contains(terminals, terminal.index()),
        // The body of a rule that matches the empty word need not say so.
        Expr::Rule(rule) => rules[rule.index()] || network.is_rule_nullable(*rule),
        Expr::Seq(head, tail) => known(*head) && known(*tail),
        Expr::Alt(parts) => parts.iter().any(|&part| known(part)),
        Expr::Repeat { inner, min, .. } => *min == 0 || known(*inner),
        Expr::Shuffle(_) => network.pool().children(id).into_iter().all(known),
    }
}

/// The expressions that can be come to through kept ones, by rule: parts before wholes, callees first where
/// recursion allows.
pub(super) fn expressions(network: &Network, keeps: &dyn Fn(ExprId) -> bool) -> Vec<(RuleId, Vec<ExprId>)> {
    let (mut seen, mut seen_rules) = (Seen::new(), Seen::new());
    let mut found = Vec::new();
    let mut rules: Vec<(RuleId, Option<Vec<ExprId>>)> = vec![(network.start(), None)];
    while let Some((rule, part)) = rules.pop() {
        if let Some(part) = part {
            found.push((rule, part));
            continue;
        }
        if !seen_rules.insert(rule.index()) {
            continue;
        }
        // (expression, whether its parts were visited)
        let mut part = Vec::new();
        let mut callees = Vec::new();
        let mut work = vec![(network.body(rule), false)];
        while let Some((id, is_done)) = work.pop() {
            if is_done {
                part.push(id);
            } else if keeps(id) && seen.insert(id.index()) {
                work.push((id, true));
                work.extend(network.pool().children(id).into_iter().map(|child| (child, false)));
                if let &Expr::Rule(callee) = network.pool().get(id) {
                    callees.push(callee);
                }
            }
        }
        rules.push((rule, Some(part)));
        rules.extend(callees.into_iter().map(|callee| (callee, None)));
    }
    found
}

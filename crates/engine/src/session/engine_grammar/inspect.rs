//! Views of a grammar: its rules, its terminals and their automata.

use std::collections::VecDeque;

use maskwright_automata::{ByteSet, Fuel, StateId};
use maskwright_grammar::{ExprId, Seen, Symbol};

use super::EngineGrammar;
use crate::session::inspect::{AutomatonStateView, NetworkStateView, RuleView, SpanView, SymbolView};
use crate::{EngineError, Error};

impl EngineGrammar {
    /// Of a lexed grammar, the sequences of terminals that tokens span after `text`, in the order of their
    /// terminals' numbers: which the lexer can make of them, and what the parser says to each. `None` if no
    /// text of the language begins with `text`, or the grammar is not lexed. Visits each token in every
    /// reading.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn inspect_spans(&self, text: &[u8]) -> Result<Option<Vec<SpanView>>, Error> {
        let machine = self.machine();
        let mut machine = machine.lock();
        Ok(machine.reader.spans(text)?)
    }

    /// The rules after all passes, each with at most `max_states` of its states.
    pub fn inspect_rules(&self, max_states: usize) -> Vec<RuleView> {
        let machine = self.machine();
        let mut machine = machine.lock();
        let network = &mut machine.reader.parser_mut().network;
        let start = network.start();
        (0..network.n_rules())
            .map(|index| {
                let rule = maskwright_grammar::RuleId::from_index(index);
                let (mut seen, mut queue) = (Seen::new(), VecDeque::new());
                let (mut states, mut is_cut) = (Vec::new(), false);
                let body: ExprId = network.body(rule);
                seen.insert(body.index());
                queue.push_back(body);
                while let Some(state) = queue.pop_front() {
                    if states.len() >= max_states {
                        is_cut = true;
                        break;
                    }
                    let moves: Vec<_> = network.moves(state).map(|at| network.move_at(at)).collect();
                    queue.extend(moves.iter().map(|step| step.next).filter(|next| seen.insert(next.index())));
                    let view = |symbol| match symbol {
                        Symbol::Terminal(terminal) => SymbolView::Terminal(terminal.index()),
                        Symbol::Rule(rule) => SymbolView::Rule(rule.index()),
                    };
                    states.push(NetworkStateView {
                        id: state.index(),
                        is_accepting: network.is_nullable(state),
                        moves: moves.iter().map(|step| (view(step.symbol), step.next.index())).collect(),
                    });
                }
                RuleView {
                    name: network.name(rule).to_owned(),
                    is_start: rule == start,
                    is_nullable: network.is_rule_nullable(rule),
                    states,
                    is_cut,
                }
            })
            .collect()
    }

    /// The terminals' languages in regular-expression notation, by number; their names if the grammar is
    /// lexed.
    pub fn inspect_terminals(&self) -> Vec<String> {
        self.terminals().shown(&self.machine().lock().reader.parser().network)
    }

    /// The automaton of a terminal, at most `max_states` of its states by breadth; whether there are more.
    /// `None` if the grammar has no terminal of this number.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn inspect_automaton(
        &self,
        terminal: usize,
        max_states: usize,
    ) -> Result<Option<(Vec<AutomatonStateView>, bool)>, Error> {
        let machine = self.machine();
        let automaton = {
            let machine = machine.lock();
            let parser = machine.reader.parser();
            let Some(regex) = parser.network.terminals().get(terminal) else { return Ok(None) };
            parser.shared.automaton(regex, &Fuel::new(parser.shared.limits.compile_work))?
        };
        let located = EngineError::in_terminal(&automaton);
        let (mut seen, mut queue) = (Seen::new(), VecDeque::new());
        let (mut states, mut is_cut) = (Vec::new(), false);
        if let Some(start) = automaton.start() {
            seen.insert(start.index());
            queue.push_back(start);
        }
        while let Some(state) = queue.pop_front() {
            if states.len() >= max_states {
                is_cut = true;
                break;
            }
            let mut moves: Vec<(StateId, ByteSet)> = Vec::new();
            for byte in automaton.next_bytes(state).map_err(located)?.iter() {
                let Some(next) = automaton.step(state, byte).map_err(located)? else { continue };
                let set = ByteSet::singleton(byte);
                match moves.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, bytes)) => *bytes = bytes.union(&set),
                    None => moves.push((next, set)),
                }
            }
            moves.sort_unstable_by_key(|(next, _)| *next);
            queue.extend(moves.iter().map(|(next, _)| *next).filter(|next| seen.insert(next.index())));
            states.push(AutomatonStateView {
                id: state.index(),
                is_accepting: automaton.is_accepting(state),
                residue: automaton.describe(state),
                moves: moves.into_iter().map(|(next, bytes)| (bytes, next.index())).collect(),
            });
        }
        Ok(Some((states, is_cut)))
    }
}

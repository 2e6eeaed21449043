//! A grammar with all its terminals as one plain context-free grammar over bytes.
//!
//! Every expression of the grammar and every node of a terminal is a nonterminal of its own, so there is
//! nothing to be clever about: `Seq(a, b)` is `X → A B`, `Alt` has a production for each member, `{m,n}` is
//! unfolded into m copies and a chain of n − m optional ones. An intersection or complement becomes the
//! right-linear grammar of its automaton. At last the nonterminals without words are found by fixpoint and
//! every production with one of them is dropped: then each production left is part of a derivation of some
//! text, which is what makes a non-empty Earley column mean "some word goes on like this".

use maskwright_automata::{ByteSet, Node, Regex};
use maskwright_grammar::{Expr, ExprId, Grammar};
use rustc_hash::FxHashMap;

use crate::derivative::Dfa;
use crate::unfold::unfold;

/// What stands on a right-hand side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    /// One byte of a set.
    Bytes(ByteSet),
    /// A nonterminal, by number.
    Nonterminal(usize),
}

/// A context-free grammar over bytes whose start has number 0.
pub(crate) struct Cfg {
    /// The right-hand sides of each nonterminal.
    pub(crate) productions: Vec<Vec<Vec<Symbol>>>,
}

impl Cfg {
    /// The grammar as it is written, unproductive parts included.
    fn written(grammar: &Grammar) -> Cfg {
        let grammar = &unfold(grammar);
        let mut builder = Builder {
            cfg: Cfg { productions: vec![Vec::new()] },
            regexes: FxHashMap::default(),
            pending: Vec::new(),
        };
        let pool = grammar.pool();
        // The expression with index i gets number i + 1, then come the rules.
        let expr_number = |id: ExprId| Symbol::Nonterminal(id.index() + 1);
        let first_rule = pool.len() + 1;
        builder.cfg.productions.resize(first_rule + grammar.rules().len(), Vec::new());
        builder.cfg.productions[0] = vec![vec![Symbol::Nonterminal(first_rule + grammar.start().index())]];
        for rule in grammar.rules() {
            builder.cfg.productions[first_rule + rule.index()] = vec![vec![expr_number(grammar.body(rule))]];
        }
        for id in (0..pool.len()).map(ExprId::from_index) {
            let right_hand_sides = match pool.get(id) {
                Expr::Never => vec![],
                Expr::Epsilon => vec![vec![]],
                Expr::Terminal(terminal) => {
                    vec![vec![builder.regex(&grammar.terminals()[terminal.index()])]]
                }
                Expr::Rule(rule) => vec![vec![Symbol::Nonterminal(first_rule + rule.index())]],
                &Expr::Seq(head, tail) => vec![vec![expr_number(head), expr_number(tail)]],
                Expr::Alt(parts) => parts.iter().map(|&part| vec![expr_number(part)]).collect(),
                &Expr::Repeat { inner, min, max } => vec![builder.repeat(expr_number(inner), min, max)],
                Expr::Shuffle(_) => unreachable!("lists in any order are unfolded before"),
            };
            builder.cfg.productions[id.index() + 1] = right_hand_sides;
        }
        builder.translate_pending();
        builder.cfg
    }

    /// The grammar without unproductive parts; the start has no production if there is no word.
    pub(crate) fn new(grammar: &Grammar) -> Cfg {
        let mut cfg = Cfg::written(grammar);
        let mut is_productive = vec![false; cfg.productions.len()];
        let has_word = |is_productive: &[bool], right_hand_side: &[Symbol]| {
            right_hand_side.iter().all(|symbol| match symbol {
                Symbol::Bytes(set) => !set.is_empty(),
                Symbol::Nonterminal(number) => is_productive[*number],
            })
        };
        cfg.until_stable(&mut is_productive, |flags, production| has_word(flags, production));
        for right_hand_sides in &mut cfg.productions {
            right_hand_sides.retain(|production| has_word(&is_productive, production));
        }
        cfg
    }

    /// By nonterminal: whether it derives the empty word.
    pub(crate) fn nullable(&self) -> Vec<bool> {
        let mut is_nullable = vec![false; self.productions.len()];
        self.until_stable(&mut is_nullable, |flags, production| {
            production.iter().all(|symbol| match symbol {
                Symbol::Bytes(_) => false,
                Symbol::Nonterminal(number) => flags[*number],
            })
        });
        is_nullable
    }

    /// Sets the flag of each nonterminal with a production that `holds`, until nothing changes.
    fn until_stable(&self, flags: &mut [bool], holds: impl Fn(&[bool], &[Symbol]) -> bool) {
        loop {
            let mut has_changed = false;
            for (number, right_hand_sides) in self.productions.iter().enumerate() {
                if !flags[number] && right_hand_sides.iter().any(|production| holds(flags, production)) {
                    flags[number] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                return;
            }
        }
    }
}

struct Builder {
    cfg: Cfg,
    /// The number of each expression met so far.
    regexes: FxHashMap<Regex, usize>,
    /// Those that have no productions yet.
    pending: Vec<Regex>,
}

impl Builder {
    fn fresh(&mut self) -> usize {
        self.cfg.productions.push(Vec::new());
        self.cfg.productions.len() - 1
    }

    /// The nonterminal of `regex`.
    fn regex(&mut self, regex: &Regex) -> Symbol {
        if let Some(&number) = self.regexes.get(regex) {
            return Symbol::Nonterminal(number);
        }
        let number = self.fresh();
        self.regexes.insert(regex.clone(), number);
        self.pending.push(regex.clone());
        Symbol::Nonterminal(number)
    }

    fn translate_pending(&mut self) {
        while let Some(regex) = self.pending.pop() {
            let number = self.regexes[&regex];
            let one = |bytes: &[u8]| {
                bytes.iter().map(|&byte| Symbol::Bytes(ByteSet::singleton(byte))).collect::<Vec<_>>()
            };
            self.cfg.productions[number] = match regex.node() {
                Node::Empty => vec![],
                Node::Epsilon => vec![vec![]],
                Node::Bytes(set) => vec![vec![Symbol::Bytes(*set)]],
                Node::Literal(word) => vec![one(word)],
                Node::Words(words) => words.iter().map(|word| one(word)).collect(),
                Node::Concat(parts) => vec![parts.iter().map(|part| self.regex(part)).collect()],
                Node::Union(parts) => parts.iter().map(|part| vec![self.regex(part)]).collect(),
                &Node::Repeat { ref inner, min, max } => {
                    let inner = self.regex(inner);
                    vec![self.repeat(inner, min, max)]
                }
                Node::Intersection(_) | Node::Complement(_) => vec![vec![self.automaton(&regex)]],
            };
        }
    }

    /// `inner{min,max}` as a right-hand side: `min` copies, then a nonterminal for the rest.
    fn repeat(&mut self, inner: Symbol, min: u32, max: Option<u32>) -> Vec<Symbol> {
        let rest = match max {
            None => {
                let star = self.fresh();
                self.cfg.productions[star] = vec![vec![], vec![inner, Symbol::Nonterminal(star)]];
                star
            }
            Some(max) => {
                // X_0 → ε; X_i → ε | inner X_{i-1}
                let none = self.fresh();
                self.cfg.productions[none] = vec![vec![]];
                (min..max).fold(none, |fewer, _| {
                    let number = self.fresh();
                    self.cfg.productions[number] = vec![vec![], vec![inner, Symbol::Nonterminal(fewer)]];
                    number
                })
            }
        };
        let mut right_hand_side = vec![inner; min as usize];
        right_hand_side.push(Symbol::Nonterminal(rest));
        right_hand_side
    }

    /// The right-linear grammar of the automaton of `regex`: `Q → bytes Q'` for each transition, `Q → ε`
    /// where Q accepts.
    fn automaton(&mut self, regex: &Regex) -> Symbol {
        let dfa = Dfa::new(regex);
        let numbers: Vec<usize> = dfa.successors.iter().map(|_| self.fresh()).collect();
        for (state, successors) in dfa.successors.iter().enumerate() {
            let mut right_hand_sides: Vec<Vec<Symbol>> = successors
                .iter()
                .map(|&(bytes, next)| vec![Symbol::Bytes(bytes), Symbol::Nonterminal(numbers[next])])
                .collect();
            if dfa.is_accepting[state] {
                right_hand_sides.push(vec![]);
            }
            self.cfg.productions[numbers[state]] = right_hand_sides;
        }
        Symbol::Nonterminal(numbers[0])
    }
}

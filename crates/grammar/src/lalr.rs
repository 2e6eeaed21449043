//! LALR(1) tables of a grammar, as information: which states a parser of that kind has, and where it would have to
//! guess.
//!
//! Nothing reads with them: the engine follows all readings ([`Network`](crate::Network)), so a conflict costs nothing but the
//! work of a second reading. They tell whoever writes a grammar where that is.
//!
//! Repetitions become rules of their own (`rule'1`), which may be empty. Other generators write optional parts out
//! instead, as Lark's does, and so have fewer conflicts: those of a rule that has nothing to end before a part that is not
//! there. Lookaheads are found by propagation (Aho, Lam, Sethi, Ullman, *Compilers*,
//! algorithm 4.63): about quadratic in the size of closures.

use std::collections::{BTreeMap, VecDeque};

use maskwright_automata::{Fuel, FuelError};
use rustc_hash::FxHashMap;

use crate::{Expr, ExprId, Grammar, RuleId, TerminalId};

/// A symbol of a production.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LrSymbol {
    /// A terminal.
    Terminal(TerminalId),
    /// A nonterminal, by its place in [`LrTable::nonterminals`].
    Nonterminal(usize),
}

/// One alternative of a nonterminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LrProduction {
    /// The nonterminal.
    pub left: usize,
    /// What it stands for.
    pub right: Vec<LrSymbol>,
}

/// A state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LrState {
    /// The items that it is made of: productions, and how much of each was read.
    pub kernel: Vec<(usize, usize)>,
    /// By symbol, the state behind it.
    pub moves: BTreeMap<LrSymbol, usize>,
    /// The productions that may end here, each with the terminals behind (`None` is the end of the text).
    pub reductions: BTreeMap<usize, Vec<Option<TerminalId>>>,
}

/// A state and a terminal at which there is more than one thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LrConflict {
    /// The state.
    pub state: usize,
    /// The terminal; `None` is the end of the text.
    pub lookahead: Option<TerminalId>,
    /// Whether it can be read.
    pub is_read: bool,
    /// The productions that may end before it.
    pub reductions: Vec<usize>,
    /// A sequence of terminals that leads to the state, with both things to do where a short one was found.
    pub example: Vec<TerminalId>,
}

/// The LALR(1) table of a grammar.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_grammar::{GrammarBuilder, LrTable};
/// let mut builder = GrammarBuilder::new();
/// let (sum, plus, one) = (builder.declare("sum"), builder.literal("+"), builder.literal("1"));
/// let inner = builder.rule(sum);
/// let pair = builder.seq(&[inner, plus, inner]);
/// let body = builder.alt(&[pair, one]);
/// builder.define(sum, body);
/// let table = LrTable::new(&builder.finish(sum).unwrap(), &Fuel::new(10_000)).unwrap();
/// assert_eq!(table.conflicts.len(), 1, "1+1 and then a plus: whose is it?");
/// assert_eq!(table.conflicts[0].example.len(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct LrTable {
    /// The names of the nonterminals.
    pub nonterminals: Vec<String>,
    /// The first is that of the whole text.
    pub productions: Vec<LrProduction>,
    /// The first is that before any text.
    pub states: Vec<LrState>,
    /// By state and terminal.
    pub conflicts: Vec<LrConflict>,
}

/// A set of terminals, the end of the text, and the mark of what is propagated.
type Bits = Vec<u64>;

fn contains(set: &[u64], index: usize) -> bool {
    set[index / 64] >> (index % 64) & 1 == 1
}

fn insert(set: &mut [u64], index: usize) {
    set[index / 64] |= 1 << (index % 64);
}

fn unite(to: &mut [u64], from: &[u64]) -> bool {
    let mut has_changed = false;
    for (to, from) in to.iter_mut().zip(from) {
        has_changed |= *from & !*to != 0;
        *to |= from;
    }
    has_changed
}

impl LrTable {
    /// The table of `grammar`, lists in any order left out.
    ///
    /// # Errors
    /// If `fuel` runs out.
    pub fn new(grammar: &Grammar, fuel: &Fuel) -> Result<LrTable, FuelError> {
        let mut flat = Flat {
            grammar,
            table: LrTable::empty(),
            of_expr: FxHashMap::default(),
            of_rule: FxHashMap::default(),
            waiting: VecDeque::new(),
        };
        flat.run(fuel)?;
        let mut table = flat.table;
        table.make_states(fuel)?;
        let facts = Facts::new(&table, grammar.terminals().len());
        table.look_ahead(&facts, fuel)?;
        table.find_conflicts(&facts);
        Ok(table)
    }

    fn empty() -> LrTable {
        LrTable {
            nonterminals: Vec::new(),
            productions: Vec::new(),
            states: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    /// The productions of each nonterminal.
    fn alternatives(&self) -> Vec<Vec<usize>> {
        let mut alternatives = vec![Vec::new(); self.nonterminals.len()];
        for (index, production) in self.productions.iter().enumerate() {
            alternatives[production.left].push(index);
        }
        alternatives
    }

    /// States and moves, by breadth.
    fn make_states(&mut self, fuel: &Fuel) -> Result<(), FuelError> {
        let alternatives = self.alternatives();
        let mut ids: FxHashMap<Vec<(usize, usize)>, usize> = FxHashMap::default();
        let first = vec![(0, 0)];
        ids.insert(first.clone(), 0);
        self.states.push(LrState { kernel: first, ..LrState::default() });
        let mut position = 0;
        while position < self.states.len() {
            let mut items = self.states[position].kernel.clone();
            let mut entered = vec![false; self.nonterminals.len()];
            let mut behind: BTreeMap<LrSymbol, Vec<(usize, usize)>> = BTreeMap::new();
            let mut done = 0;
            while let Some(&(production, dot)) = items.get(done) {
                fuel.spend(1)?;
                done += 1;
                let Some(&symbol) = self.productions[production].right.get(dot) else { continue };
                behind.entry(symbol).or_default().push((production, dot + 1));
                if let LrSymbol::Nonterminal(callee) = symbol
                    && !std::mem::replace(&mut entered[callee], true)
                {
                    items.extend(alternatives[callee].iter().map(|&production| (production, 0)));
                }
            }
            for (symbol, mut kernel) in behind {
                kernel.sort_unstable();
                let next = *ids.entry(kernel.clone()).or_insert_with(|| {
                    self.states.push(LrState { kernel, ..LrState::default() });
                    self.states.len() - 1
                });
                self.states[position].moves.insert(symbol, next);
            }
            position += 1;
        }
        Ok(())
    }

    /// What can come behind each item of `state` whose first items have the given lookaheads.
    fn closure(&self, facts: &Facts, items: &[((usize, usize), Bits)]) -> BTreeMap<(usize, usize), Bits> {
        let mut closure: BTreeMap<(usize, usize), Bits> = BTreeMap::new();
        let mut work: Vec<(usize, usize)> = Vec::new();
        for (item, behind) in items {
            unite(closure.entry(*item).or_insert_with(|| facts.nothing()), behind);
            work.push(*item);
        }
        while let Some((production, dot)) = work.pop() {
            let right = &self.productions[production].right;
            let Some(&LrSymbol::Nonterminal(callee)) = right.get(dot) else { continue };
            let mut behind = facts.nothing();
            if facts.first_of(&right[dot + 1..], &mut behind) {
                unite(&mut behind, &closure[&(production, dot)]);
            }
            for &called in &facts.alternatives[callee] {
                let is_new = !closure.contains_key(&(called, 0));
                let known = closure.entry((called, 0)).or_insert_with(|| facts.nothing());
                if unite(known, &behind) || is_new {
                    work.push((called, 0));
                }
            }
        }
        closure
    }

    /// Fills in the reductions.
    fn look_ahead(&mut self, facts: &Facts, fuel: &Fuel) -> Result<(), FuelError> {
        let mut sets: Vec<Vec<Bits>> =
            self.states.iter().map(|state| vec![facts.nothing(); state.kernel.len()]).collect();
        insert(&mut sets[0][0], facts.end());
        // From an item of a kernel to those that take over its lookaheads.
        let mut links: Vec<Vec<Vec<(usize, usize)>>> =
            self.states.iter().map(|state| vec![Vec::new(); state.kernel.len()]).collect();
        for (index, state) in self.states.iter().enumerate() {
            for (place, &item) in state.kernel.iter().enumerate() {
                let mut mark = facts.nothing();
                insert(&mut mark, facts.mark());
                for ((production, dot), mut behind) in self.closure(facts, &[(item, mark)]) {
                    fuel.spend(1)?;
                    let Some(symbol) = self.productions[production].right.get(dot) else { continue };
                    let next = state.moves[symbol];
                    let kernel = &self.states[next].kernel;
                    let Ok(target) = kernel.binary_search(&(production, dot + 1)) else { continue };
                    if contains(&behind, facts.mark()) {
                        links[index][place].push((next, target));
                        behind[facts.mark() / 64] &= !(1 << (facts.mark() % 64));
                    }
                    unite(&mut sets[next][target], &behind);
                }
            }
        }
        let mut work: Vec<(usize, usize)> = (0..sets.len())
            .flat_map(|state| (0..sets[state].len()).map(move |place| (state, place)))
            .collect();
        while let Some((state, place)) = work.pop() {
            fuel.spend(1)?;
            let from = sets[state][place].clone();
            for &(next, target) in &links[state][place] {
                if unite(&mut sets[next][target], &from) {
                    work.push((next, target));
                }
            }
        }
        for (index, sets) in sets.into_iter().enumerate() {
            let kernel = self.states[index].kernel.iter().copied();
            let items: Vec<_> = kernel.zip(sets).collect();
            for ((production, dot), behind) in self.closure(facts, &items) {
                if dot == self.productions[production].right.len() {
                    let behind = (0..=facts.end()).filter(|&terminal| contains(&behind, terminal));
                    let terminal =
                        |index: usize| (index < facts.end()).then(|| TerminalId::from_index(index));
                    self.states[index].reductions.insert(production, behind.map(terminal).collect());
                }
            }
        }
        Ok(())
    }

    fn find_conflicts(&mut self, facts: &Facts) {
        let paths = self.paths();
        let mut conflicts = Vec::new();
        for (index, state) in self.states.iter().enumerate() {
            let mut actions: BTreeMap<Option<TerminalId>, Vec<usize>> = BTreeMap::new();
            for (&production, behind) in &state.reductions {
                behind.iter().for_each(|&lookahead| actions.entry(lookahead).or_default().push(production));
            }
            for (lookahead, reductions) in actions {
                let is_read =
                    lookahead.is_some_and(|terminal| state.moves.contains_key(&LrSymbol::Terminal(terminal)));
                if reductions.len() + usize::from(is_read) > 1 {
                    // States stand for several contexts; in not all of them is there more than one thing to do.
                    let is_example = |path: &&Path| {
                        reductions.iter().all(|&production| {
                            self.is_read_after(&path.states, production, lookahead, &mut { MAX_ENDS })
                        })
                    };
                    let path = paths[index].iter().find(is_example).or(paths[index].first());
                    let symbols = path.map_or(&[][..], |path| &path.symbols);
                    let example = symbols.iter().flat_map(|symbol| facts.shortest(*symbol)).collect();
                    conflicts.push(LrConflict { state: index, lookahead, is_read, reductions, example });
                }
            }
        }
        self.conflicts = conflicts;
    }

    /// For each state, some ways to it, short ones first: symbols, and the states behind them, the first included.
    fn paths(&self) -> Vec<Vec<Path>> {
        let mut paths: Vec<Vec<Path>> = vec![Vec::new(); self.states.len()];
        let mut queue = VecDeque::from([Path { symbols: Vec::new(), states: vec![0] }]);
        while let Some(path) = queue.pop_front() {
            let Some(&state) = path.states.last() else { continue };
            if paths[state].len() == MAX_PATHS {
                continue;
            }
            for (&symbol, &next) in &self.states[state].moves {
                let mut longer = path.clone();
                longer.symbols.push(symbol);
                longer.states.push(next);
                queue.push_back(longer);
            }
            paths[state].push(path);
        }
        paths
    }

    /// Whether `terminal` can be read where the production ends on a stack of states.
    fn is_read_after(
        &self,
        stack: &[usize],
        production: usize,
        terminal: Option<TerminalId>,
        patience: &mut usize,
    ) -> bool {
        let LrProduction { left, right } = &self.productions[production];
        if production == 0 {
            return terminal.is_none();
        }
        let mut stack = stack[..stack.len() - right.len()].to_vec();
        let below =
            stack.last().and_then(|&state| self.states[state].moves.get(&LrSymbol::Nonterminal(*left)));
        let (Some(&top), Some(left)) = (below, patience.checked_sub(1)) else { return false };
        *patience = left;
        stack.push(top);
        if terminal.is_some_and(|terminal| self.states[top].moves.contains_key(&LrSymbol::Terminal(terminal)))
        {
            return true;
        }
        let ends = self.states[top].reductions.iter().filter(|(_, behind)| behind.contains(&terminal));
        let ends: Vec<usize> = ends.map(|(&production, _)| production).collect();
        ends.into_iter().any(|production| self.is_read_after(&stack, production, terminal, patience))
    }
}

/// The most ways to one state that are tried as an example of a conflict.
const MAX_PATHS: usize = 4;
/// The most productions that one look for what comes of an example ends.
const MAX_ENDS: usize = 500;

#[derive(Clone)]
struct Path {
    symbols: Vec<LrSymbol>,
    states: Vec<usize>,
}

/// What lookaheads are made of.
struct Facts {
    n_terminals: usize,
    alternatives: Vec<Vec<usize>>,
    nullable: Vec<bool>,
    first: Vec<Bits>,
    /// By nonterminal, a shortest sentence.
    sentences: Vec<Vec<TerminalId>>,
}

impl Facts {
    fn new(table: &LrTable, n_terminals: usize) -> Facts {
        let n = table.nonterminals.len();
        let mut facts = Facts {
            n_terminals,
            alternatives: table.alternatives(),
            nullable: vec![false; n],
            first: Vec::new(),
            sentences: vec![Vec::new(); n],
        };
        facts.first = vec![facts.nothing(); n];
        let mut has_sentence = vec![false; n];
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for LrProduction { left, right } in &table.productions {
                let mut first = facts.nothing();
                let is_nullable = facts.first_of(right, &mut first);
                has_changed |= unite(&mut facts.first[*left], &first);
                has_changed |= is_nullable && !std::mem::replace(&mut facts.nullable[*left], true);
                let is_whole = right.iter().all(|symbol| match symbol {
                    LrSymbol::Terminal(_) => true,
                    LrSymbol::Nonterminal(callee) => has_sentence[*callee],
                });
                let length = |facts: &Facts| -> usize {
                    right.iter().map(|symbol| facts.shortest(*symbol).len()).sum()
                };
                if is_whole && (!has_sentence[*left] || length(&facts) < facts.sentences[*left].len()) {
                    let sentence = right.iter().flat_map(|symbol| facts.shortest(*symbol)).collect();
                    facts.sentences[*left] = sentence;
                    has_sentence[*left] = true;
                    has_changed = true;
                }
            }
        }
        facts
    }

    fn end(&self) -> usize {
        self.n_terminals
    }

    fn mark(&self) -> usize {
        self.n_terminals + 1
    }

    fn nothing(&self) -> Bits {
        vec![0; (self.n_terminals + 2).div_ceil(64)]
    }

    fn shortest(&self, symbol: LrSymbol) -> Vec<TerminalId> {
        match symbol {
            LrSymbol::Terminal(terminal) => vec![terminal],
            LrSymbol::Nonterminal(index) => self.sentences[index].clone(),
        }
    }

    /// Adds what `symbols` can begin with; whether they match the empty word.
    fn first_of(&self, symbols: &[LrSymbol], first: &mut Bits) -> bool {
        symbols.iter().all(|symbol| match *symbol {
            LrSymbol::Terminal(terminal) => {
                insert(first, terminal.index());
                false
            }
            LrSymbol::Nonterminal(index) => {
                unite(first, &self.first[index]);
                self.nullable[index]
            }
        })
    }
}

/// Expressions written out as productions.
struct Flat<'g> {
    grammar: &'g Grammar,
    table: LrTable,
    of_expr: FxHashMap<ExprId, usize>,
    of_rule: FxHashMap<RuleId, usize>,
    /// Nonterminals without productions, with the rule that they belong to.
    waiting: VecDeque<(usize, RuleId, ExprId)>,
}

impl Flat<'_> {
    fn run(&mut self, fuel: &Fuel) -> Result<(), FuelError> {
        let text = self.nonterminal("text".to_owned());
        let start = self.rule(self.grammar.start());
        self.produce(text, vec![LrSymbol::Nonterminal(start)]);
        while let Some((left, rule, expr)) = self.waiting.pop_front() {
            match self.grammar.pool().get(expr).clone() {
                Expr::Never => {}
                Expr::Alt(parts) => {
                    for part in parts {
                        let right = self.sequence(part, rule, fuel)?;
                        self.produce(left, right);
                    }
                }
                Expr::Repeat { inner, min, max } => {
                    let inner = self.sequence(inner, rule, fuel)?;
                    let least = |fuel: &Fuel| -> Result<Vec<LrSymbol>, FuelError> {
                        fuel.spend(u64::from(min) * inner.len() as u64 + 1)?;
                        Ok(inner.iter().copied().cycle().take(inner.len() * min as usize).collect())
                    };
                    let mut right = least(fuel)?;
                    self.produce(left, right.clone());
                    match max {
                        None => self.produce(left, [&[LrSymbol::Nonterminal(left)], &inner[..]].concat()),
                        Some(max) => {
                            for _ in min..max {
                                right.extend_from_slice(&inner);
                                fuel.spend(right.len() as u64)?;
                                self.produce(left, right.clone());
                            }
                        }
                    }
                }
                _ => {
                    let right = self.sequence(expr, rule, fuel)?;
                    self.produce(left, right);
                }
            }
        }
        Ok(())
    }

    fn nonterminal(&mut self, name: String) -> usize {
        self.table.nonterminals.push(name);
        self.table.nonterminals.len() - 1
    }

    fn produce(&mut self, left: usize, right: Vec<LrSymbol>) {
        self.table.productions.push(LrProduction { left, right });
    }

    fn rule(&mut self, rule: RuleId) -> usize {
        if let Some(&known) = self.of_rule.get(&rule) {
            return known;
        }
        let made = self.nonterminal(self.grammar.name(rule).to_owned());
        self.of_rule.insert(rule, made);
        self.waiting.push_back((made, rule, self.grammar.body(rule)));
        made
    }

    /// The symbols of a sequence; choices and repetitions in it become nonterminals.
    fn sequence(&mut self, expr: ExprId, rule: RuleId, fuel: &Fuel) -> Result<Vec<LrSymbol>, FuelError> {
        let mut symbols = Vec::new();
        let mut work = vec![expr];
        while let Some(expr) = work.pop() {
            fuel.spend(1)?;
            match *self.grammar.pool().get(expr) {
                Expr::Epsilon | Expr::Shuffle(_) => {}
                Expr::Terminal(terminal) => symbols.push(LrSymbol::Terminal(terminal)),
                Expr::Rule(callee) => symbols.push(LrSymbol::Nonterminal(self.rule(callee))),
                Expr::Seq(head, tail) => work.extend([tail, head]),
                Expr::Never | Expr::Alt(_) | Expr::Repeat { .. } => {
                    let known = match self.of_expr.get(&expr) {
                        Some(&known) => known,
                        None => {
                            let number = self.of_expr.len() + 1;
                            let made = self.nonterminal(format!("{}'{number}", self.grammar.name(rule)));
                            self.of_expr.insert(expr, made);
                            self.waiting.push_back((made, rule, expr));
                            made
                        }
                    };
                    symbols.push(LrSymbol::Nonterminal(known));
                }
            }
        }
        Ok(symbols)
    }
}

//! The grammar as a network of states that are made on demand.
//!
//! A state is an expression: what is still to be read of a right-hand side. Its *moves* are its linear form
//! (Antimirov 1996, partial derivatives, here by whole symbols): the symbols that may come next, each with
//! the state after it. The engine keeps a stack of states to return to; since left recursion is turned into
//! repetition first (`left_recursion`), following moves into rules always ends.
//!
//! **Convention.** A move reads at least one byte. A rule or terminal that matches the empty word is skipped
//! by the moves of whatever contains it, never entered and left again at the same place. So two properties
//! describe a state completely: [`Network::moves`] and [`Network::is_nullable`].
//!
//! Rejected: LR item sets. They merge the predictions of one state, but without lookahead (a token mask has
//! none) they reduce just as many levels as are returned from here, and every item set of an object with n
//! optional properties has n items; a state here is one hash-consed expression that its neighbours share.

use maskwright_automata::{Fuel, Regex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::builder::Rule;
use crate::left_recursion::{eliminate, topological_ranks};
use crate::{
    Expr, ExprId, ExprPool, Grammar, GrammarError, Offer, ReducedGrammar, RuleId, Seen, Shuffle, ShuffleList,
    ShufflePhase, TerminalFacts, TerminalId, Watched, reduce,
};

/// A grammar symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// A terminal, read for at least one byte.
    Terminal(TerminalId),
    /// A rule, read for at least one byte.
    Rule(RuleId),
}

/// One way on from a state: read `symbol`, then be in `next`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// What is read.
    pub symbol: Symbol,
    /// The state after it.
    pub next: ExprId,
}

/// The states of a reduced grammar, without left recursion. States, moves and nullability are computed when
/// first asked for and kept.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) pool: ExprPool,
    terminals: Vec<Regex>,
    /// The terminals with a limit on tokens, ascending.
    token_limits: Vec<(TerminalId, u32)>,
    terminal_nullable: Vec<bool>,
    pub(crate) names: Vec<String>,
    pub(crate) bodies: Vec<ExprId>,
    pub(crate) rule_nullable: Vec<bool>,
    ranks: Vec<u32>,
    start: RuleId,
    watched: Option<Watched>,
    nullable: Vec<Option<bool>>,
    pub(crate) absorbing: Absorbing,
    moves: KnownMoves,
    /// What the names and terminals take.
    text_bytes: usize,
}

/// What absorbs what ([`absorb`](crate::absorb)).
#[derive(Clone, Debug, Default)]
pub(crate) struct Absorbing {
    /// By rule, another that it absorbs.
    pub(crate) stars: FxHashMap<RuleId, RuleId>,
    /// By state, for those that moves lead to.
    pub(crate) by_state: Vec<Option<ExprId>>,
}

/// The moves that were computed.
#[derive(Clone, Debug, Default)]
struct KnownMoves {
    /// By state, those that are its own.
    ranges: Vec<Option<(u32, u32)>>,
    all: Vec<Move>,
}

/// Bytes of an expression's node.
const REGEX_NODE: usize = 96;
/// The most bytes that an expression is counted with beside its node; large ones are mostly shared.
const MAX_REGEX: u64 = 512;

impl Network {
    /// The network of `grammar`. Takes time linear in the grammar; quadratic in the size of each group of
    /// mutually left-recursive rules.
    ///
    /// # Errors
    /// If `fuel` runs out.
    pub fn new(grammar: ReducedGrammar, fuel: &Fuel) -> Result<Network, GrammarError> {
        let ReducedGrammar { pool, terminals, terminal_nullable, rules, rule_nullable, start, watched } =
            grammar;
        let (names, bodies) = rules.into_iter().map(|rule| (rule.name, rule.body)).unzip();
        let mut network = Network {
            pool,
            terminals,
            token_limits: Vec::new(),
            terminal_nullable,
            names,
            bodies,
            rule_nullable,
            ranks: Vec::new(),
            start,
            watched,
            nullable: Vec::new(),
            absorbing: Absorbing::default(),
            moves: KnownMoves::default(),
            text_bytes: 0,
        };
        network.text_bytes = network.names.iter().map(|name| name.capacity()).sum::<usize>()
            + network
                .terminals
                .iter()
                .map(|regex| REGEX_NODE + regex.size().min(MAX_REGEX) as usize)
                .sum::<usize>();
        network.learn_nullable(fuel)?;
        eliminate(&mut network, fuel)?;
        network.find_stars();
        network.ranks = topological_ranks(&mut network, fuel)?;
        fuel.hold(network.memory_usage());
        fuel.spend(1)?;
        Ok(network)
    }

    /// The network of the same rules over terminals with fewer words: `terminals` are their new languages,
    /// and `facts` is what [`reduce`](fn@reduce) must know of them. Takes the time of [`reduce`](fn@reduce)
    /// and [`Network::new`].
    ///
    /// # Errors
    /// If no text is left, or `fuel` runs out.
    pub fn with_terminals(
        &self,
        terminals: Vec<Regex>,
        facts: impl Fn(TerminalId) -> TerminalFacts,
        fuel: &Fuel,
    ) -> Result<Network, GrammarError> {
        let mut pool = self.pool.clone();
        // A body may lack the empty word although its rule has it, since left recursion was eliminated.
        let mut body = |body: ExprId, is_nullable: bool| if is_nullable { pool.optional(body) } else { body };
        let bodies: Vec<ExprId> =
            self.bodies.iter().zip(&self.rule_nullable).map(|(&own, &empty)| body(own, empty)).collect();
        let rules = self.names.iter().zip(bodies);
        let grammar = Grammar {
            rules: rules.map(|(name, body)| Rule { name: name.clone(), body }).collect(),
            pool,
            terminals,
            start: self.start,
            watched: self.watched.clone(),
        };
        let mut network = Network::new(reduce(grammar, facts, fuel)?, fuel)?;
        network.token_limits.clone_from(&self.token_limits);
        // Rules keep their ids, and a rule that absorbed another still does with fewer words.
        network.absorbing.stars.extend(&self.absorbing.stars);
        Ok(network)
    }

    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        let by_rule = size_of::<String>() + size_of::<ExprId>() + 1 + size_of::<u32>();
        let by_terminal = size_of::<Regex>() + 1;
        let by_state = size_of::<Option<ExprId>>() + size_of::<Option<(u32, u32)>>() + 1;
        self.pool.memory_usage()
            + self.names.capacity() * by_rule
            + self.terminals.capacity() * by_terminal
            + self.moves.ranges.capacity() * by_state
            + self.moves.all.capacity() * size_of::<Move>()
            + self.text_bytes
    }

    /// Sets the limits on tokens of some terminals, in ascending order of the terminals.
    pub fn limit_tokens(&mut self, limits: Vec<(TerminalId, u32)>) {
        self.token_limits = limits;
    }

    /// Whether some terminal has a limit on tokens.
    pub fn has_token_limits(&self) -> bool {
        !self.token_limits.is_empty()
    }

    /// A terminal's limit on tokens, if it has one.
    #[inline]
    pub fn token_limit(&self, terminal: TerminalId) -> Option<u32> {
        let at = self.token_limits.binary_search_by_key(&terminal, |(terminal, _)| *terminal).ok()?;
        Some(self.token_limits[at].1)
    }

    /// The terminals' languages, by terminal id.
    pub fn terminals(&self) -> &[Regex] {
        &self.terminals
    }

    /// All states made so far, and the expressions they are.
    pub fn pool(&self) -> &ExprPool {
        &self.pool
    }

    /// The start rule.
    pub fn start(&self) -> RuleId {
        self.start
    }

    /// The condition that sessions keep beside the rules, if there is one.
    pub fn watched(&self) -> Option<&Watched> {
        self.watched.as_ref()
    }

    /// How many rules there are; more than the grammar had, where left recursion was eliminated.
    pub fn n_rules(&self) -> usize {
        self.bodies.len()
    }

    /// A rule's name.
    pub fn name(&self, rule: RuleId) -> &str {
        &self.names[rule.index()]
    }

    /// Whether a rule matches the empty word.
    pub fn is_rule_nullable(&self, rule: RuleId) -> bool {
        self.rule_nullable[rule.index()]
    }

    /// The state at the beginning of a rule.
    pub fn body(&self, rule: RuleId) -> ExprId {
        self.bodies[rule.index()]
    }

    /// A number that is less than that of every rule that `rule` can begin with.
    pub fn rank(&self, rule: RuleId) -> u32 {
        self.ranks[rule.index()]
    }

    /// The moves of `state`, sorted, as a range for [`Network::move_at`].
    pub fn moves(&mut self, state: ExprId) -> std::ops::Range<usize> {
        if self.moves.ranges.len() < self.pool.len() {
            self.moves.ranges.resize(self.pool.len(), None);
        }
        let (start, end) = match self.moves.ranges[state.index()] {
            Some(range) => range,
            None => {
                let moves = self.linear_form(state);
                for step in &moves {
                    self.learn_absorbed(step.next);
                }
                let start = self.moves.all.len() as u32;
                self.moves.all.extend(moves);
                let range = (start, self.moves.all.len() as u32);
                self.moves.ranges[state.index()] = Some(range);
                range
            }
        };
        start as usize..end as usize
    }

    /// How many parts the choice has that `state` begins with; 0 if it begins with none.
    pub fn n_parts(&self, state: ExprId) -> usize {
        match self.pool.get(self.head_and_tail(state).0) {
            Expr::Alt(parts) => parts.len(),
            _ => 0,
        }
    }

    /// States that together read what `state` reads, where it begins with a choice among choices; else none.
    /// After each of many optional parts, such as the keys of an object, any later one may follow: all those
    /// states together have few branches, but many moves.
    pub fn branches(&mut self, state: ExprId) -> Vec<ExprId> {
        let (head, tail) = self.head_and_tail(state);
        let Expr::Alt(parts) = self.pool.get(head) else { return Vec::new() };
        let is_choice = |part: &&ExprId| matches!(self.pool.get(**part), Expr::Alt(_));
        let mut branches: Vec<ExprId> = parts.iter().filter(is_choice).copied().collect();
        if branches.is_empty() {
            return branches;
        }
        let others: Vec<ExprId> = parts.iter().filter(|part| !is_choice(part)).copied().collect();
        branches.push(self.pool.alt(&others));
        branches.retain(|&branch| branch != ExprPool::NEVER);
        branches.iter_mut().for_each(|branch| *branch = self.pool.seq2(*branch, tail));
        branches
    }

    /// One move of a range that [`Network::moves`] gave.
    #[inline]
    pub fn move_at(&self, index: usize) -> Move {
        self.moves.all[index]
    }

    /// Where `state` begins with a list in any order of which more must come, one of its next members, after
    /// a separator if there is one before it, and the state after it: the first required item that is
    /// missing, if one is.
    pub fn next_member(&mut self, state: ExprId) -> Option<(ExprId, ExprId)> {
        let (head, tail) = self.head_and_tail(state);
        let Expr::Shuffle(place) = self.pool.get(head).clone() else { return None };
        let list = self.pool.shared_list(&place);
        let separator = match place.phase {
            ShufflePhase::AfterItem => list.separator,
            ShufflePhase::Start | ShufflePhase::AfterSeparator => ExprPool::EPSILON,
        };
        let offer = list.first_offer(&place)?;
        let rest = self.pool.shuffle_after(&place, &list, offer);
        Some((self.pool.seq2(separator, offer.member), self.pool.seq2(rest, tail)))
    }

    /// Where `state` begins with a list in any order that may end there, what comes behind the list.
    pub fn behind_list(&self, state: ExprId) -> Option<ExprId> {
        let (list, place) = self.list_at(state)?;
        let may_end = place.phase != ShufflePhase::AfterSeparator && list.may_end(place);
        may_end.then(|| self.head_and_tail(state).1)
    }

    /// The first part of a state, and what comes after it.
    fn head_and_tail(&self, state: ExprId) -> (ExprId, ExprId) {
        match *self.pool.get(state) {
            Expr::Seq(head, tail) => (head, tail),
            _ => (state, ExprPool::EPSILON),
        }
    }

    /// Of the states that were made, some that read all that `state` reads: where it begins with a list in
    /// any order, those as if an item had not been there that need not be there.
    pub fn wider_states(&self, state: ExprId) -> Vec<ExprId> {
        let (head, tail) = self.head_and_tail(state);
        let Expr::Shuffle(place) = self.pool.get(head) else { return Vec::new() };
        let wider = self.pool.shuffle_list(place).wider_places(place);
        wider.into_iter().filter_map(|place| self.pool.known_place(place, tail)).collect()
    }

    /// Whether there are lists in any order.
    pub fn has_lists(&self) -> bool {
        self.pool.has_lists()
    }

    /// At the beginning of `state`, the list in any order and the place in it.
    pub fn list_at(&self, state: ExprId) -> Option<(&ShuffleList, &Shuffle)> {
        let (head, _) = self.head_and_tail(state);
        let Expr::Shuffle(place) = self.pool.get(head) else { return None };
        Some((self.pool.shuffle_list(place), place))
    }

    /// Whether `state` may end here.
    pub fn is_nullable(&mut self, state: ExprId) -> bool {
        if self.nullable.len() < self.pool.len() {
            self.nullable.resize(self.pool.len(), None);
        }
        if let Some(known) = self.nullable[state.index()] {
            return known;
        }
        // Mostly states of `linear_form` come here, which are a new part before known ones.
        let mut rest = state;
        while self.nullable[rest.index()].is_none()
            && let &Expr::Seq(head, tail) = self.pool.get(rest)
        {
            if !self.is_part_nullable(head) {
                self.nullable[state.index()] = Some(false);
                return false;
            }
            rest = tail;
        }
        let is_nullable = self.is_part_nullable(rest);
        self.nullable[state.index()] = Some(is_nullable);
        is_nullable
    }

    /// The same of a part that is no sequence.
    fn is_part_nullable(&mut self, part: ExprId) -> bool {
        if let Some(known) = self.nullable[part.index()] {
            return known;
        }
        // All places of a list have the same parts, which are known and may be many.
        let is_place = matches!(self.pool.get(part), Expr::Shuffle(_));
        let unknown = if is_place { vec![part] } else { self.pool.post_order(part, &mut Seen::new()) };
        for id in unknown {
            if self.nullable[id.index()].is_none() {
                self.nullable[id.index()] = Some(self.nullable_from_children(id));
            }
        }
        self.nullable[part.index()].unwrap_or(false)
    }

    /// Computes nullability bottom-up for all rules' expressions, so that later questions are shallow.
    fn learn_nullable(&mut self, fuel: &Fuel) -> Result<(), GrammarError> {
        self.nullable.resize(self.pool.len(), None);
        let mut seen = Seen::new();
        for body in self.bodies.clone() {
            for id in self.pool.post_order(body, &mut seen) {
                fuel.spend(1)?;
                self.nullable[id.index()] = Some(self.nullable_from_children(id));
            }
        }
        Ok(())
    }

    fn nullable_from_children(&self, id: ExprId) -> bool {
        let known = |id: ExprId| self.nullable[id.index()].unwrap_or(false);
        match self.pool.get(id) {
            Expr::Never => false,
            Expr::Epsilon => true,
            Expr::Terminal(terminal) => self.terminal_nullable[terminal.index()],
            Expr::Rule(rule) => self.rule_nullable[rule.index()],
            Expr::Seq(head, tail) => known(*head) && known(*tail),
            Expr::Alt(parts) => parts.iter().any(|&part| known(part)),
            Expr::Repeat { inner, min, .. } => *min == 0 || known(*inner),
            Expr::Shuffle(place) => self.pool.shuffle_list(place).is_nullable(place, known),
        }
    }

    /// The moves of an expression. Iterative; takes time linear in the alternatives met.
    pub(crate) fn linear_form(&mut self, state: ExprId) -> Vec<Move> {
        let mut moves = Vec::new();
        let mut skipped = FxHashSet::default();
        // (part, what follows it)
        let mut work = vec![(state, ExprPool::EPSILON)];
        while let Some((part, follow)) = work.pop() {
            match self.pool.get(part).clone() {
                Expr::Never | Expr::Epsilon => {}
                Expr::Terminal(terminal) => {
                    moves.push(Move { symbol: Symbol::Terminal(terminal), next: follow })
                }
                Expr::Rule(rule) => moves.push(Move { symbol: Symbol::Rule(rule), next: follow }),
                Expr::Seq(head, tail) => {
                    if self.is_nullable(head) {
                        work.push((tail, follow));
                    }
                    let follow = self.pool.seq2(tail, follow);
                    work.push((head, follow));
                }
                Expr::Alt(parts) => work.extend(parts.iter().map(|&part| (part, follow))),
                Expr::Repeat { inner, min, max } => {
                    let rest = self.pool.repeat(inner, min.saturating_sub(1), max.map(|max| max - 1));
                    let follow = self.pool.seq2(rest, follow);
                    work.push((inner, follow));
                }
                Expr::Shuffle(place) => {
                    // What may be the empty word leads back to the same place once counts are saturated.
                    if !skipped.insert((part, follow)) {
                        continue;
                    }
                    for (first, rest) in self.shuffle_steps(&place) {
                        if self.is_nullable(first) {
                            work.push((rest, follow));
                        }
                        let follow = self.pool.seq2(rest, follow);
                        work.push((first, follow));
                    }
                }
            }
        }
        moves.sort_unstable();
        moves.dedup();
        moves
    }

    /// What may be read first at a place of a list in any order, each with the place after it.
    fn shuffle_steps(&mut self, place: &Shuffle) -> Vec<(ExprId, ExprId)> {
        let list = self.pool.shared_list(place);
        match place.phase {
            ShufflePhase::AfterItem => {
                if list.left(place).has_ended(&list) {
                    return Vec::new();
                }
                vec![(list.separator, self.pool.shuffle_place(place.after_separator()))]
            }
            ShufflePhase::Start | ShufflePhase::AfterSeparator => {
                let step = |offer: Offer| (offer.member, self.pool.shuffle_after(place, &list, offer));
                list.offers(place).into_iter().map(step).collect()
            }
        }
    }

    /// The rules that `rule` can begin with.
    pub(crate) fn left_callees(
        &mut self,
        rule: RuleId,
        seen: &mut Seen,
        fuel: &Fuel,
    ) -> Result<Vec<RuleId>, GrammarError> {
        seen.clear();
        let mut callees = Vec::new();
        let mut work = vec![self.bodies[rule.index()]];
        while let Some(part) = work.pop() {
            if !seen.insert(part.index()) {
                continue;
            }
            fuel.spend(1)?;
            match self.pool.get(part) {
                Expr::Never | Expr::Epsilon | Expr::Terminal(_) => {}
                Expr::Rule(callee) => callees.push(*callee),
                &Expr::Seq(head, tail) => {
                    work.push(head);
                    if self.is_nullable(head) {
                        work.push(tail);
                    }
                }
                Expr::Alt(parts) => work.extend(parts.iter().copied()),
                &Expr::Repeat { inner, .. } => work.push(inner),
                Expr::Shuffle(place) => {
                    let place = place.clone();
                    for (first, rest) in self.shuffle_steps(&place) {
                        work.push(first);
                        if self.is_nullable(first) {
                            work.push(rest);
                        }
                    }
                }
            }
        }
        callees.sort_unstable();
        callees.dedup();
        Ok(callees)
    }
}

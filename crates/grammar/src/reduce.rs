//! Unproductive parts leave the grammar.
//!
//! A mask may set a bit only where a completion exists. The engine relies on it that *every expression that
//! it can reach has a word*: then a live stack is a viable one. This pass removes what has none: rules and
//! choices without a word, terminals whose language is empty (with intersection and complement that is found
//! by search, so the caller tells), and it computes which rules match the empty word.

use maskwright_automata::{Fuel, Regex};

use crate::builder::Rule;
use crate::{Expr, ExprId, ExprPool, Grammar, GrammarError, RuleId, Seen, TerminalId, Watched};

/// What [`reduce`] must know of a terminal's language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TerminalFacts {
    /// The empty word is in it.
    pub is_nullable: bool,
    /// Some non-empty word is in it.
    pub has_proper_words: bool,
}

/// A grammar in which every expression reachable from the start has a word. Made by [`reduce`].
#[derive(Clone, Debug)]
pub struct ReducedGrammar {
    pub(crate) pool: ExprPool,
    pub(crate) terminals: Vec<Regex>,
    pub(crate) terminal_nullable: Vec<bool>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) rule_nullable: Vec<bool>,
    pub(crate) start: RuleId,
    pub(crate) watched: Option<Watched>,
}

impl ReducedGrammar {
    /// The terminals' languages, by terminal id (the ids of the grammar that was reduced).
    pub fn terminals(&self) -> &[Regex] {
        &self.terminals
    }

    /// Whether `rule` matches the empty word.
    pub fn is_nullable(&self, rule: RuleId) -> bool {
        self.rule_nullable[rule.index()]
    }
}

/// Removes what has no word. Takes time linear in the grammar for each round of the fixpoint; rounds are few
/// unless rules depend on each other in cycles.
///
/// # Errors
/// If the start rule has no word, or `fuel` runs out.
pub fn reduce(
    grammar: Grammar,
    facts: impl Fn(TerminalId) -> TerminalFacts,
    fuel: &Fuel,
) -> Result<ReducedGrammar, GrammarError> {
    let Grammar { mut pool, terminals, rules, start, watched } = grammar;
    let Reachable { exprs, order } = reachable(&pool, &rules, start, fuel)?;
    let facts: Vec<TerminalFacts> = (0..terminals.len()).map(|i| facts(TerminalId::from_index(i))).collect();
    let productive = fixpoint(&pool, &rules, &exprs, &order, fuel, |pool, expr, exprs, rules| match expr {
        Expr::Never => false,
        Expr::Epsilon => true,
        Expr::Terminal(t) => facts[t.index()].is_nullable || facts[t.index()].has_proper_words,
        Expr::Rule(rule) => rules[rule.index()],
        Expr::Seq(head, tail) => exprs[head.index()] && exprs[tail.index()],
        Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
        Expr::Repeat { inner, min, .. } => *min == 0 || exprs[inner.index()],
        Expr::Shuffle(place) => pool.shuffle_list(place).is_productive(|part| exprs[part.index()]),
    })?;
    if !productive.rules[start.index()] {
        return Err(GrammarError::unproductive(rules[start.index()].name.clone()));
    }
    let found = Reachable { exprs, order };
    let nullable = nullable(&pool, &rules, &found, fuel, |terminal| facts[terminal.index()].is_nullable)?;
    let exprs = found.exprs;
    // Rebuild without the unproductive; children come before their parents in `exprs`.
    let mut kept = vec![ExprPool::NEVER; pool.len()];
    kept[ExprPool::EPSILON.index()] = ExprPool::EPSILON;
    for &id in &exprs {
        fuel.spend(1)?;
        if !productive.exprs[id.index()] {
            continue;
        }
        kept[id.index()] = match pool.get(id).clone() {
            Expr::Never => ExprPool::NEVER,
            Expr::Epsilon => ExprPool::EPSILON,
            Expr::Terminal(t) if !facts[t.index()].has_proper_words => ExprPool::EPSILON,
            Expr::Terminal(_) | Expr::Rule(_) => id,
            Expr::Seq(head, tail) => pool.seq2(kept[head.index()], kept[tail.index()]),
            Expr::Alt(parts) => {
                let parts: Vec<ExprId> = parts.iter().map(|part| kept[part.index()]).collect();
                pool.alt(&parts)
            }
            Expr::Repeat { inner, min, max } => pool.repeat(kept[inner.index()], min, max),
            Expr::Shuffle(place) => {
                let list = pool.shuffle_list(&place).map(|part| kept[part.index()]);
                pool.shuffle_at(list, &place)
            }
        };
    }
    let rules = rules
        .into_iter()
        .map(|rule| Rule { body: kept.get(rule.body.index()).copied().unwrap_or(ExprPool::NEVER), ..rule })
        .collect();
    let terminal_nullable = facts.iter().map(|fact| fact.is_nullable).collect();
    let rule_nullable = nullable.rules;
    Ok(ReducedGrammar { pool, terminals, terminal_nullable, rules, rule_nullable, start, watched })
}

/// What can be reached from the start.
pub(crate) struct Reachable {
    /// The expressions, each after those below it.
    pub(crate) exprs: Vec<ExprId>,
    /// The rules, callees first where recursion allows, each with the part of `exprs` that no rule met
    /// before it has.
    pub(crate) order: Vec<(RuleId, std::ops::Range<usize>)>,
}

pub(crate) fn reachable(
    pool: &ExprPool,
    rules: &[Rule],
    start: RuleId,
    fuel: &Fuel,
) -> Result<Reachable, GrammarError> {
    let mut seen_rules = Seen::new();
    let mut seen = Seen::new();
    let mut found = Reachable { exprs: Vec::new(), order: Vec::new() };
    let mut stack = vec![(start, None)];
    while let Some((rule, range)) = stack.pop() {
        if let Some(range) = range {
            found.order.push((rule, range));
        } else if seen_rules.insert(rule.index()) {
            let first = found.exprs.len();
            found.exprs.extend(pool.post_order(rules[rule.index()].body, &mut seen));
            let range = first..found.exprs.len();
            fuel.spend(range.len() as u64 + 1)?;
            stack.push((rule, Some(range.clone())));
            for &id in &found.exprs[range] {
                if let &Expr::Rule(callee) = pool.get(id) {
                    stack.push((callee, None));
                }
            }
        }
    }
    Ok(found)
}

/// A property of expressions and rules.
pub(crate) struct Property {
    pub(crate) exprs: Vec<bool>,
    pub(crate) rules: Vec<bool>,
}

/// The least property that `of` describes from an expression's children and the rules.
/// What matches the empty word, where these terminals do.
pub(crate) fn nullable(
    pool: &ExprPool,
    rules: &[Rule],
    Reachable { exprs, order }: &Reachable,
    fuel: &Fuel,
    is_nullable: impl Fn(TerminalId) -> bool,
) -> Result<Property, GrammarError> {
    fixpoint(pool, rules, exprs, order, fuel, |pool, expr, exprs, rules| match expr {
        Expr::Never => false,
        Expr::Epsilon => true,
        Expr::Terminal(terminal) => is_nullable(*terminal),
        Expr::Rule(rule) => rules[rule.index()],
        Expr::Seq(head, tail) => exprs[head.index()] && exprs[tail.index()],
        Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
        Expr::Repeat { inner, min, .. } => *min == 0 || exprs[inner.index()],
        Expr::Shuffle(place) => pool.shuffle_list(place).is_nullable(place, |part| exprs[part.index()]),
    })
}

pub(crate) fn fixpoint(
    pool: &ExprPool,
    rules: &[Rule],
    exprs: &[ExprId],
    order: &[(RuleId, std::ops::Range<usize>)],
    fuel: &Fuel,
    of: impl Fn(&ExprPool, &Expr, &[bool], &[bool]) -> bool,
) -> Result<Property, GrammarError> {
    let mut property = Property { exprs: vec![false; pool.len()], rules: vec![false; rules.len()] };
    loop {
        let mut has_changed = false;
        for (rule, range) in order {
            fuel.spend(range.len() as u64 + 1)?;
            for &id in &exprs[range.clone()] {
                if !property.exprs[id.index()] && of(pool, pool.get(id), &property.exprs, &property.rules) {
                    property.exprs[id.index()] = true;
                    has_changed = true;
                }
            }
            let body = rules[rule.index()].body;
            if property.exprs[body.index()] && !property.rules[rule.index()] {
                property.rules[rule.index()] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(property);
        }
    }
}

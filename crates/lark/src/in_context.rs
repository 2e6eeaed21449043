//! Rules over terminals that look around themselves, as rules over plain terminals.
//!
//! Whether such a terminal has a word may depend on the text around it ([`Surroundings`]). So there is one
//! copy of each rule for each context in which it can begin and each set of contexts in which it may end. Its
//! terminals keep the words between them (Bar-Hillel, Perles and Shamir 1961). The ends are sets because a
//! text may end in any context that allows it, and because ends with the same continuations need not be told
//! apart.
//!
//! In a context that has no conditions and that no text leaves, rules without such terminals are copied
//! unchanged. So a JSON Schema between `<call>` and `</call>` is made once, and shares its rows with other
//! grammars.

use std::collections::BTreeSet;
use std::rc::Rc;

use maskwright_automata::{Fuel, FuelError};
use maskwright_grammar::{Embedded, Expr, ExprId, Grammar, GrammarBuilder, RuleId, Seen};
use maskwright_lexing::{Context, LexError, Surroundings, Words};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Fault;
use crate::source::{BY_EXPRESSION, Span, TOP};

/// The most items and levels of a rule, each of which is a call within another.
const MAX_DEPTH: u32 = 500;

/// Why the rules could not be made.
pub(crate) enum Unmade {
    Lex(LexError),
    /// A limit of this pass, or of automata: what there is too much of.
    Limit(String),
}

/// What to do where a terminal looks around itself in too many ways.
pub(crate) const OTHER_LEXERS: &str =
    "leave the assertion out, or use the lexer \"contextual\" or \"basic\", which know where each token ends";

/// A terminal whose words depend on the text around them.
#[derive(Clone, Copy)]
pub(crate) struct Looking<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    /// Whether the reason is that it is ignored, and must end where its pattern's match ends.
    pub(crate) is_ignored: bool,
}

impl Unmade {
    /// The error, located at the `first` terminal that looks around itself, if there is one.
    pub(crate) fn located(self, first: Option<Looking<'_>>) -> Fault {
        let (message, is_cancelled, is_limit) = match self {
            Unmade::Lex(error) => (error.to_string(), error.is_cancelled(), error.is_limit()),
            Unmade::Limit(message) => (message, false, true),
        };
        let Some(Looking { name, span, is_ignored }) = first else {
            return Fault::caused(TOP, message, is_cancelled, is_limit);
        };
        let (what, hint) = if is_ignored {
            let hint =
                "use the lexer \"contextual\" or \"basic\", or a pattern of which no word begins another one";
            ("is ignored as far as it matches, which the text after it decides", hint)
        } else {
            ("looks at the text around it", OTHER_LEXERS)
        };
        let message = format!(
            "`{name}` {what}, and the lexer \"dynamic_complete\" cannot keep track of that: {message}"
        );
        Fault::caused(span, message, is_cancelled, is_limit).with_hint(hint)
    }
}

impl From<LexError> for Unmade {
    fn from(error: LexError) -> Unmade {
        Unmade::Lex(error)
    }
}

impl From<FuelError> for Unmade {
    fn from(error: FuelError) -> Unmade {
        Unmade::Lex(error.into())
    }
}

/// The texts of `grammar`, whose terminals are names of `languages`, by id.
pub(crate) fn in_context(
    grammar: &Grammar,
    languages: &[Words],
    surroundings: Surroundings,
    fuel: &Fuel,
) -> Result<Grammar, Unmade> {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare(grammar.name(grammar.start()));
    let plain = builder.embed_all(grammar, fuel, |builder, terminal| match &languages[terminal.index()] {
        Words::Plain(words) => builder.terminal(words.clone()),
        Words::Looking(_) => builder.never(),
    })?;
    let mut product = Product {
        grammar,
        languages,
        surroundings,
        fuel,
        looks: looks(grammar, languages),
        plain,
        ends: FxHashMap::default(),
        has_grown: false,
        builder,
        rules: FxHashMap::default(),
        work: Vec::new(),
        depth: 0,
    };
    let body = grammar.body(grammar.start());
    let from = product.surroundings.start();
    let ends = product.all_ends(body, from)?;
    let to: Vec<Context> = ends.into_iter().filter(|&end| product.surroundings.may_end(end)).collect();
    let body = product.text(body, from, &to.into())?;
    product.builder.define(start, body);
    while let Some((rule, made)) = product.work.pop() {
        let body = product.made(&made)?;
        product.builder.define(rule, body);
    }
    Ok(product.builder.finish(start).expect("all rules that were declared are defined"))
}

/// By expression, whether a terminal that looks around itself may be read within it.
fn looks(grammar: &Grammar, languages: &[Words]) -> Vec<bool> {
    let pool = grammar.pool();
    let mut looks = vec![false; pool.len()];
    let mut seen = Seen::new();
    let order: Vec<ExprId> =
        grammar.rules().flat_map(|rule| pool.post_order(grammar.body(rule), &mut seen)).collect();
    loop {
        let mut has_grown = false;
        for &id in &order {
            let now = match pool.get(id) {
                Expr::Terminal(terminal) => matches!(languages[terminal.index()], Words::Looking(_)),
                &Expr::Rule(rule) => looks[grammar.body(rule).index()],
                _ => pool.children(id).into_iter().any(|child| looks[child.index()]),
            };
            has_grown |= now && !looks[id.index()];
            looks[id.index()] |= now;
        }
        if !has_grown {
            return looks;
        }
    }
}

/// Contexts, sorted.
type Contexts = Rc<[Context]>;

/// A rule of the new grammar: texts that begin in the first context and end in one of the last ones.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Made {
    what: What,
    from: Context,
    to: Contexts,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum What {
    /// Texts of a rule.
    Rule(RuleId),
    /// At least and at most so many copies.
    Copies(ExprId, u32, Option<u32>),
}

struct Product<'a> {
    grammar: &'a Grammar,
    languages: &'a [Words],
    surroundings: Surroundings,
    fuel: &'a Fuel,
    looks: Vec<bool>,
    /// The grammar without terminals that look around themselves.
    plain: Embedded,
    /// The contexts in which texts of an expression may end, by that in which they begin; maybe some more.
    ends: FxHashMap<(ExprId, Context), BTreeSet<Context>>,
    has_grown: bool,
    builder: GrammarBuilder,
    rules: FxHashMap<Made, RuleId>,
    work: Vec<(RuleId, Made)>,
    depth: u32,
}

impl Product<'_> {
    /// The contexts in which texts of `expr` end, to the least fixed point.
    fn all_ends(&mut self, expr: ExprId, from: Context) -> Result<Vec<Context>, Unmade> {
        let mut asked = vec![(expr, from)];
        loop {
            self.has_grown = false;
            let mut seen: FxHashSet<(ExprId, Context)> = FxHashSet::default();
            let mut next = 0;
            while let Some(&(expr, from)) = asked.get(next) {
                self.find_ends(expr, from, &mut seen, &mut asked)?;
                next += 1;
            }
            if !self.has_grown {
                return Ok(self.known_ends(expr, from));
            }
            asked.truncate(1);
        }
    }

    fn known_ends(&self, expr: ExprId, from: Context) -> Vec<Context> {
        self.ends.get(&(expr, from)).map_or_else(Vec::new, |ends| ends.iter().copied().collect())
    }

    /// One round: what is known now of the contexts in which texts of `expr` end. Bodies of rules are put on
    /// `asked`.
    fn find_ends(
        &mut self,
        expr: ExprId,
        from: Context,
        seen: &mut FxHashSet<(ExprId, Context)>,
        asked: &mut Vec<(ExprId, Context)>,
    ) -> Result<Vec<Context>, Unmade> {
        if !seen.insert((expr, from)) {
            return Ok(self.known_ends(expr, from));
        }
        self.fuel.spend(1)?;
        self.enter()?;
        let mut found: BTreeSet<Context> = BTreeSet::new();
        match self.grammar.pool().get(expr) {
            _ if self.is_plain(expr, from) => found.extend([from]),
            Expr::Never => {}
            Expr::Epsilon => found.extend([from]),
            &Expr::Terminal(terminal) => {
                let words = &self.languages[terminal.index()];
                found.extend(self.surroundings.ends(from, words, self.fuel)?);
            }
            &Expr::Rule(rule) => {
                let body = self.grammar.body(rule);
                asked.push((body, from));
                found.extend(self.known_ends(body, from));
            }
            &Expr::Seq(head, tail) => {
                for middle in self.find_ends(head, from, seen, asked)? {
                    found.extend(self.find_ends(tail, middle, seen, asked)?);
                }
            }
            Expr::Alt(parts) => {
                for &part in parts {
                    found.extend(self.find_ends(part, from, seen, asked)?);
                }
            }
            &Expr::Repeat { inner, .. } => {
                found.insert(from);
                let mut work = vec![from];
                while let Some(from) = work.pop() {
                    for end in self.find_ends(inner, from, seen, asked)? {
                        work.extend(found.insert(end).then_some(end));
                    }
                }
            }
            Expr::Shuffle(_) => return Err(in_any_order()),
        }
        self.depth -= 1;
        let known = self.ends.entry((expr, from)).or_default();
        let n_known = known.len();
        known.extend(found);
        self.has_grown |= known.len() > n_known;
        Ok(known.iter().copied().collect())
    }

    fn enter(&mut self) -> Result<(), Unmade> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unmade::Limit(format!("a rule with more than {MAX_DEPTH} items or levels")));
        }
        Ok(())
    }

    /// Whether texts of `expr` that begin in `from` are the plain ones, and all end in it.
    fn is_plain(&self, expr: ExprId, from: Context) -> bool {
        !self.looks[expr.index()] && self.surroundings.is_calm(from)
    }

    /// The texts of `expr` that begin in `from` and end in one of `to`.
    fn text(&mut self, expr: ExprId, from: Context, to: &Contexts) -> Result<ExprId, Unmade> {
        self.fuel.spend(1)?;
        let to: Contexts = self.known_ends(expr, from).into_iter().filter(|end| to.contains(end)).collect();
        if to.is_empty() {
            return Ok(self.builder.never());
        }
        if self.is_plain(expr, from) {
            return Ok(self.plain.exprs[expr.index()]);
        }
        self.fuel.hold(BY_EXPRESSION);
        self.enter()?;
        let made = match self.grammar.pool().get(expr).clone() {
            Expr::Never => self.builder.never(),
            Expr::Epsilon => self.builder.epsilon(),
            Expr::Terminal(terminal) => {
                let words = &self.languages[terminal.index()];
                let words = self.surroundings.between(from, &to, words, self.fuel)?;
                self.builder.terminal(words)
            }
            Expr::Rule(rule) => self.rule(What::Rule(rule), from, &to),
            Expr::Seq(head, tail) => {
                let middles = self.known_ends(head, from);
                self.then(head, from, &middles, |product, middle| product.text(tail, middle, &to))?
            }
            Expr::Alt(parts) => {
                let mut texts = Vec::with_capacity(parts.len());
                for &part in &parts {
                    texts.push(self.text(part, from, &to)?);
                }
                self.builder.alt(&texts)
            }
            Expr::Repeat { inner, min, max } if self.known_ends(inner, from) == [from] => {
                let copy = self.text(inner, from, &[from].into())?;
                self.builder.repeat(copy, min, max)
            }
            Expr::Repeat { inner, min, max } => self.rule(What::Copies(inner, min, max), from, &to),
            Expr::Shuffle(_) => return Err(in_any_order()),
        };
        self.depth -= 1;
        Ok(made)
    }

    /// Texts of `head` that end in one of `middles`, followed by what `rest` gives for it. Middles with equal
    /// rests are merged.
    fn then(
        &mut self,
        head: ExprId,
        from: Context,
        middles: &[Context],
        mut rest: impl FnMut(&mut Self, Context) -> Result<ExprId, Unmade>,
    ) -> Result<ExprId, Unmade> {
        let mut rests: Vec<(ExprId, Vec<Context>)> = Vec::new();
        for &middle in middles {
            let its = rest(self, middle)?;
            match rests.iter_mut().find(|(rest, _)| *rest == its) {
                Some((_, middles)) => middles.push(middle),
                None => rests.push((its, vec![middle])),
            }
        }
        let mut texts = Vec::with_capacity(rests.len());
        for (rest, middles) in rests {
            if rest != self.builder.never() {
                let head = self.text(head, from, &middles.into())?;
                texts.push(self.builder.seq(&[head, rest]));
            }
        }
        Ok(self.builder.alt(&texts))
    }

    /// The rule, to be defined if it is new.
    fn rule(&mut self, what: What, from: Context, to: &Contexts) -> ExprId {
        let made = Made { what, from, to: to.clone() };
        let rule = match self.rules.get(&made) {
            Some(&known) => known,
            None => {
                let name = match made.what {
                    What::Rule(rule) => self.grammar.name(rule).to_owned(),
                    What::Copies(..) => "several copies".to_owned(),
                };
                let new = self.builder.declare(name);
                self.rules.insert(made.clone(), new);
                self.work.push((new, made));
                new
            }
        };
        self.builder.rule(rule)
    }

    /// The right-hand side of a rule.
    fn made(&mut self, made: &Made) -> Result<ExprId, Unmade> {
        let Made { what, from, to } = made;
        match *what {
            What::Rule(rule) => self.text(self.grammar.body(rule), *from, to),
            What::Copies(inner, min, max) => {
                let fewer = (min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
                let mut choices = Vec::new();
                if min == 0 && to.contains(from) {
                    choices.push(self.builder.epsilon());
                }
                if max != Some(0) {
                    let middles = self.known_ends(inner, *from);
                    choices.push(self.then(inner, *from, &middles, |product, middle| {
                        Ok(product.rule(What::Copies(inner, fewer.0, fewer.1), middle, to))
                    })?);
                }
                Ok(self.builder.alt(&choices))
            }
        }
    }
}

fn in_any_order() -> Unmade {
    Unmade::Limit("a JSON object with properties in any order stands next to it".to_owned())
}

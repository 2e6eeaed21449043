//! Unbounded repetition around assertions: fixed points in closed form.
//!
//! X = rest ∪ body(X) has two exact solutions here. If the body only looks at neighbouring characters, it is
//! a finite matrix of languages between *boundaries* (what stands left and what stands right of a place), and
//! Kleene's algorithm stars the matrix. If the body is a look-ahead and one character, `(?:(?!y)c)*` (the
//! "tempered dot"), the forbidden places can be told from the text alone in three cases, see
//! [`Lowering::tempered`]. Anything else is refused: with look-ahead inside a star, the language is regular
//! but its expression needs an alternating automaton, which the algebra does not have.

use std::ops::Range;

use maskwright_automata::{Node, Regex};

use super::lower::{Lowering, Rest, follow, union};
use super::neighbour::{EDGE, Mask, first_bytes, nonempty};
use super::pattern::Pattern;
use crate::error::Fault;

impl Lowering<'_> {
    /// Any number of `inner`, then `rest`. The repetition is written at `span`.
    pub(crate) fn star(&self, inner: &Pattern, rest: &Rest, span: &Range<usize>) -> Result<Rest, Fault> {
        if !inner.has_ahead() {
            return self.star_beside(inner, rest, span);
        }
        self.tempered(inner, rest)?.ok_or_else(|| {
            Fault::unsupported(
                span.clone(),
                "look-ahead inside an unbounded repetition is not supported here: it is where the repeated \
                 part is one character after its look-ahead, and what follows is the end of the text or \
                 begins differently",
            )
        })
    }

    /// The star of a body that only looks at neighbours.
    fn star_beside(&self, inner: &Pattern, rest: &Rest, span: &Range<usize>) -> Result<Rest, Fault> {
        let n = self.neighbours.len();
        if !self.contexts.look_back() && n > MAX_NEIGHBOURS {
            let message = format!(
                "the pattern tells {} kinds of characters apart, more than the limit of {} around an unbounded \
                 repetition with an assertion inside",
                n - 1,
                MAX_NEIGHBOURS - 1
            );
            return Err(Fault::limit(span.clone(), message));
        }
        let Some(rights) = self.contexts.right_classes(inner, &self.neighbours) else {
            let message = "look-behind that looks ahead inside is not supported in an unbounded repetition";
            return Err(Fault::unsupported(span.clone(), message));
        };
        if rights.len() * self.contexts.len() > MAX_BOUNDARIES {
            let message = format!(
                "the look-behinds tell {} texts before a place apart, and {} characters after it, together more than the \
                 limit of {MAX_BOUNDARIES} around an unbounded repetition with an assertion inside",
                self.contexts.len(),
                rights.len()
            );
            return Err(Fault::limit(span.clone(), message));
        }
        let body = self.matrix(inner, &rights, span)?;
        let star = self.plus(body)?;
        let mut lowered = rest.clone();
        for (left, lowered) in lowered.iter_mut().enumerate() {
            let mut parts = vec![lowered.clone()];
            for (after, following) in rest.iter().enumerate() {
                // By the words of the star from here to a place with `after` on its left, and the right
                // neighbours that these words need there.
                let mut groups: Vec<(Regex, Mask)> = Vec::new();
                for (right, &mask) in rights.iter().enumerate() {
                    let firsts = 0..rights.len();
                    let words =
                        Regex::union(firsts.map(|first| star.get((left, first), (after, right)).clone()));
                    match groups.iter_mut().find(|(known, _)| *known == words) {
                        Some((_, rights)) => *rights |= mask,
                        None => groups.push((words, mask)),
                    }
                }
                for (words, rights) in groups {
                    if *words.node() != Node::Empty {
                        parts.push(follow(&words, &self.neighbours.starting(following, rights)));
                    }
                }
            }
            *lowered = Regex::union(parts);
        }
        self.check_size(&lowered)?;
        Ok(lowered)
    }

    /// The words that `pattern` matches between two boundaries.
    fn matrix(&self, pattern: &Pattern, rights: &[Mask], span: &Range<usize>) -> Result<Matrix, Fault> {
        let n = (self.contexts.len(), rights.len());
        self.fuel.spend((n.0 * n.1) as u64).map_err(|error| Fault::fuel(span.clone(), error))?;
        let where_holds = |holds: &dyn Fn(usize) -> Mask| {
            // All neighbours of a class are equivalent.
            Matrix::diagonal(n, |(left, right)| {
                if holds(left) & rights[right] != 0 { Regex::epsilon() } else { Regex::empty() }
            })
        };
        let matrix = match pattern {
            Pattern::Char(regex, _) | Pattern::Plain(regex) => self.plain_matrix(regex, rights)?,
            Pattern::Beside(condition) => {
                where_holds(&|left| self.neighbours.rights(*condition, self.contexts.neighbour(left)))
            }
            Pattern::Behind { id, is_negative } => where_holds(&|left| {
                let mask = self.contexts.rights(*id, left).unwrap_or(0);
                if *is_negative { !mask } else { mask }
            }),
            Pattern::Concat(parts) => {
                let mut product = Matrix::one(n);
                for part in parts {
                    product = product.times(&self.matrix(part, rights, span)?);
                    self.check_size(&product.entries)?;
                }
                product
            }
            Pattern::Alternation(parts) => {
                let mut sum = Matrix::diagonal(n, |_| Regex::empty());
                for part in parts {
                    sum = sum.or(&self.matrix(part, rights, span)?);
                }
                sum
            }
            Pattern::Repeat { inner, min, max, span } => {
                let inner = self.matrix(inner, rights, span)?;
                let n_more = max.map_or(*min, |max| max);
                if n_more > MAX_NESTED_COPIES {
                    let message = format!(
                        "a repetition with an assertion inside, itself inside an unbounded one, is limited to \
                         {MAX_NESTED_COPIES} copies, here {n_more} are asked for"
                    );
                    return Err(Fault::limit(span.clone(), message));
                }
                let mut matrix = match max {
                    None => self.plus(inner.clone())?.or(&Matrix::one(n)),
                    Some(_) => Matrix::one(n),
                };
                for _ in *min..max.unwrap_or(*min) {
                    matrix = Matrix::one(n).or(&inner.times(&matrix));
                    self.check_size(&matrix.entries)?;
                }
                for _ in 0..*min {
                    matrix = inner.times(&matrix);
                    self.check_size(&matrix.entries)?;
                }
                matrix
            }
            Pattern::Ahead { .. } => {
                return Err(Fault::unsupported(span.clone(), "look-ahead is not supported here"));
            }
        };
        self.check_size(&matrix.entries)?;
        Ok(matrix)
    }

    /// A plain language between boundaries: a word needs its first character as the right neighbour of its
    /// start, and leads to the context at its end.
    fn plain_matrix(&self, regex: &Regex, rights: &[Mask]) -> Result<Matrix, Fault> {
        let n = (self.contexts.len(), rights.len());
        let words = nonempty(regex);
        let mut matrix =
            Matrix::diagonal(n, |_| if regex.is_nullable() { Regex::epsilon() } else { Regex::empty() });
        for (first, &mask) in rights.iter().enumerate() {
            let starting = self.neighbours.starting(&words, mask & !EDGE);
            if *starting.node() == Node::Empty {
                continue;
            }
            for last in 0..n.0 {
                if !self.contexts.look_back() {
                    if last > 0 {
                        let between = self.neighbours.ending(&starting, 1 << last);
                        matrix.add_everywhere(first, last, &between);
                    }
                    continue;
                }
                let only: Vec<bool> = (0..n.0).map(|context| context == last).collect();
                for left in 0..n.0 {
                    let between = self.leading(&starting, left, &only)?;
                    (0..n.1).for_each(|right| matrix.add((left, first), (last, right), between.clone()));
                }
            }
        }
        Ok(matrix)
    }

    /// One or more of `matrix`, by Kleene's algorithm.
    fn plus(&self, mut matrix: Matrix) -> Result<Matrix, Fault> {
        let all = matrix.boundaries();
        for &via in &all {
            let round = matrix.get(via, via).star();
            let mut next = matrix.clone();
            for &from in &all {
                self.check_size(&next.entries)?;
                if *matrix.get(from, via).node() == Node::Empty {
                    continue;
                }
                let there = Regex::concat([matrix.get(from, via).clone(), round.clone()]);
                for &to in &all {
                    next.add(from, to, Regex::concat([there.clone(), matrix.get(via, to).clone()]));
                }
            }
            matrix = next;
        }
        self.check_size(&matrix.entries)?;
        Ok(matrix)
    }

    /// The star of a body that is look-aheads and then one character of a set c. Let *bad* be the nonempty
    /// texts that fail a look-ahead at their start. The result is exact in these cases, `None` otherwise:
    ///
    /// 1. Anything may follow: then anything matches, with no copy at all.
    /// 2. What follows is empty or starts with no byte of c: then the copies are the whole run of c that the
    ///    text starts with, and a text is refused iff a bad text starts at a character of that run.
    /// 3. The one look-ahead is `(?!w)` for a word w, and w begins whatever follows: then the copies end
    ///    where w first occurs.
    fn tempered(&self, inner: &Pattern, rest: &Rest) -> Result<Option<Rest>, Fault> {
        let Pattern::Concat(parts) = inner else { return Ok(None) };
        let Some((Pattern::Char(char, _), aheads)) = parts.split_last() else { return Ok(None) };
        let any = Regex::any_text();
        let inside = &rest[rest.len() - 1];
        if rest[1..].iter().any(|other| other != inside) {
            return Ok(None);
        }
        if self.contexts.look_back() && rest[0] != *inside {
            return Ok(None);
        }
        let mut bad = Vec::new();
        for ahead in aheads {
            let Pattern::Ahead { inner, is_negative } = ahead else { return Ok(None) };
            let found = self.lower(inner, &vec![any.clone(); rest.len()])?;
            // At the first copy the left neighbour is another; that copy is lowered apart, below.
            let last = &found[found.len() - 1];
            if found[1..].iter().any(|other| other != last) {
                return Ok(None);
            }
            if self.contexts.look_back() && found[0] != *last {
                return Ok(None);
            }
            bad.push(if *is_negative { last.clone() } else { last.complement() });
        }
        let bad = Regex::union(bad);
        let texts = Regex::concat([char.star(), inside.clone()]);
        let solved = if *inside == any {
            any
        } else if !first_bytes(inside).intersects(&first_bytes(char)) {
            let in_run = Regex::intersection([bad, Regex::concat([char.clone(), any])]);
            texts.difference(&Regex::concat([char.star(), in_run]))
        } else if let [Pattern::Ahead { inner, is_negative: true }] = aheads
            && let Some(word) = inner.as_plain().and_then(Regex::as_literal)
            && let Some(after) = without_prefix(inside, &word)
        {
            let word = Regex::literal(word);
            let again = Regex::concat([any, word.clone(), Regex::any_char().plus()]);
            let first = Regex::concat([char.star(), word]).difference(&again);
            Regex::concat([first, after])
        } else {
            return Ok(None);
        };
        let inside = vec![solved; rest.len()];
        let at_edge = union(rest, &self.lower(inner, &inside)?);
        let mut lowered = inside;
        if !self.contexts.look_back() && (rest[0] != rest[1] || at_edge[0] != at_edge[1]) {
            lowered[0] = at_edge[0].clone();
        }
        Ok(Some(lowered))
    }
}

/// The most neighbours for which a matrix is starred: it has their fourth power of entries.
const MAX_NEIGHBOURS: usize = 5;

/// The most pairs of a context and a class of right neighbours for which a matrix is starred: its size is
/// their square.
const MAX_BOUNDARIES: usize = 40;

/// How often a bounded repetition inside a starred matrix is multiplied out.
const MAX_NESTED_COPIES: u32 = 64;

/// What is left of `regex` after `word`, if all its words visibly begin so.
fn without_prefix(regex: &Regex, word: &[u8]) -> Option<Regex> {
    if word.is_empty() {
        return None;
    }
    match regex.node() {
        Node::Concat(parts) => {
            let first = without_prefix(&parts[0], word)?;
            Some(Regex::concat([first].into_iter().chain(parts[1..].iter().cloned())))
        }
        _ => Some(Regex::literal(regex.as_literal()?.strip_prefix(word)?)),
    }
}

/// The left and the right side of a place: a context, and a class of neighbours.
type Boundary = (usize, usize);

/// A language for each pair of boundaries.
#[derive(Clone)]
struct Matrix {
    /// How many contexts and classes of right neighbours there are.
    n: (usize, usize),
    entries: Vec<Regex>,
}

impl Matrix {
    fn diagonal(n: (usize, usize), entry: impl Fn(Boundary) -> Regex) -> Matrix {
        let mut matrix = Matrix { n, entries: vec![Regex::empty(); (n.0 * n.1).pow(2)] };
        for at in matrix.boundaries() {
            matrix.add(at, at, entry(at));
        }
        matrix
    }

    fn one(n: (usize, usize)) -> Matrix {
        Matrix::diagonal(n, |_| Regex::epsilon())
    }

    fn boundaries(&self) -> Vec<Boundary> {
        (0..self.n.0 * self.n.1).map(|idx| (idx / self.n.1, idx % self.n.1)).collect()
    }

    fn index(&self, from: Boundary, to: Boundary) -> usize {
        ((from.0 * self.n.1 + from.1) * self.n.0 + to.0) * self.n.1 + to.1
    }

    fn get(&self, from: Boundary, to: Boundary) -> &Regex {
        &self.entries[self.index(from, to)]
    }

    fn add(&mut self, from: Boundary, to: Boundary, words: Regex) {
        let idx = self.index(from, to);
        if *words.node() != Node::Empty {
            self.entries[idx] = Regex::union([self.entries[idx].clone(), words]);
        }
    }

    /// Adds `words`, which begin with a neighbour of `first` and end in the context `last`, for every context
    /// before them and every neighbour after them.
    fn add_everywhere(&mut self, first: usize, last: usize, words: &Regex) {
        for (left, right) in self.boundaries() {
            self.add((left, first), (last, right), words.clone());
        }
    }

    fn or(&self, other: &Matrix) -> Matrix {
        let both = self.entries.iter().zip(&other.entries);
        Matrix { n: self.n, entries: both.map(|(a, b)| Regex::union([a.clone(), b.clone()])).collect() }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::diagonal(self.n, |_| Regex::empty());
        let all = self.boundaries();
        for &from in &all {
            for &via in &all {
                let first = self.get(from, via);
                if *first.node() == Node::Empty {
                    continue;
                }
                for &to in &all {
                    product.add(from, to, Regex::concat([first.clone(), other.get(via, to).clone()]));
                }
            }
        }
        product
    }
}

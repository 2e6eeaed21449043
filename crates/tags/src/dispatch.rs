//! Free text and the tags that triggers in it begin: `triggered_tags`, `dispatch`, and the same over tokens.
//!
//! A trigger may be spelled with special tokens. Free text contains none, so it ends at the first of them.
//! The text before that token contains no trigger and no excluded string ([`Spelled`]).

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use maskwright_automata::{ByteSet, Regex};
use maskwright_grammar::{ExprId, Item, TokenSet};

use crate::TagError;
use crate::format::{Begin, Dispatch, Format, How, Tag, Token, TokenDispatch, TokenTriggered, Triggered};
use crate::lower::{Ends, Lowering};
use crate::needles::{Plan, Trigger, check_length, plan};

/// What may come after a trigger; by trigger.
type Calls = Vec<Item>;

/// Begins of tags with a special token inside their trigger.
struct Spelled<'a> {
    /// The text before the token, a proper prefix of a trigger.
    text: &'a str,
    /// Longer texts before the same token, if both are complete triggers with it: the longer trigger wins.
    longer: Vec<&'a str>,
    /// The token.
    token: TokenSet,
    /// The rest after the token.
    rest: Item,
}

impl Spelled<'_> {
    /// The free text before the token; `free` is free text without triggers.
    fn after(&self, free: &Regex) -> Regex {
        let any = Regex::bytes(ByteSet::FULL).star();
        let ending = |words: &[&str]| {
            Regex::concat([any.clone(), Regex::words(words.iter().map(|word| word.as_bytes()))])
        };
        let mut after = free.clone();
        if !self.text.is_empty() {
            after = Regex::intersection([after, ending(&[self.text])]);
        }
        if self.longer.is_empty() { after } else { after.difference(&ending(&self.longer)) }
    }
}

impl Lowering<'_> {
    pub(crate) fn triggered(
        &mut self,
        format: &Format<'_>,
        triggered: &Triggered<'_>,
        ends: Ends<'_>,
        after: Item,
    ) -> Result<Item, TagError> {
        let triggers: Vec<Trigger<'_>> =
            triggered.triggers.iter().map(|(text, at)| (*text, at.as_str())).collect();
        self.check_distinct(&triggers)?;
        triggers.iter().try_for_each(|(trigger, at)| check_length(trigger, at))?;
        let excludes = ends.and(&triggered.excludes);
        self.check_needles(&format.at, &excludes)?;
        let plan = plan(&triggers, &excludes, self.fuel)?;
        let mut calls: Vec<Vec<Item>> = vec![Vec::new(); triggers.len()];
        let mut begins = Vec::new();
        for tag in &triggered.tags {
            let begin = match &tag.begin {
                Begin::Text(text) => *text,
                Begin::Token(_) => {
                    let message = "a token is given, expected a string: free text is ended by strings here";
                    return Err(TagError::malformed(&tag.begin_at, message)
                        .with_hint("the format `token_triggered_tags` has tags that begin with tokens"));
                }
            };
            self.spend(&tag.begin_at, (begin.len() + triggers.len()) as u64)?;
            let trigger = only_trigger(tag, begin, &triggers)?;
            let rest = self.string(&tag.begin_at, &begin[triggers[trigger].0.len()..])?;
            let (label, end) = self.labels(tag.region.as_ref());
            let call = self.rest_of_tag(tag, end)?;
            let call = self.seq([label, call]);
            calls[trigger].push(self.seq([rest, call.clone()]));
            begins.push((trigger, begin, tag.begin_at.as_str(), call));
        }
        let calls = self.calls(&triggers, calls)?;
        let spelled = self.spelled(&triggers, &plan, begins)?;
        let How { at_least_one, stop_after_first } = triggered.how;
        let after = match at_least_one && stop_after_first {
            true => after,
            false => {
                let (calls, is_loop) = ((&calls[..], &spelled[..]), !stop_after_first);
                self.after_free_text(format, plan, &triggers, calls, is_loop, after)
            }
        };
        if !at_least_one {
            return Ok(after);
        }
        let first = triggers.iter().zip(calls).map(|((text, _), call)| {
            let trigger = Item::Regular(Regex::literal(text));
            self.seq([trigger, call])
        });
        let mut first: Vec<Item> = first.collect();
        for Spelled { text, token, rest, .. } in spelled {
            let begun = Item::Regular(Regex::concat([Regex::literal(text), token.regex()]));
            first.push(self.seq([begun, rest]));
        }
        let first = self.alt(first);
        Ok(self.seq([first, after]))
    }

    pub(crate) fn dispatch(
        &mut self,
        format: &Format<'_>,
        dispatch: &Dispatch<'_>,
        ends: Ends<'_>,
        after: Item,
    ) -> Result<Item, TagError> {
        let triggers: Vec<Trigger<'_>> =
            dispatch.rules.iter().map(|(pattern, at, _)| (*pattern, at.as_str())).collect();
        self.check_distinct(&triggers)?;
        triggers.iter().try_for_each(|(trigger, at)| check_length(trigger, at))?;
        let calls = dispatch.rules.iter().map(|(_, _, content)| self.format(content, ends, Item::epsilon()));
        let calls = calls.collect::<Result<Calls, _>>()?;
        let excludes = &dispatch.excludes;
        self.check_needles(&format.at, excludes)?;
        let plan = plan(&triggers, excludes, self.fuel)?;
        let begins = triggers.iter().zip(&calls).enumerate();
        let begins = begins.map(|(trigger, (&(text, at), call))| (trigger, text, at, call.clone())).collect();
        let spelled = self.spelled(&triggers, &plan, begins)?;
        Ok(self.after_free_text(format, plan, &triggers, (&calls, &spelled), dispatch.is_loop, after))
    }

    /// The begins with a special token inside their trigger. A begin is the index of its trigger, its text
    /// and JSON pointer, and what comes after it.
    fn spelled<'a>(
        &mut self,
        triggers: &[Trigger<'_>],
        plan: &Plan<'_>,
        begins: Vec<(usize, &'a str, &str, Item)>,
    ) -> Result<Vec<Spelled<'a>>, TagError> {
        if self.special.is_empty() {
            return Ok(Vec::new());
        }
        let reached: HashSet<usize> =
            plan.groups.iter().flat_map(|group| group.triggers.iter().copied()).collect();
        let mut rests: BTreeMap<(&'a str, &'a str), Vec<Item>> = BTreeMap::new();
        for (trigger, begin, at, call) in begins.into_iter().filter(|(trigger, ..)| reached.contains(trigger))
        {
            let found = self.special.found_in(begin);
            for token in found.into_iter().filter(|token| token.start < triggers[trigger].0.len()) {
                let rest = self.string(at, &begin[token.end..])?;
                let rest = self.seq([rest, call.clone()]);
                rests.entry((&begin[..token.start], &begin[token])).or_default().push(rest);
            }
        }
        let is_trigger = |(text, name): (&str, &str)| {
            let found = triggers
                .iter()
                .enumerate()
                .find(|(_, (trigger, _))| trigger.strip_prefix(text).is_some_and(|rest| rest == name));
            found.is_some_and(|(trigger, _)| reached.contains(&trigger))
        };
        let whole: Vec<(&'a str, &'a str)> = rests.keys().copied().filter(|&key| is_trigger(key)).collect();
        let spelled = rests.into_iter().map(|((text, name), rests)| {
            let longer = whole.iter().filter(|(longer, same)| {
                whole.contains(&(text, name))
                    && *same == name
                    && longer.len() > text.len()
                    && longer.ends_with(text)
            });
            let longer = longer.map(|&(longer, _)| longer).collect();
            Spelled { text, longer, token: TokenSet::spelled(name), rest: self.alt(rests) }
        });
        Ok(spelled.collect())
    }

    /// Refuses a trigger that is there twice.
    fn check_distinct<T: Debug + Eq + Hash>(&self, triggers: &[(T, &str)]) -> Result<(), TagError> {
        let mut seen = HashSet::new();
        for (trigger, at) in triggers {
            self.spend(at, 1)?;
            if !seen.insert(trigger) {
                return Err(TagError::malformed(*at, format!("{trigger:?} is a trigger already")));
            }
        }
        Ok(())
    }

    /// What may come after each trigger, of the tags that begin with it.
    fn calls<T: Debug>(&mut self, triggers: &[(T, &str)], tags: Vec<Vec<Item>>) -> Result<Calls, TagError> {
        let calls = triggers.iter().zip(tags).map(|((trigger, at), tags)| match tags.is_empty() {
            true => Err(TagError::malformed(*at, format!("no tag begins with the trigger {trigger:?}"))),
            false => Ok(self.alt(tags)),
        });
        calls.collect()
    }

    /// Free text, perhaps with calls in it, and `after`. Without `is_loop`, `after` comes after the first
    /// call.
    fn after_free_text(
        &mut self,
        format: &Format<'_>,
        plan: Plan<'_>,
        triggers: &[Trigger<'_>],
        (calls, spelled): (&[Item], &[Spelled<'_>]),
        is_loop: bool,
        after: Item,
    ) -> Item {
        self.looping("text", is_loop, after, |lowering, after, again| {
            let free = lowering.free(format, plan.free.clone());
            let mut ways = vec![lowering.seq([free, after])];
            for begun in spelled {
                let head = lowering.free(format, begun.after(&plan.free));
                let token = Item::Regular(begun.token.regex());
                ways.push(lowering.seq([head, token, begun.rest.clone(), again.clone()]));
            }
            for group in plan.groups {
                let begun = group.triggers.iter().map(|&trigger| {
                    let rest = Regex::literal(&triggers[trigger].0[group.prefix.len()..]);
                    lowering.seq([Item::Regular(rest), calls[trigger].clone()])
                });
                let begun = begun.collect();
                let begun = lowering.alt(begun);
                let head = lowering.free(format, group.before);
                let prefix = Item::Regular(Regex::literal(group.prefix));
                ways.push(lowering.seq([head, prefix, begun, again.clone()]));
            }
            ways
        })
    }

    /// Free text of a format.
    fn free(&mut self, format: &Format<'_>, text: Regex) -> Item {
        let (begin, end) = self.labels(format.region.as_ref());
        self.seq([begin, Item::Regular(text), end])
    }

    /// A rule with these ways. They get `after` and what comes after a call: the rule itself, or `after`.
    fn looping(
        &mut self,
        name: &str,
        is_loop: bool,
        after: Item,
        ways: impl FnOnce(&mut Self, Item, Item) -> Vec<Item>,
    ) -> Item {
        let rule = self.builder.declare(name);
        let itself: ExprId = self.builder.rule(rule);
        let again = if is_loop { Item::Expr(itself) } else { after.clone() };
        let ways = ways(self, after, again);
        let body = self.alt(ways).into_expr(&mut self.builder);
        self.builder.define(rule, body);
        Item::Expr(itself)
    }

    pub(crate) fn token_triggered(
        &mut self,
        format: &Format<'_>,
        triggered: &TokenTriggered<'_>,
        ends: Ends<'_>,
        after: Item,
    ) -> Result<Item, TagError> {
        let triggers: Vec<(Token<'_>, &str)> =
            triggered.triggers.iter().map(|(token, at)| (*token, at.as_str())).collect();
        self.check_distinct(&triggers)?;
        let mut calls: Vec<Vec<Item>> = vec![Vec::new(); triggers.len()];
        for tag in &triggered.tags {
            self.spend(&tag.begin_at, triggers.len() as u64)?;
            let token = match &tag.begin {
                Begin::Token(token) => token,
                Begin::Text(_) => {
                    let message = "a string is given, expected a `token`: tokens trigger the tags here";
                    return Err(TagError::malformed(&tag.begin_at, message)
                        .with_hint("the format `triggered_tags` has tags that begin with strings"));
                }
            };
            let Some(trigger) = triggers.iter().position(|(trigger, _)| trigger == token) else {
                let message = format!("{token:?} is none of `trigger_tokens`");
                let hint = "write the trigger as the tag begins, both as a name or both as an id";
                return Err(TagError::malformed(&tag.begin_at, message).with_hint(hint));
            };
            let (label, end) = self.labels(tag.region.as_ref());
            let call = self.rest_of_tag(tag, end)?;
            calls[trigger].push(self.seq([label, call]));
        }
        let calls = self.calls(&triggers, calls)?;
        let How { at_least_one, stop_after_first } = triggered.how;
        let begun = self.begun(&triggers, calls);
        let after = match at_least_one && stop_after_first {
            true => after,
            false => {
                let excludes = (&triggered.excludes[..], ends);
                self.after_tokens(format, &triggers, excludes, &begun, !stop_after_first, after)?
            }
        };
        Ok(if at_least_one { self.seq([begun, after]) } else { after })
    }

    pub(crate) fn token_dispatch(
        &mut self,
        format: &Format<'_>,
        dispatch: &TokenDispatch<'_>,
        ends: Ends<'_>,
        after: Item,
    ) -> Result<Item, TagError> {
        let triggers: Vec<(Token<'_>, &str)> =
            dispatch.rules.iter().map(|(token, at, _)| (*token, at.as_str())).collect();
        self.check_distinct(&triggers)?;
        let calls = dispatch.rules.iter().map(|(_, _, content)| self.format(content, ends, Item::epsilon()));
        let calls = calls.collect::<Result<Calls, _>>()?;
        let begun = self.begun(&triggers, calls);
        let excludes = (&dispatch.excludes[..], Ends::None);
        self.after_tokens(format, &triggers, excludes, &begun, dispatch.is_loop, after)
    }

    /// A trigger and what comes after it.
    fn begun(&mut self, triggers: &[(Token<'_>, &str)], calls: Calls) -> Item {
        let begun = triggers.iter().zip(calls).map(|((token, _), call)| {
            let trigger = Item::Regular(token.set().regex());
            self.seq([trigger, call])
        });
        let begun = begun.collect();
        self.alt(begun)
    }

    /// Tokens that are no triggers, perhaps with calls among them, and `after`.
    fn after_tokens(
        &mut self,
        format: &Format<'_>,
        triggers: &[(Token<'_>, &str)],
        (excludes, ends): (&[Token<'_>], Ends<'_>),
        begun: &Item,
        is_loop: bool,
        after: Item,
    ) -> Result<Item, TagError> {
        self.spend(&format.at, 1 + (triggers.len() + excludes.len()) as u64)?;
        let others = triggers.iter().map(|(token, _)| *token).chain(excludes.iter().copied());
        let others = self.free(format, ends.all_but(others, self.special).regex().star());
        Ok(self.looping("tokens", is_loop, after, |lowering, after, again| {
            let last = lowering.seq([others.clone(), after]);
            vec![last, lowering.seq([others, begun.clone(), again])]
        }))
    }
}

/// The one trigger that the begin of a tag starts with.
fn only_trigger(tag: &Tag<'_>, begin: &str, triggers: &[Trigger<'_>]) -> Result<usize, TagError> {
    let mut matching = (0..triggers.len()).filter(|&index| begin.starts_with(triggers[index].0));
    let Some(trigger) = matching.next() else {
        let shown = if let [(only, _)] = triggers { format!("{only:?}") } else { "any of `triggers`".into() };
        return Err(TagError::malformed(&tag.begin_at, format!("{begin:?} does not start with {shown}")));
    };
    match matching.next() {
        None => Ok(trigger),
        Some(other) => {
            let (one, other) = (triggers[trigger].0, triggers[other].0);
            let message = format!("{begin:?} starts with two triggers, {one:?} and {other:?}");
            Err(TagError::malformed(&tag.begin_at, message))
        }
    }
}

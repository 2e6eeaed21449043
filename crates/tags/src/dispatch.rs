//! Free text and what triggers in it begin: `triggered_tags`, `dispatch`, and the same over tokens.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use maskwright_automata::Regex;
use maskwright_grammar::{ExprId, Item};

use crate::TagError;
use crate::format::{Begin, Dispatch, Format, How, Tag, Token, TokenDispatch, TokenTriggered, Triggered};
use crate::lower::{Ends, Lowering};
use crate::needles::{Plan, Trigger, check_length, plan};

/// What may come after a trigger; by trigger.
type Calls = Vec<Item>;

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
            let rest = self.literal(&tag.begin_at, &begin[triggers[trigger].0.len()..])?;
            let call = self.rest_of_tag(tag, Item::epsilon())?;
            calls[trigger].push(self.seq([rest, call]));
        }
        let calls = self.calls(&triggers, calls)?;
        let How { at_least_one, stop_after_first } = triggered.how;
        let after = match at_least_one && stop_after_first {
            true => after,
            false => self.after_free_text(plan, &triggers, &calls, !stop_after_first, after),
        };
        if !at_least_one {
            return Ok(after);
        }
        let first = triggers.iter().zip(calls).map(|((text, _), call)| {
            let trigger = Item::Regular(Regex::literal(text));
            self.seq([trigger, call])
        });
        let first = first.collect();
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
        Ok(self.after_free_text(plan, &triggers, &calls, dispatch.is_loop, after))
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

    /// Free text, perhaps with calls in it, and `after`. Without `is_loop`, `after` comes after the first call.
    fn after_free_text(
        &mut self,
        plan: Plan<'_>,
        triggers: &[Trigger<'_>],
        calls: &[Item],
        is_loop: bool,
        after: Item,
    ) -> Item {
        self.looping("text", is_loop, after, |lowering, after, again| {
            let mut ways = vec![lowering.seq([Item::Regular(plan.free), after])];
            for group in plan.groups {
                let begun = group.triggers.iter().map(|&trigger| {
                    let rest = Regex::literal(&triggers[trigger].0[group.prefix.len()..]);
                    lowering.seq([Item::Regular(rest), calls[trigger].clone()])
                });
                let begun = begun.collect();
                let begun = lowering.alt(begun);
                let head = Regex::concat([group.before, Regex::literal(group.prefix)]);
                ways.push(lowering.seq([Item::Regular(head), begun, again.clone()]));
            }
            ways
        })
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
            calls[trigger].push(self.rest_of_tag(tag, Item::epsilon())?);
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
        let others = Item::Regular(ends.all_but(others).regex().star());
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

//! Lists whose items come in any order.
//!
//! An object of n properties in any order has n! orders and 2^n states, of which a text meets n. So a list is
//! kept as one [`ShuffleList`], and what is left of it as a [`Shuffle`]: the list, which items were there,
//! and how many. [`Network`](crate::Network) makes those states when a text leads to them.
//!
//! Rejected: a choice among all orders, or a rule for each subset (both exponential before the first text is
//! read); a flag for each item in the session (states, masks and what is shared between grammars are keyed by
//! expressions, and would need to know of flags everywhere).

use std::sync::Arc;

use crate::{ExprId, ExprPool};

/// Items in any order, each at most once, among any number of others, with a separator between neighbours.
///
/// # Example: two words in any order
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::{GrammarBuilder, ShuffleItem, ShuffleList};
/// let mut builder = GrammarBuilder::new();
/// let start = builder.declare("start");
/// let item = |expr| ShuffleItem { expr, is_required: true };
/// let items = [item(builder.literal("salt")), item(builder.literal("pepper"))].into();
/// let (others, separator) = (builder.alt(&[]), builder.literal(" and "));
/// let body = builder.shuffle(ShuffleList { items, others, separator, min: 0, max: None });
/// builder.define(start, body);
/// assert!(builder.finish(start).is_ok());
/// ```
///
/// # Example: more members than there may be
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::{GrammarBuilder, ShuffleItem, ShuffleList};
/// let mut builder = GrammarBuilder::new();
/// let items = [ShuffleItem { expr: builder.literal("a"), is_required: true }].into();
/// let (nothing, separator) = (builder.alt(&[]), builder.literal(","));
/// let list = ShuffleList { items, others: nothing, separator, min: 2, max: None };
/// assert_eq!(builder.shuffle(list), nothing, "one item alone is never two");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShuffleList {
    /// What may be there once.
    pub items: Box<[ShuffleItem]>,
    /// What else may be there, any number of times; [`ExprPool::NEVER`] for nothing.
    pub others: ExprId,
    /// What stands between two neighbours.
    pub separator: ExprId,
    /// The least number of items and others together.
    pub min: u32,
    /// The greatest number of them.
    pub max: Option<u32>,
}

/// An item of a [`ShuffleList`].
///
/// # Example: an item that must be there
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::{GrammarBuilder, ShuffleItem};
/// let mut builder = GrammarBuilder::new();
/// let item = ShuffleItem { expr: builder.literal("name"), is_required: true };
/// assert!(item.is_required);
/// ```
///
/// # Example: one that may be left out
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::{GrammarBuilder, ShuffleItem};
/// let mut builder = GrammarBuilder::new();
/// let key = builder.literal("email");
/// let item = ShuffleItem { expr: key, is_required: false };
/// assert_eq!(item.expr, key);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShuffleItem {
    /// What it is.
    pub expr: ExprId,
    /// Whether it must be there.
    pub is_required: bool,
}

/// Where in a list a [`Shuffle`] stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ShufflePhase {
    /// At the beginning.
    Start,
    /// After an item.
    AfterItem,
    /// After a separator.
    AfterSeparator,
}

/// What is left of a [`ShuffleList`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shuffle {
    /// The list, as [`ExprPool::shuffle_list`] knows it.
    pub list: u32,
    /// Which items were there before the last one: bit i mod 64 of word i / 64. The places after each of many
    /// items share it.
    seen: Arc<[u64]>,
    /// The last item, if it was one and it is not among those.
    last: Option<u32>,
    /// How many items and others were there, as far as that still matters.
    pub count: u32,
    /// Where it stands.
    pub phase: ShufflePhase,
}

impl Shuffle {
    /// Whether item `index` was there.
    pub fn has_seen(&self, index: usize) -> bool {
        self.seen[index / 64] >> (index % 64) & 1 == 1 || self.last.is_some_and(|last| last as usize == index)
    }

    /// The same place as if item `index` had not been there.
    fn without(&self, index: usize) -> Shuffle {
        let last = self.last.filter(|&last| last as usize != index);
        let mut seen = self.seen.clone();
        if self.seen[index / 64] >> (index % 64) & 1 == 1 {
            let mut words = seen.to_vec();
            words[index / 64] &= !(1 << (index % 64));
            seen = words.into();
        }
        Shuffle { seen, last, ..*self }
    }

    /// The same place after a separator.
    pub fn after_separator(&self) -> Shuffle {
        let mut seen = self.seen.clone();
        if let Some(last) = self.last {
            let mut words = seen.to_vec();
            words[last as usize / 64] |= 1 << (last % 64);
            seen = words.into();
        }
        Shuffle { seen, last: None, phase: ShufflePhase::AfterSeparator, ..*self }
    }

    /// The same place after one more member: item `index` or (`None`) another.
    pub fn after(&self, list: &ShuffleList, index: Option<usize>) -> Shuffle {
        let last = index.map(|index| index as u32);
        let count = list.counted(self.count);
        Shuffle { last, count, phase: ShufflePhase::AfterItem, ..self.after_separator() }
    }
}

/// A member that may come next in a list.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// What it is.
    pub member: ExprId,
    /// Which item; `None` for [others](ShuffleList::others).
    pub index: Option<usize>,
    /// Whether nothing can follow it in the list.
    pub is_last: bool,
}

/// What is still to come at a place of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLeft {
    /// How many members were there, as far as that still matters.
    count: u32,
    /// How many required items are missing.
    pub n_required: u32,
    /// How many items may still come that are not required.
    pub n_optional: u32,
}

impl ListLeft {
    fn number_of(&mut self, item: &ShuffleItem) -> &mut u32 {
        if item.is_required { &mut self.n_required } else { &mut self.n_optional }
    }

    fn room(&self, list: &ShuffleList) -> u32 {
        list.max.map_or(u32::MAX, |max| max.saturating_sub(self.count))
    }

    fn may_end(&self, list: &ShuffleList) -> bool {
        self.count >= list.min && self.n_required == 0
    }

    /// An upper bound on the sets of items that are met where all orders of what must still come are tried.
    pub fn n_sets(&self, list: &ShuffleList) -> u32 {
        let subsets = |n_items: u32| 1u32.checked_shl(n_items).unwrap_or(u32::MAX);
        let n_more = self.n_needed(list) - self.n_required;
        let of_optional = self.n_optional.max(1).saturating_pow(n_more).min(subsets(self.n_optional));
        subsets(self.n_required).saturating_mul(of_optional)
    }

    /// The least number of members that must still come.
    pub fn n_needed(&self, list: &ShuffleList) -> u32 {
        self.n_required.max(list.min.saturating_sub(self.count))
    }

    /// Whether the list must end.
    pub(crate) fn has_ended(&self, list: &ShuffleList) -> bool {
        let has_more = list.others != ExprPool::NEVER || self.n_optional > 0;
        self.may_end(list) && (self.room(list) == 0 || !has_more)
    }
}

/// So many places are compared with one at most.
const MAX_WIDER: usize = 64;

impl ShuffleList {
    /// The beginning of the list, which is number `list` in its pool.
    pub(crate) fn start(&self, list: u32) -> Shuffle {
        let seen = vec![0; self.items.len().div_ceil(64)].into();
        Shuffle { list, seen, last: None, count: 0, phase: ShufflePhase::Start }
    }

    /// Whether the list may end at `place`, as far as the number of its members goes.
    pub fn may_end(&self, place: &Shuffle) -> bool {
        self.left(place).may_end(self)
    }

    /// What is still to come at `place`. Linear in the number of items.
    pub fn left(&self, place: &Shuffle) -> ListLeft {
        let mut left = ListLeft { count: place.count, n_required: 0, n_optional: 0 };
        for (i, item) in self.items.iter().enumerate() {
            if !place.has_seen(i) {
                *left.number_of(item) += 1;
            }
        }
        left
    }

    /// The members that may come next at `place` (at its start or after a separator). From the place after
    /// each of them the list can be completed. Linear in the number of items.
    pub fn offers(&self, place: &Shuffle) -> Vec<Offer> {
        let left = self.left(place);
        let room = left.room(self);
        let counted = ListLeft { count: self.counted(left.count), ..left };
        let mut offers = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let needed = left.n_required + u32::from(!item.is_required);
            if !place.has_seen(i) && needed <= room {
                let mut after = counted;
                *after.number_of(item) -= 1;
                offers.push(Offer { member: item.expr, index: Some(i), is_last: after.has_ended(self) });
            }
        }
        if self.others != ExprPool::NEVER && left.n_required < room {
            offers.push(Offer { member: self.others, index: None, is_last: counted.has_ended(self) });
        }
        offers
    }

    /// Of the members that may come next, one with which a short way to the end begins: the first required
    /// item that is missing, else another member. From the place after it the list can be completed.
    pub(crate) fn first_offer(&self, place: &Shuffle) -> Option<Offer> {
        let offers = self.offers(place);
        let is_required = |offer: &&Offer| offer.index.is_some_and(|i| self.items[i].is_required);
        let is_other = |offer: &&Offer| offer.index.is_none();
        offers.iter().find(is_required).or_else(|| offers.iter().find(is_other)).or(offers.first()).copied()
    }

    /// Places that read all that `place` reads: as if one of the items had not been there that need not be
    /// there. None if very many were.
    pub(crate) fn wider_places(&self, place: &Shuffle) -> Vec<Shuffle> {
        let is_optional = |i: &usize| !self.items[*i].is_required && place.has_seen(*i);
        if (0..self.items.len()).filter(is_optional).count() > MAX_WIDER {
            return Vec::new();
        }
        let mut wider: Vec<Shuffle> =
            (0..self.items.len()).filter(is_optional).map(|i| place.without(i)).collect();
        // Where the required items alone are enough and there is no maximum, the number of members before
        // does not matter. And where one must come, what may come at the beginning is what may come after a
        // separator.
        let start = Shuffle { count: 0, phase: ShufflePhase::Start, ..place.clone() };
        if place.phase == ShufflePhase::AfterSeparator
            && self.max.is_none()
            && self.left(&start).n_required >= self.min.max(1)
        {
            let is_first =
                |place: &&Shuffle| place.seen.iter().all(|&word| word == 0) && place.last.is_none();
            let first = wider.iter().chain([place]).find(is_first).cloned();
            wider.extend(first.map(|place| Shuffle { count: 0, phase: ShufflePhase::Start, ..place }));
        }
        wider
    }

    /// A number of members and one more, as far as that still matters.
    fn counted(&self, count: u32) -> u32 {
        match self.max {
            Some(_) => count.saturating_add(1),
            None => count.saturating_add(1).min(self.min),
        }
    }

    /// Whether no more than the empty word need be read at `place`, where it may be read as what `is_empty`
    /// tells.
    pub(crate) fn is_nullable(&self, place: &Shuffle, is_empty: impl Fn(ExprId) -> bool) -> bool {
        if place.phase != ShufflePhase::AfterSeparator && self.may_end(place) {
            return true;
        }
        let has_empty_separator = is_empty(self.separator);
        if place.phase == ShufflePhase::AfterItem && !has_empty_separator {
            return false;
        }
        let room = self.max.map_or(u32::MAX, |max| max.saturating_sub(place.count));
        let unseen =
            || self.items.iter().enumerate().filter(|(i, _)| !place.has_seen(*i)).map(|(_, item)| item);
        if unseen().any(|item| item.is_required && !is_empty(item.expr)) {
            return false;
        }
        let n_needed = self.left(place).n_needed(self).max(1);
        let n_empty = match is_empty(self.others) {
            true => u32::MAX,
            false => unseen().filter(|item| is_empty(item.expr)).count() as u32,
        };
        n_needed <= n_empty.min(room) && (n_needed == 1 || has_empty_separator)
    }

    /// Whether the list has a word if those of its members have for which `has_word` holds.
    pub fn is_productive(&self, has_word: impl Fn(ExprId) -> bool) -> bool {
        if self.items.iter().any(|item| item.is_required && !has_word(item.expr)) {
            return false;
        }
        let n_required = self.items.iter().filter(|item| item.is_required).count() as u32;
        let n_needed = n_required.max(self.min);
        let n_possible = match has_word(self.others) {
            true => u32::MAX,
            false => self.items.iter().filter(|item| has_word(item.expr)).count() as u32,
        };
        n_needed <= n_possible.min(self.max.unwrap_or(u32::MAX))
            && (n_needed <= 1 || has_word(self.separator))
    }

    /// All that may be a member.
    pub fn members(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.items.iter().map(|item| item.expr).chain([self.others])
    }

    /// The expressions of the list.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.members().chain([self.separator])
    }

    /// The list with each expression replaced.
    pub(crate) fn map(&self, to: impl Fn(ExprId) -> ExprId) -> ShuffleList {
        ShuffleList {
            items: self.items.iter().map(|item| ShuffleItem { expr: to(item.expr), ..*item }).collect(),
            others: to(self.others),
            separator: to(self.separator),
            ..*self
        }
    }

    /// `place`, which is one of this list, in `normal`: the [same list](ShuffleList::normal), which is number
    /// `number` in its pool. `None` if that cannot be completed from there.
    pub(crate) fn place_in(&self, normal: &ShuffleList, number: u32, place: &Shuffle) -> Option<Shuffle> {
        let mut words = normal.start(number).seen.to_vec();
        let kept = (0..self.items.len()).filter(|&i| self.items[i].expr != ExprPool::NEVER);
        for (new, _) in kept.enumerate().filter(|&(_, old)| place.has_seen(old)) {
            words[new / 64] |= 1 << (new % 64);
        }
        let n_before = if place.phase == ShufflePhase::Start { 0 } else { place.count.max(1) };
        let count = normal.max.map_or(place.count, |_| n_before);
        let place = Shuffle { list: number, seen: words.into(), last: None, count, phase: place.phase };
        let left = normal.left(&place);
        let n_items = left.n_required + left.n_optional;
        let n_possible = if normal.others == ExprPool::NEVER { n_items } else { u32::MAX };
        let n_needed = left.n_needed(normal).max(u32::from(place.phase == ShufflePhase::AfterSeparator));
        (n_needed <= n_possible.min(left.room(normal))).then_some(place)
    }

    /// The list without what has no word; `None` if it has no word itself.
    pub(crate) fn normal(mut self) -> Option<ShuffleList> {
        if !self.is_productive(|expr| expr != ExprPool::NEVER) {
            return None;
        }
        self.items = self.items.iter().filter(|item| item.expr != ExprPool::NEVER).copied().collect();
        if self.separator == ExprPool::NEVER {
            self.max = Some(self.max.unwrap_or(1).min(1));
        }
        Some(self)
    }
}

//! Lists whose items come in any order.
//!
//! An object of n properties in any order has n! orders and 2^n states, of which a text meets n. So a list is
//! kept as one [`ShuffleList`], and what is left of it as a [`Shuffle`]: the list, which items were there, and
//! how many. [`Network`](crate::Network) makes those states when a text leads to them.
//!
//! Rejected: a choice among all orders, or a rule for each subset (both exponential before the first text is
//! read); a flag for each item in the session (states, masks and what is shared between grammars are keyed by
//! expressions, and would need to know of flags everywhere).

use crate::{ExprId, ExprPool};

/// Items in any order, each at most once, among any number of others, with a separator between neighbours.
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
    /// Behind an item.
    AfterItem,
    /// Behind a separator.
    AfterSeparator,
}

/// What is left of a [`ShuffleList`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shuffle {
    /// The list, as [`ExprPool::shuffle_list`] knows it.
    pub list: u32,
    /// Which items were there: bit i mod 64 of word i / 64.
    pub seen: Box<[u64]>,
    /// How many items and others were there, as far as that still matters.
    pub count: u32,
    /// Where it stands.
    pub phase: ShufflePhase,
}

impl Shuffle {
    /// Whether item `index` was there.
    pub fn has_seen(&self, index: usize) -> bool {
        self.seen[index / 64] >> (index % 64) & 1 == 1
    }

    /// The same place behind one more member: item `index` or (`None`) another.
    fn behind(&self, list: &ShuffleList, index: Option<usize>) -> Shuffle {
        let mut seen = self.seen.clone();
        if let Some(index) = index {
            seen[index / 64] |= 1 << (index % 64);
        }
        let count = match list.max {
            Some(_) => self.count.saturating_add(1),
            None => self.count.saturating_add(1).min(list.min),
        };
        Shuffle { list: self.list, seen, count, phase: ShufflePhase::AfterItem }
    }
}

impl ShuffleList {
    /// The beginning of the list, which is number `list` in its pool.
    pub(crate) fn start(&self, list: u32) -> Shuffle {
        let seen = vec![0; self.items.len().div_ceil(64)].into();
        Shuffle { list, seen, count: 0, phase: ShufflePhase::Start }
    }

    /// Whether the list may end at `place`, as far as the number of its members goes.
    pub fn may_end(&self, place: &Shuffle) -> bool {
        place.count >= self.min && self.n_missing(place) == 0
    }

    /// The members that may come next at `place` (at its start or behind a separator), each with the place
    /// behind it. From each of those places the list can be completed. Linear in the number of items.
    pub fn offers(&self, place: &Shuffle) -> Vec<(ExprId, Shuffle)> {
        let n_missing = self.n_missing(place);
        let room = self.max.map_or(u32::MAX, |max| max.saturating_sub(place.count));
        let mut offers = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let needed = n_missing + u32::from(!item.is_required);
            if !place.has_seen(i) && needed <= room {
                offers.push((item.expr, place.behind(self, Some(i))));
            }
        }
        if self.others != ExprPool::NEVER && n_missing < room {
            offers.push((self.others, place.behind(self, None)));
        }
        offers
    }

    /// How many required items are still to come.
    fn n_missing(&self, place: &Shuffle) -> u32 {
        let missing =
            self.items.iter().enumerate().filter(|(i, item)| item.is_required && !place.has_seen(*i));
        missing.count() as u32
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
        let n_needed = self.n_missing(place).max(self.min.saturating_sub(place.count)).max(1);
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

    /// The expressions of the list.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.items.iter().map(|item| item.expr).chain([self.others, self.separator])
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

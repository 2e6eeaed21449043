//! Sets of arrays.

use crate::forms::node_id::NodeId;

/// Arrays of `min` to `max` items, the first ones of `prefix`, the others of `rest`, with so many of each
/// kind in `counts`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArraySet {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) counts: Vec<ItemCount>,
    /// Whether all items differ; then where the schema stands that says so.
    pub(crate) unique: Option<usize>,
}

/// From item number `from` on, `min` to `max` items are of `schema`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemCount {
    pub(crate) schema: NodeId,
    pub(crate) from: u64,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

impl ArraySet {
    pub(crate) fn any() -> ArraySet {
        ArraySet {
            prefix: Vec::new(),
            rest: NodeId::ANY,
            min: 0,
            max: None,
            counts: Vec::new(),
            unique: None,
        }
    }

    /// The arrays in both; `meet` gives the intersection of two schemas. `None` if there are none.
    pub(crate) fn intersect(
        &self,
        other: &ArraySet,
        mut meet: impl FnMut(NodeId, NodeId) -> NodeId,
    ) -> Option<ArraySet> {
        let at = |set: &ArraySet, i: usize| set.prefix.get(i).copied().unwrap_or(set.rest);
        let prefix =
            (0..self.prefix.len().max(other.prefix.len())).map(|i| meet(at(self, i), at(other, i))).collect();
        let mut counts = self.counts.clone();
        counts.extend(other.counts.iter().filter(|count| !self.counts.contains(count)).cloned());
        ArraySet {
            prefix,
            rest: meet(self.rest, other.rest),
            min: self.min.max(other.min),
            max: least(self.max, other.max),
            counts,
            unique: self.unique.or(other.unique),
        }
        .normal()
    }

    /// Turns schemas of no value into a bound on the length; `None` if no length is left.
    pub(crate) fn normal(mut self) -> Option<ArraySet> {
        if let Some(i) = self.prefix.iter().position(|&item| item == NodeId::NEVER) {
            self.max = least(self.max, Some(i as u64));
        } else if self.rest == NodeId::NEVER {
            self.max = least(self.max, Some(self.prefix.len() as u64));
        }
        for count in &self.counts {
            if count.min > 0 {
                self.min = self.min.max(count.from.saturating_add(count.min));
            }
            if count.max.is_some_and(|max| max < count.min) {
                return None;
            }
        }
        // What every item is or none is counts nothing more than the length.
        let mut counts = std::mem::take(&mut self.counts);
        counts.retain(|count| match count.schema {
            NodeId::ANY => {
                let max = count.max.map(|max| max.saturating_add(count.from));
                self.max = least(self.max, max);
                false
            }
            NodeId::NEVER if count.min == 0 => false,
            _ => count.min > 0 || count.max.is_some(),
        });
        self.counts = counts;
        if let Some(max) = self.max.and_then(|max| usize::try_from(max).ok()) {
            self.prefix.truncate(max);
            if self.prefix.len() == max {
                self.rest = NodeId::NEVER;
            }
        }
        if self.max.is_some_and(|max| max <= 1) {
            self.unique = None;
        }
        let is_possible = self.max.is_none_or(|max| self.min <= max)
            && !self.counts.iter().any(|count| count.schema == NodeId::NEVER && count.min > 0);
        is_possible.then_some(self)
    }
}

/// The lesser of two upper bounds.
pub(crate) fn least(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (bound, None) | (None, bound) => bound,
    }
}

//! Makes a graph small: the same sequences of terminals on far fewer paths.
//!
//! Between two masked positions the lexer can be in hundreds of states, and most of them differ in little: after a
//! name no letter may follow, but nearly all that a letter could begin can also follow a blank. From the end to the
//! beginning, nodes with the same edges are merged. If two edges of a node have the same label, and the target of one
//! *simulates* the target of the other, the other is dropped. Some edges are *told apart* (those whose tokens the
//! mask is about): none of them is dropped or merged with others.
//!
//! Theorem. A sequence of labels, with the edges that are told apart in their places, is on a path of the graph from
//! the first node to a goal iff it is on such a path of the compact one. The same holds of the widths and indents
//! that the parser's contexts see on the way.
//!
//! Proof. Simulation keeps labels, whether nodes are boundaries or goals, and where they are in the indentation. What
//! follows an edge that is dropped also follows the edge that simulates it; the reverse holds because nothing is
//! added. Nodes that are merged have the same futures. ∎
//!
//! A position whose edges lead back to other nodes of it is left as it is. An edge from a node to itself counts as
//! one to *this node*, so two nodes with such an edge are compared as if it led to the same.

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use maskwright_scan::{Carry, Indent};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::chart::{NodeIndex, START_NODE};
use crate::ground::InfillError;
use crate::lexed::graph::Graph;
use crate::lexed::tables::LexedTables;

/// How many comparisons of edges are about as much work as one visited node.
const COMPARISONS_OF_UNIT: usize = 16;

/// Stands for the node that an edge begins at, until that has a number.
const ITSELF: u32 = u32::MAX;

/// An edge of a node, to one by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Way {
    pub(crate) label: Option<TerminalId>,
    /// The edge of the graph, if it is told apart.
    apart: Option<u32>,
    pub(crate) to: u32,
}

impl Way {
    /// The edge of the graph, if it is one that is told apart.
    pub(crate) fn apart(self) -> Option<u32> {
        self.apart
    }
}

/// What must be the same of nodes that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kind {
    is_boundary: bool,
    is_goal: bool,
    /// Where it is in the indentation, and how wide the line is if that matters there.
    indent: Indent,
    width: u32,
    /// Itself, if it is like no other.
    alone: Option<NodeIndex>,
}

/// See the module. Nodes are numbered from the end to the beginning, but where edges lead back.
#[derive(Debug, Default)]
pub(crate) struct Compact {
    /// By node, one of the nodes of the graph that it stands for, and the position of those.
    member: Vec<NodeIndex>,
    position: Vec<u32>,
    kinds: Vec<Kind>,
    /// By node, its edges, sorted.
    ways: Vec<Vec<Way>>,
    /// By position, its nodes as edges lead on, and whether edges within the position lead back to other nodes.
    layers: Vec<(Vec<u32>, bool)>,
    start: Option<u32>,
}

/// The nodes of a position that were made, to compare others with.
#[derive(Default)]
struct Layer {
    position: u32,
    nodes: Vec<u32>,
    known: FxHashMap<(Kind, Vec<Way>), u32>,
}

/// Which nodes simulate which, of one position each.
#[derive(Default)]
struct Simulation {
    /// By node, its position, and its place there.
    place: Vec<(u32, u32)>,
    /// By node, the places of the nodes that simulate it.
    above: Vec<Vec<u64>>,
    /// By node, some of what is known of its labels: those of a node that simulates another are at least the same.
    labels: Vec<u64>,
}

impl Compact {
    /// The compact graph with the edges `apart` told apart; sorted.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        graph: &Graph,
        apart: &[u32],
        tables: &LexedTables,
        fuel: &Fuel,
    ) -> Result<Compact, InfillError> {
        let mut compact = Compact::default();
        if graph.ahead[START_NODE as usize].is_none() {
            return Ok(compact);
        }
        let goals: FxHashSet<NodeIndex> = graph.goals.iter().copied().collect();
        let mut number = vec![ITSELF; graph.nodes.len()];
        let mut simulation = Simulation::default();
        compact.layers.resize(graph.at.len(), (Vec::new(), false));
        for position in (0..graph.at.len()).rev() {
            let (nodes, is_cyclic) = in_order(graph, position);
            let spend = |n: usize| fuel.spend(n as u64).map_err(|error| InfillError::work(position, error));
            let mut layer = Layer { position: position as u32, ..Layer::default() };
            if is_cyclic {
                // Edges may lead to any of them.
                for &node in &nodes {
                    number[node as usize] = compact.member.len() as u32;
                    let kind = kind(graph, node, goals.contains(&node), true, tables);
                    compact.add(node, kind, Vec::new(), &mut layer, &mut simulation);
                }
            }
            for &node in nodes.iter().rev() {
                let ways = graph.edges_of(node).map(|(edge, way)| Way {
                    label: way.label,
                    apart: apart.binary_search(&edge).is_ok().then_some(edge),
                    to: if way.to == node && !is_cyclic { ITSELF } else { number[way.to as usize] },
                });
                let mut ways: Vec<Way> = ways.collect();
                ways.sort_unstable();
                ways.dedup();
                spend(1 + ways.len())?;
                if is_cyclic {
                    compact.ways[number[node as usize] as usize] = ways;
                    continue;
                }
                spend(simulation.prune(&mut ways) / COMPARISONS_OF_UNIT)?;
                let kind = kind(graph, node, goals.contains(&node), node == START_NODE, tables);
                let key = (kind, ways);
                number[node as usize] = match layer.known.get(&key) {
                    Some(&known) => known,
                    None => {
                        let ways = key.1.clone();
                        let new = compact.add(node, kind, ways, &mut layer, &mut simulation);
                        spend(simulation.compare(new, &layer.nodes, &compact) / COMPARISONS_OF_UNIT)?;
                        layer.known.insert(key, new);
                        new
                    }
                };
            }
            let mut nodes = layer.nodes;
            if !is_cyclic {
                nodes.reverse();
            }
            compact.layers[position] = (nodes, is_cyclic);
        }
        compact.start = Some(number[START_NODE as usize]);
        compact.drop_unreached();
        Ok(compact)
    }

    fn add(
        &mut self,
        member: NodeIndex,
        kind: Kind,
        ways: Vec<Way>,
        layer: &mut Layer,
        simulation: &mut Simulation,
    ) -> u32 {
        let new = self.member.len() as u32;
        let mut ways = ways;
        for way in &mut ways {
            way.to = if way.to == ITSELF { new } else { way.to };
        }
        ways.sort_unstable();
        simulation.add((layer.position, layer.nodes.len() as u32), &ways);
        layer.nodes.push(new);
        self.member.push(member);
        self.position.push(layer.position);
        self.kinds.push(kind);
        self.ways.push(ways);
        new
    }

    /// The first node; none if the graph has no path.
    pub(crate) fn start(&self) -> Option<u32> {
        self.start
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.member.len()
    }

    /// By position, its nodes as edges lead on, and whether edges within the position lead back to other nodes.
    pub(crate) fn layers(&self) -> &[(Vec<u32>, bool)] {
        &self.layers
    }

    /// A node of the graph that a node stands for.
    pub(crate) fn member(&self, node: u32) -> NodeIndex {
        self.member[node as usize]
    }

    /// The position of a node.
    pub(crate) fn position(&self, node: u32) -> usize {
        self.position[node as usize] as usize
    }

    pub(crate) fn is_boundary(&self, node: u32) -> bool {
        self.kinds[node as usize].is_boundary
    }

    pub(crate) fn is_goal(&self, node: u32) -> bool {
        self.kinds[node as usize].is_goal
    }

    /// The edges of a node, sorted.
    pub(crate) fn ways(&self, node: u32) -> &[Way] {
        &self.ways[node as usize]
    }

    pub(crate) fn leads_to_itself(&self, node: u32) -> bool {
        self.ways(node).iter().any(|way| way.to == node)
    }

    /// Takes out of the layers what no path leads to.
    fn drop_unreached(&mut self) {
        let mut is_reached = vec![false; self.member.len()];
        let mut stack: Vec<u32> = self.start.into_iter().collect();
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut is_reached[node as usize], true) {
                stack.extend(self.ways[node as usize].iter().map(|way| way.to));
            }
        }
        for (nodes, _) in &mut self.layers {
            nodes.retain(|&node| is_reached[node as usize]);
        }
    }
}

impl Simulation {
    fn add(&mut self, place: (u32, u32), ways: &[Way]) {
        self.place.push(place);
        self.above.push(Vec::new());
        let bit = |way: &Way| match (way.label, way.apart) {
            (_, Some(edge)) => 1 << (32 + edge % 31),
            (Some(terminal), None) => 1 << (1 + terminal.index() % 31),
            (None, None) => 1,
        };
        self.labels.push(ways.iter().fold(0, |labels, way| labels | bit(way)));
    }

    /// Whether all that can be read from `node` can be read from `other`, as far as that was found.
    fn is_above(&self, other: u32, node: u32) -> bool {
        let (position, place) = self.place[other as usize];
        let is_set = |word: &u64| word >> (place % 64) & 1 == 1;
        other == node
            || position == self.place[node as usize].0
                && self.above[node as usize].get(place as usize / 64).is_some_and(is_set)
    }

    /// Leaves out the ways after which less can be read than after others; how many comparisons that took.
    fn prune(&self, ways: &mut Vec<Way>) -> usize {
        let (mut first, mut n_comparisons) = (0, 0);
        let mut kept = Vec::with_capacity(ways.len());
        while let Some(&way) = ways.get(first) {
            let n_alike =
                ways[first..].iter().take_while(|other| (other.label, other.apart) == (way.label, way.apart));
            let alike = &ways[first..first + n_alike.count()];
            first += alike.len();
            n_comparisons += alike.len() * alike.len();
            let is_above = |other: &Way, way: &Way| {
                other.to != way.to
                    && other.to != ITSELF
                    && way.to != ITSELF
                    && self.is_above(other.to, way.to)
                    && !(self.is_above(way.to, other.to) && way.to < other.to)
            };
            kept.extend(alike.iter().filter(|way| !alike.iter().any(|other| is_above(other, way))));
        }
        *ways = kept;
        n_comparisons
    }

    /// Finds out which nodes of a layer simulate its last one, and which it simulates; how many comparisons that took.
    fn compare(&mut self, new: u32, layer: &[u32], compact: &Compact) -> usize {
        let mut n_comparisons = layer.len();
        for &other in &layer[..layer.len() - 1] {
            if compact.kinds[other as usize] != compact.kinds[new as usize] {
                continue;
            }
            for (below, above) in [(new, other), (other, new)] {
                if self.labels[below as usize] & !self.labels[above as usize] == 0
                    && self.simulates([above, below], compact, &mut n_comparisons)
                {
                    let place = self.place[above as usize].1 as usize;
                    let set = &mut self.above[below as usize];
                    if set.len() <= place / 64 {
                        set.resize(place / 64 + 1, 0);
                    }
                    set[place / 64] |= 1 << (place % 64);
                }
            }
        }
        n_comparisons
    }

    /// Whether all that can be read from `below` can be read from `above`, as far as that was found. Where both lead to themselves
    /// that may be taken for granted: simulation is the largest relation of its kind.
    fn simulates(&self, [above, below]: [u32; 2], compact: &Compact, n_comparisons: &mut usize) -> bool {
        let both = [above, below];
        let [above, below] = both.map(|node| &compact.ways[node as usize][..]);
        let key = |way: &Way| (way.label, way.apart);
        let mut first = 0;
        below.iter().all(|way| {
            *n_comparisons += 1;
            while above.get(first).is_some_and(|other| key(other) < key(way)) {
                first += 1;
            }
            let mut alike = above[first..].iter().take_while(|other| key(other) == key(way));
            alike.any(|other| {
                *n_comparisons += 1;
                [other.to, way.to] == both || self.is_above(other.to, way.to)
            })
        })
    }
}

fn kind(graph: &Graph, node: NodeIndex, is_goal: bool, is_alone: bool, tables: &LexedTables) -> Kind {
    let indent = tables.hypotheses.indent(graph.nodes[node as usize].1);
    let (indent, width) =
        if indent.is_read_on() { (Indent::None, 0) } else { (indent, graph.widths[node as usize]) };
    let is_boundary = graph.is_boundary[node as usize];
    Kind { is_boundary, is_goal, indent, width, alone: is_alone.then_some(node) }
}

/// The nodes of a position that are not dead, each before those that its edges lead to; and whether edges lead back to others all the same.
fn in_order(graph: &Graph, position: usize) -> (Vec<NodeIndex>, bool) {
    let mut sorted = Vec::new();
    // By node that was entered, whether it was left.
    let mut is_left: FxHashMap<NodeIndex, bool> = FxHashMap::default();
    let mut is_cyclic = false;
    for &root in &graph.at[position] {
        let mut stack = vec![(root, false)];
        while let Some((node, is_done)) = stack.pop() {
            if is_done {
                is_left.insert(node, true);
                sorted.push(node);
                continue;
            }
            if graph.ahead[node as usize].is_none() || is_left.contains_key(&node) {
                continue;
            }
            is_left.insert(node, false);
            stack.push((node, true));
            for (_, edge) in graph.edges_of(node) {
                if graph.nodes[edge.to as usize].0.position as usize == position {
                    match is_left.get(&edge.to) {
                        Some(true) => {}
                        Some(false) => is_cyclic |= edge.to != node,
                        None => stack.push((edge.to, false)),
                    }
                }
            }
        }
    }
    sorted.reverse();
    (sorted, is_cyclic)
}

//! Infilling for grammars over the tokens of Lark's lexers.
//!
//! Two automata are composed. The lexer reads the lattice and makes a graph whose edges are labelled with terminals
//! (`graph`); what it says about one token of the vocabulary is kept for all positions (`scan`). The grammar parses
//! that graph ([`Chart`](crate::chart::Chart)). Where the lexer needs to look ahead, it carries a *guard* along (`hypotheses`). So
//! adjacency of terminals, keywords, `%ignore` and lookahead of any length are part of the graph, and the parser
//! needs to know nothing of them. Fixed pieces may begin and end in the middle of a terminal, because nodes may lie
//! there.
//!
//! Facts of the chart are made only where a regular approximation of the grammar can read the rest of the text
//! (`approximation`, `outlook`).
//!
//! Masked positions make the graph large. So a reader (`read`) has three graphs, each for one purpose:
//!
//! * the *narrow* graph (`narrow`) has part of the texts; it finds texts. It is made of `walks` between *clear*
//!   boundaries (`clear`);
//! * graphs of lattices with more texts ([`crate::wide`]) refute;
//! * the whole graph settles the rest.
//!
//! A mask is made from its position outwards (`decide`). What that does not settle soon, the whole chart at once
//! settles (`sweep`), on a graph that was made small (`compact`).
//!
//! Where indentation makes tokens, the graph knows how wide each line is, and the parser knows which block or bracket is
//! open around a rule that it begins (`contexts`).
//!
//! The lexer is that of sessions, or one of two bounds of the contextual lexer ([`LexerForm`]).

mod approximation;
mod beginnings;
mod charted;
mod clear;
mod compact;
mod decide;
mod edges;
mod graph;
mod hypotheses;
mod items;
mod narrow;
mod outlook;
mod pairs;
mod read;
mod scan;
mod separators;
mod sweep;
mod tables;
mod walks;
mod wide_lines;

pub use hypotheses::LexerForm;
pub(crate) use read::LexedReader;
pub(crate) use tables::LexedTables;

//! Infilling for grammars over the tokens of Lark's lexers.
//!
//! Two automata are composed. The lexer reads the lattice and makes a graph whose edges are labelled with
//! terminals (`graph`); what it says about one token of the vocabulary is kept for all positions (`tables`).
//! The grammar parses that graph ([`Chart`](crate::chart::Chart) over `edges`). Where the lexer needs to look
//! ahead, it carries a *guard* along (`hypotheses`). So adjacency of terminals, keywords, `%ignore` and
//! lookahead of any length are part of the graph, and the parser needs to know nothing of them. Fixed pieces
//! may begin and end in the middle of a terminal, because nodes may lie there.
//!
//! Facts of the chart are made only where a regular approximation of the grammar can read the rest of the
//! text (`rules/approximation.rs`, `graph/outlook.rs`).
//!
//! Masked positions make the graph large. So a reader (`read`) has three graphs, each for one purpose:
//!
//! * the *narrow* graph (`graph/narrow.rs`) has part of the texts; it finds texts. It is made of walks
//!   between *clear* boundaries (`tables/walks.rs`, `tables/clear.rs`);
//! * graphs of lattices with more texts ([`wide`](crate::lattice::wide)) refute;
//! * the whole graph settles the rest.
//!
//! A mask is made from its position outwards (`charted/decide.rs`).
//!
//! Where indentation makes tokens, the graph knows how wide each line is, and the parser knows which block or
//! bracket is open around a rule that it begins (`chart/contexts.rs`).
//!
//! The lexer is that of sessions, or one of two bounds of the contextual lexer ([`LexerForm`]).

mod charted;
mod edges;
mod graph;
mod hypotheses;
mod read;
mod tables;

pub use hypotheses::LexerForm;
pub(crate) use read::LexedReader;
pub(crate) use tables::LexedTables;

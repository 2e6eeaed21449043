//! Infilling for grammars over the tokens of Lark's basic lexer.
//!
//! Two automata are put on top of each other. The lexer reads the lattice and makes a graph whose edges carry
//! terminals (`graph`), with what it says about one token kept for all positions (`scan`); the grammar parses that
//! graph (`earley`). Where the lexer needs to look ahead, it carries a guard along (`hypotheses`), so adjacency of
//! terminals, keywords, `%ignore` and lookahead of any length are part of the graph, and the parser knows nothing
//! of them. Fixed pieces may begin and end in the middle of a terminal because nodes may be.
//!
//! What is read of the graph is held to a regular approximation of the grammar, which knows all of the text to come
//! (`approximation`, `outlook`).
//!
//! Masked positions make that graph large. So a part of it is asked first (`narrow`, by the steps of `walks` from one
//! boundary that stands for many, `clear`), then one with more texts (`wide`), and the whole only for what they leave open
//! (`parse`). A mask is made from its position outwards (`focus`), in windows of whole texts first (`examples`). What a search does not
//! settle soon is settled by the whole chart at once (`sweep`), of a graph that was made small (`compact`).
//!
//! Where indentation makes tokens, the graph knows how wide each line is (`indentation`), and the parser what is open around a rule
//! that it begins (`contexts`).

mod approximation;
mod beginnings;
mod charted;
mod clear;
mod compact;
mod contexts;
mod earley;
mod focus;
mod graph;
mod hypotheses;
mod indentation;
mod items;
mod narrow;
mod outlook;
mod read;
mod scan;
mod separators;
mod sweep;
mod tables;
mod walks;
mod wide_lines;

pub(crate) use tables::LexedTables;

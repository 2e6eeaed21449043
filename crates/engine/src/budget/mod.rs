//! Limits on tokens: masks that keep within a limit, and how many tokens complete a text.
//!
//! When: a session has `max_tokens`, or somebody asks how many tokens a text still takes.
//! `docs/how/limits.md` works an example through. In short: after `[1` with the tokens `]`, `,`, `1` and
//! `1]`, the text can be finished with 2 tokens (`]` and EOS). With 3 left the comma is allowed, since `1]`
//! and EOS finish the text after it; with 2 left it is not.
//!
//! **What is promised.** A text under a limit is complete within it, always. To know that, one completion
//! that fits is enough. So for each configuration c *one* completion is chosen, as short as is easily found,
//! and its number of tokens u(c), EOS included, is known. With N tokens left, a token t is allowed if u(c·t)
//! ≤ N−1, EOS if the text may end here; and the next token of one completion that fits. (Where a token can be
//! read in several ways, its u may be that of one of them alone, so that reading's completion is the one that
//! fits: `Machine::way_of_one`.) So:
//!
//! **No mask is empty.** A session that begins has u(c) ≤ N. If it takes a token with u(c·t) ≤ N−1, the same
//! is true after it. If it takes the next token of the completion that fits, what is left of that fits after
//! it. The session holds that until it takes a token whose u fits. ∎
//!
//! Close to a limit a mask may lack tokens after which only a completion that was not chosen fits. Then it
//! says that it is a bound. `research/limits` counts these tokens.
//!
//! **How over bytes.** From the ground up:
//!
//! * `words`: a word that completes a terminal;
//! * `choices`: which way is taken to the end of a rule, by state;
//! * `rests`: the completion of a whole text, word by word, and the fewest tokens that spell it;
//! * `far`: a bound on what is left after any token; where it is within the limit, the mask is the one
//!   without; `over_bytes::highest`: the same for the tokens of one configuration;
//! * `profile`: the allowed tokens of a configuration by u(c·t), from which the masks of all limits are read;
//!   `grouping`: its tokens by the configuration after them, where there is no profile.
//!
//! `over_bytes` asks these in turn. Grammars over the tokens of a lexer have searches of their own: `lexed`.
//! `limits` is the one door to both. Where sessions remember what was there, a watch reads each completion
//! before it counts: `watch`.
//!
//! **One answer.** All of this is a function of the grammar, the vocabulary, the limit and the accepted
//! tokens, whatever was asked before.
//!
//! Rejected: breadth-first search over configurations (the configurations within d tokens grow exponentially
//! in d); sums of least costs of rules as numbers (not least: a token like `"},` spans terminals); the least
//! number of tokens, by a search over all tokenizations of all completions, whose control state is what may
//! be left of a token in progress (up to seconds where this takes microseconds).

mod by_tokens;
mod chains;
mod choices;
mod far;
mod grouping;
mod lexed;
mod limits;
mod over_bytes;
mod profile;
mod rests;
mod spelled;
mod words;

pub(crate) use far::KEPT_BITS;
pub(crate) use limits::LimitsMemo;
pub(crate) use over_bytes::ByteLimits;
pub(crate) use profile::Profile;
pub(crate) use spelled::spelled;

/// Which completions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    /// All of the grammar.
    All,
    /// Those that no watch refuses.
    Safe,
}

//! Limits on tokens: the least number of tokens that complete a text, and masks that keep within a limit.
//!
//! When: a session has `max_tokens`, or somebody asks how many tokens a text still takes. ARCHITECTURE.md works an example
//! through ("A limit on tokens, worked through"). In short: after `[1` with the tokens `]`, `,`, `1` and `1]`, the text can be
//! finished with 2 tokens (`]` and EOS). With 3 left the comma is allowed, since `1]` and EOS finish the text after it; with 2
//! left it is not.
//!
//! **What is computed.** d(c), for a configuration c at the end of a token, is the least number of tokens, EOS included,
//! that complete the text; tokens may span terminals. With N tokens left a token t is allowed iff
//! d(c·t) ≤ N−1, EOS iff the text may end here. So a mask is never empty while d(c) ≤ N.
//!
//! **The problem as reachability.** Text and tokens together are a pushdown system with costs: its control state is the
//! *future* of the token in progress (`Futures`: the set of its remainders; the root: no token begun), its
//! stack the frames of the machine. Reading a byte moves the future on at no cost; where a token ends, one may
//! go to the root at cost 1. d(c) − 1 is the least cost from the root over c's stack to the root over no stack. It decomposes
//! (Reps, Schwoon and Jha 2003; Knuth 1977) into
//!
//! * runs, in `spelling`: least costs (residue, future) → future through the rest of one terminal, shared by all grammars;
//! * `summaries`: least costs (state, future) → future through the rest of one rule, shared by all texts;
//! * `completions`: the least cost from (state, stack node, future) to the end, a number kept by stack node;
//! * `far`: a bound on what is left after any token; where it is within the limit, the mask is the one without; `over_bytes::highest`:
//!   the same for the tokens of one configuration;
//! * `profile`: the allowed tokens of a configuration by d(c·t), from which the masks of all limits are read.
//!
//! **Lemma 1 (margin).** Let D(w) be the least number of tokens that spell w. A begun token with future F at cost j
//! can be dropped in favour of no begun token at cost k, at the same place, if k + D(w) ≤ j + 1 for all w in F.
//! Proof: a completion from F reads some w in F, at cost 1 for the token in progress, and then goes on from the root at cost
//! r: j + 1 + r in all. The other reading spells the same w with D(w) tokens and goes on alike: k + D(w) + r. ∎
//! So single strings w are dropped from futures (`Futures::costly`), and where no rest of a token that begins with a byte that may
//! follow, after a byte that the terminal may end with, has D(w) > h (`Futures::worst`), costs j with k + h ≤ j + 1 need not be
//! looked at (`spelling::is_beyond`). By what may follow alone, the first answer for an e-mail address took seven times as long.
//!
//! **Lemma 2 (merging).** At one place and cost, futures F and G are as good as F ∪ G: a completion reads one w, from
//! either. And only the w that begin with a byte that may follow matter. So the exits of a run are one future for each cost.
//!
//! Likewise a future is dropped at a place where all its strings were in futures of no higher cost (`Futures::is_inside`).
//!
//! **Lemma 3 (order).** An item taken from the queue of `summaries` is final. A derivation of cost c is made of items
//! and exits of cost at most c. Those of summaries that exist are in the queue or derived by what is; a
//! summary made at cost c begins at 0 but serves its caller at c or more, so it derives nothing below c for others. ∎
//!
//! **Cost.** A run visits pairs (residue, future), at most the token trie once for each residue; a summary takes
//! items (state, future), few by lemma 1; a configuration whose stack nodes are known takes a few table reads. The margin
//! is that of the vocabulary, not of the grammar, so a grammar with many large optional parts is searched further than its shortest
//! text needs: up to h − 1 tokens beyond it.
//!
//! **Where work is limited** (`Limits::budget_items`; `spelling::MAX_STEPS` for one run), the grammar is searched with tokens that
//! end where terminals do instead, each terminal spelled by its shortest word. That is a shortest path too, over fewer tokenizations, so every answer
//! is then the length of a completion (`TokenCountStatus::Upper`). A text that could be completed in time is never left without a token: where
//! upper bounds allow none, the exact search is made with more work, since it has been found before that there is a completion.
//!
//! The same question has the same answer, whatever was asked before: `over_bytes` says how.
//!
//! These upper bounds are found faster than the least numbers, so whether a limit holds is asked of them first: where they say of every
//! allowed token that it fits (or that nothing completes it, if each byte is a token), the mask is exact without the rest. Masks of e-mail
//! addresses under a limit that is not near took seconds each before.
//!
//! **Lists in any order** of n required items have 2^n places. Other items add few places. **Lemma 4 (wider places).** If place Q reads all
//! that place P reads, and was reached in the same summary at no higher cost and with the same future, P is dropped: what completes P
//! completes Q. ∎ So a place after an item that need not come is dropped for the one without it (`Network::wider_states`). With more than
//! `summaries::MAX_SETS` places left, the exact search is not begun: what must come is read as it is listed, by a summary each,
//! which is one completion of many and so an upper bound (`summaries::Extent::InOrder`). The search for the only token that fits reads
//! the short lists of such a grammar in all orders too (`LongInOrder`): a completion found before may have been one of those.
//!
//! `over_bytes` asks these searches. Grammars over the tokens of a lexer have another control state: `lexed`. `limits` is
//! the one door to both. Where sessions remember what was there, two
//! bounds and a search: `watch`.
//!
//! Rejected: breadth-first search over configurations (the configurations within d tokens grow exponentially
//! in d); sums of least costs of rules (not least: a token like `"},` spans terminals).

mod choices;
mod far;
mod lexed;
mod limits;
mod over_bytes;
mod profile;
mod rests;
mod words;

pub(crate) use far::KEPT_BITS;
pub(crate) use limits::LimitsMemo;
pub(crate) use over_bytes::ByteLimits;
pub(crate) use profile::Profile;
pub(crate) use rests::spelled;

/// Which completions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    /// All of the grammar.
    All,
    /// Those that no watch refuses.
    Safe,
}

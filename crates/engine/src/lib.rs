//! Exact token masks: rows, the lazy stack automaton, memoised masks, sessions.

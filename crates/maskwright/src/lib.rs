//! Constrained decoding: given a grammar and a vocabulary, exactly which tokens may come next.

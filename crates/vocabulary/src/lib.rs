//! A model's vocabulary: tokens and their bytes, the token trie, packed masks, loaders for tokenizer files.

/* The masks of pairs through llguidance.h: pairs_llguidance VOCABULARY PAIRS. */
#include "llguidance.h"
#include "pairs.h"

/* The kind under which a grammar goes as it is written, or NULL if it goes as exported text. */
static const char *kind_of(const char *kind, const char *options) {
  if (!strcmp(kind, "json_schema") && !strcmp(options, "{}")) return "json_schema";
  if (!strcmp(kind, "regex") && strstr(options, "\"rust\"")) return "regex";
  if (!strcmp(kind, "lark") && strstr(options, "llguidance")) return "lark";
  return NULL;
}

int main(int n_arguments, char **arguments) {
  vocabulary v = read_vocabulary(arguments[1], 1);
  LlgTokenizerInit init = {0};
  LlgConstraintInit with;
  LlgTokenizer *tokenizer;
  char error[512];
  size_t i, n_written = 0, n_words = (v.n + 31) / 32;
  FILE *pairs = n_arguments == 3 ? fopen(arguments[2], "r") : NULL;
  char *kind;
  if (!pairs) stop("no pairs");
  init.vocab_size = (uint32_t)v.n;
  init.token_lens = v.lengths;
  init.token_bytes = v.bytes;
  init.use_approximate_greedy_tokenize_fn = true;
  for (i = 0; i < v.n; i++)
    if (v.marks[i] == 'e') init.tok_eos = (uint32_t)i;
  tokenizer = llg_new_tokenizer(&init, error, sizeof error);
  if (!tokenizer) stop(error);
  llg_constraint_init_set_defaults(&with, tokenizer);
  while ((kind = line_of(pairs))) {
    char *source = text_of(line_of(pairs)), *options = text_of(line_of(pairs)), *exported = text_of(line_of(pairs));
    char *tokens = line_of(pairs), *token = strtok(tokens, " ");
    const char *own = kind_of(kind, options);
    LlgMatcher *matcher = llg_new_matcher(&with, own ? own : "lark", own ? source : exported);
    uint64_t number = NO_MASKS;
    n_written += own != NULL;
    for (;; token = strtok(NULL, " ")) {
      if (llg_matcher_compute_mask(matcher) || !llg_matcher_get_mask(matcher)) stop(llg_matcher_get_error(matcher));
      number = add_mask(number, llg_matcher_get_mask(matcher), n_words);
      if (!token) break;
      if (llg_matcher_consume_token(matcher, (uint32_t)atoi(token))) stop(llg_matcher_get_error(matcher));
      if (llg_matcher_get_mask(matcher)) stop("a mask of before the token");
    }
    print_masks(number);
    llg_free_matcher(matcher);
    free(kind), free(source), free(options), free(exported), free(tokens);
  }
  if (n_written < 200) stop("too few grammars as they are written");
  llg_free_tokenizer(tokenizer);
  fclose(pairs);
  free_vocabulary(v);
  return 0;
}

/* The masks of pairs through maskwright.h: pairs_native VOCABULARY PAIRS. */
#include "maskwright.h"
#include "pairs.h"

static void check(mw_status status, mw_error **error) {
  if (status != MW_STATUS_OK) stop(*error ? (*error)->message : "no message");
}

int main(int n_arguments, char **arguments) {
  vocabulary v = read_vocabulary(arguments[1], 0);
  mw_error *error = NULL;
  mw_tokenizer *tokenizer;
  mw_compiler *compiler;
  size_t i, n_words = (v.n + 31) / 32;
  uint32_t *mask = malloc(4 * n_words);
  FILE *pairs = n_arguments == 3 ? fopen(arguments[2], "r") : NULL;
  char *kind;
  if (!pairs) stop("no pairs");
  for (i = 0; i < v.n; i++)
    v.marks[i] = v.marks[i] == 's' ? MW_TOKEN_SPECIAL : v.marks[i] == 'e' ? MW_TOKEN_ENDS_TEXT : 0;
  check(mw_tokenizer_from_tokens(v.bytes, v.lengths, (uint8_t *)v.marks, v.n, &tokenizer, &error), &error);
  check(mw_compiler_new(tokenizer, NULL, &compiler, &error), &error);
  while ((kind = line_of(pairs))) {
    char *source = text_of(line_of(pairs)), *options = text_of(line_of(pairs)), *exported = line_of(pairs);
    char *tokens = line_of(pairs), *token = strtok(tokens, " ");
    uint64_t number = NO_MASKS;
    mw_grammar *grammar;
    mw_session *session;
    check(mw_compile(compiler, kind, source, strlen(source), options, NULL, &grammar, &error), &error);
    check(mw_session_new(grammar, NULL, &session, &error), &error);
    for (;; token = strtok(NULL, " ")) {
      bool is_accepted;
      check(mw_session_fill_mask(session, mask, n_words, NULL, &error), &error);
      number = add_mask(number, mask, n_words);
      if (!token) break;
      check(mw_session_accept(session, (uint32_t)atoi(token), &is_accepted, &error), &error);
      if (!is_accepted) stop("a token was refused");
    }
    print_masks(number);
    mw_session_free(session);
    mw_grammar_free(grammar);
    free(kind), free(source), free(options), free(exported), free(tokens);
  }
  mw_compiler_free(compiler);
  mw_tokenizer_free(tokenizer);
  fclose(pairs);
  free(mask);
  free_vocabulary(v);
  return 0;
}

/* The masks of pairs through Ollama's seven functions, in a library that is opened as Ollama does:
   pairs_ollama VOCABULARY PAIRS LIBRARY. Only JSON Schemas without options are read; for others an empty line is
   printed. */
#include "ollama.h"
#include "pairs.h"

int main(int n_arguments, char **arguments) {
  vocabulary v = read_vocabulary(arguments[1], 0);
  const char *missing = n_arguments == 4 ? open_library(arguments[3]) : "the library";
  FILE *pairs = fopen(arguments[2], "r");
  uint64_t *ends = malloc(8 * v.n), at = 0, kept = 0;
  size_t i, n_words;
  int32_t end = -1, padded = (int32_t)v.n + 40, *mask;
  char *kind;
  model *m;
  if (missing) stop(missing);
  if (!pairs) stop("no pairs");
  /* Ollama has no special tokens: here they are empty, in a vocabulary that is padded. */
  for (i = 0; i < v.n; i++) {
    if (v.marks[i] != 's') {
      memmove(v.bytes + kept, v.bytes + at, v.lengths[i]);
      kept += v.lengths[i];
    }
    at += v.lengths[i];
    ends[i] = kept;
    if (v.marks[i] == 'e') end = (int32_t)i;
  }
  n_words = ((size_t)padded + 31) / 32;
  mask = malloc(4 * n_words);
  if (model_new((char *)v.bytes, kept, ends, v.n, padded, &end, 1, &m)) stop(last_error());
  while ((kind = line_of(pairs))) {
    char *source = text_of(line_of(pairs)), *options = text_of(line_of(pairs)), *exported = line_of(pairs);
    char *tokens = line_of(pairs), *token = strtok(tokens, " ");
    uint64_t number = NO_MASKS;
    matcher *text;
    if (strcmp(kind, "json_schema") || strcmp(options, "{}")) {
      printf("\n");
    } else {
      if (matcher_new(m, 1, source, strlen(source), &text)) stop(last_error());
      for (;; token = strtok(NULL, " ")) {
        int needs_apply, accepted;
        if (matcher_fill(text, mask, n_words, &needs_apply)) stop(last_error());
        if (!needs_apply) stop("a mask of all tokens");
        number = add_mask(number, (uint32_t *)mask, (v.n + 31) / 32);
        if (!token) break;
        if (matcher_accept(text, atoi(token), &accepted)) stop(last_error());
        if (!accepted) stop("a token was refused");
      }
      print_masks(number);
      matcher_free(text);
    }
    free(kind), free(source), free(options), free(exported), free(tokens);
  }
  model_free(m);
  fclose(pairs);
  free(mask), free(ends);
  free_vocabulary(v);
  return 0;
}

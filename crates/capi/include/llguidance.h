/* For programs that are written for llguidance's C interface: the same functions, by Maskwright. Link with
   -lmaskwright_llguidance.

   Functions that take const pointers may run on several threads at once, all others need their objects for
   themselves while they run. */

#ifndef LLGUIDANCE_H
#define LLGUIDANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Leave special tokens out, and other bytes as they are.
 */
#define LLG_DECODE_NONE 0

/**
 * Write special tokens by their names.
 */
#define LLG_DECODE_INCLUDE_SPECIAL 1

/**
 * Write U+FFFD for what is not UTF-8.
 */
#define LLG_DECODE_VALID_UTF8 2

/**
 * One text under a grammar.
 */
typedef struct LlgConstraint LlgConstraint;

/**
 * One text under a grammar.
 */
typedef struct LlgMatcher LlgMatcher;

/**
 * Watches a text for where it stops.
 */
typedef struct LlgStopController LlgStopController;

/**
 * A vocabulary, how it cuts text, and what compiles for it.
 */
typedef struct LlgTokenizer LlgTokenizer;

/**
 * Limits of llguidance's parser. Ignored: Maskwright has limits of its own.
 */
typedef struct LlgParserLimits {
  /**
   * Items of one row of its parser.
   */
  size_t max_items_in_row;
  /**
   * Work for the expressions of its lexer.
   */
  uint64_t initial_lexer_fuel;
  /**
   * Work of its lexer for a mask.
   */
  uint64_t step_lexer_fuel;
  /**
   * Items of its parser for a mask.
   */
  size_t step_max_items;
  /**
   * States of its lexer.
   */
  size_t max_lexer_states;
  /**
   * Symbols of a grammar.
   */
  size_t max_grammar_size;
  /**
   * Whether large expressions are run over the vocabulary at once.
   */
  bool precompute_large_lexemes;
  /**
   * Whether errors say where the text is.
   */
  bool verbose_errors;
} LlgParserLimits;

/**
 * How a matcher or constraint is made.
 */
typedef struct LlgConstraintInit {
  /**
   * The tokenizer that masks are for.
   */
  const struct LlgTokenizer *tokenizer;
  /**
   * What `llg_flush_logs` tells: 0 nothing, 1 warnings, 2 also each step.
   */
  uint32_t log_buffer_level;
  /**
   * The same for standard error.
   */
  uint32_t log_stderr_level;
  /**
   * Whether `llg_commit_token` may return more tokens than the one it was given. Of constraints alone.
   */
  bool ff_tokens_ok;
  /**
   * Whether tokens may be taken back. Nothing here ever asks for it.
   */
  bool backtrack_ok;
  /**
   * Ignored.
   */
  struct LlgParserLimits limits;
} LlgConstraintInit;

/**
 * A mask.
 */
typedef struct LlgMaskResult {
  /**
   * A bit for each token, until the next call for the constraint; NULL if the text has stopped.
   */
  const uint32_t *sample_mask;
  /**
   * Always 0: grammars set no temperature.
   */
  float temperature;
  /**
   * Whether the text has stopped.
   */
  bool is_stop;
} LlgMaskResult;

/**
 * The id of a token.
 */
typedef uint32_t LlgToken;

/**
 * What a token led to.
 */
typedef struct LlgCommitResult {
  /**
   * The tokens to append, until the next call for the constraint.
   */
  const uint32_t *tokens;
  /**
   * How many they are.
   */
  uint32_t n_tokens;
  /**
   * Whether the text has stopped.
   */
  bool is_stop;
} LlgCommitResult;

/**
 * A constraint whose mask is to be computed, and where to.
 */
typedef struct LlgConstraintStep {
  /**
   * The constraint; NULL is left out.
   */
  struct LlgConstraint *constraint;
  /**
   * Where the mask is written.
   */
  uint32_t *mask_dest;
  /**
   * How many bytes are there.
   */
  size_t mask_byte_len;
} LlgConstraintStep;

/**
 * What is called when work is done.
 */
typedef void (*LlgCallback)(const void *user_data);

/**
 * Tokenizes bytes: writes at most `output_tokens_len` ids, and returns how many there are. Must be
 * callable from any thread.
 */
typedef size_t (*LlgTokenizeFn)(const void *user_data,
                                const uint8_t *bytes,
                                size_t bytes_len,
                                uint32_t *output_tokens,
                                size_t output_tokens_len);

/**
 * What an older program gives for a tokenizer. Fill it with zeros first.
 */
typedef struct LlgTokenizerInit {
  /**
   * How many tokens there are.
   */
  uint32_t vocab_size;
  /**
   * The token that ends a text.
   */
  LlgToken tok_eos;
  /**
   * The length of each token.
   */
  const uint32_t *token_lens;
  /**
   * The bytes of all tokens. Those of special tokens begin with 0xFF.
   */
  const uint8_t *token_bytes;
  /**
   * The text of a `tokenizer.json`, instead of the two.
   */
  const char *tokenizer_json;
  /**
   * Whether `tokenize_fn` takes only UTF-8, and may put something before its tokens.
   */
  bool tokenize_assumes_string;
  /**
   * How text is tokenized.
   */
  LlgTokenizeFn tokenize_fn;
  /**
   * Whether text is tokenized by longest match if there is no `tokenize_fn`.
   */
  bool use_approximate_greedy_tokenize_fn;
  /**
   * The first argument of `tokenize_fn`.
   */
  const void *tokenize_user_data;
  /**
   * Ignored.
   */
  const char *const *slices;
} LlgTokenizerInit;

/**
 * What a program gives for a tokenizer: as [`LlgTokenizerInit`], with its own size in front, and more tokens
 * that end a text. Fill it with zeros first.
 */
typedef struct LlgTokenizerInitV2 {
  /**
   * The size of this struct.
   */
  size_t struct_size;
  /**
   * How many tokens there are.
   */
  uint32_t vocab_size;
  /**
   * The token that ends a text.
   */
  LlgToken tok_eos;
  /**
   * The length of each token.
   */
  const uint32_t *token_lens;
  /**
   * The bytes of all tokens. Those of special tokens begin with 0xFF.
   */
  const uint8_t *token_bytes;
  /**
   * The text of a `tokenizer.json`, instead of the two.
   */
  const char *tokenizer_json;
  /**
   * Whether `tokenize_fn` takes only UTF-8, and may put something before its tokens.
   */
  bool tokenize_assumes_string;
  /**
   * How text is tokenized.
   */
  LlgTokenizeFn tokenize_fn;
  /**
   * Whether text is tokenized by longest match if there is no `tokenize_fn`.
   */
  bool use_approximate_greedy_tokenize_fn;
  /**
   * The first argument of `tokenize_fn`.
   */
  const void *tokenize_user_data;
  /**
   * Ignored.
   */
  const char *const *slices;
  /**
   * More tokens that end a text.
   */
  const LlgToken *tok_eos_extra;
  /**
   * How many these are.
   */
  uint32_t tok_eos_extra_count;
} LlgTokenizerInitV2;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Fills in the defaults: warnings on standard error, and one token at a time.
 */
void llg_constraint_init_set_defaults(struct LlgConstraintInit *init,
                                      const struct LlgTokenizer *tokenizer);

/**
 * What this library is and whose interface it has, as `name@version` with blanks between. Not to be freed.
 */
const char *llg_get_version(void);

/**
 * A constraint of llguidance's list of grammars. Never NULL: `llg_get_error` says whether it could be made.
 * To be freed with `llg_free_constraint`.
 */
struct LlgConstraint *llg_new_constraint(const struct LlgConstraintInit *init,
                                         const char *llguidance);

/**
 * The same of a regular expression.
 */
struct LlgConstraint *llg_new_constraint_regex(const struct LlgConstraintInit *init,
                                               const char *regex);

/**
 * The same of a JSON Schema.
 */
struct LlgConstraint *llg_new_constraint_json(const struct LlgConstraintInit *init,
                                              const char *json_schema);

/**
 * The same of a Lark grammar.
 */
struct LlgConstraint *llg_new_constraint_lark(const struct LlgConstraintInit *init,
                                              const char *lark);

/**
 * The same of a kind, as for `llg_new_matcher`.
 */
struct LlgConstraint *llg_new_constraint_any(const struct LlgConstraintInit *init,
                                             const char *constraint_type,
                                             const char *data);

/**
 * What went wrong, as long as the constraint lives; NULL if nothing did.
 */
const char *llg_get_error(const struct LlgConstraint *cc);

/**
 * Always 0: grammars set no temperature.
 */
float llg_get_temperature(const struct LlgConstraint *_cc);

/**
 * Whether the last mask has said that the text has stopped; also after an error.
 */
bool llg_is_stopped(const struct LlgConstraint *cc);

/**
 * Computes the mask of the tokens that may come next. 0, or -1 for an error.
 */
int32_t llg_compute_mask(struct LlgConstraint *cc, struct LlgMaskResult *res_p);

/**
 * Accepts the token that was chosen by the mask. 0, or -1 for an error: after a refused token the object
 * stays in the error state.
 */
int32_t llg_commit_token(struct LlgConstraint *cc,
                         LlgToken token,
                         struct LlgCommitResult *res_p);

/**
 * Computes the masks of several constraints on other threads, then calls `done_cb`, on one of them. If it is
 * NULL, the call returns when the masks are there. A text that has stopped has the tokens that end it in its
 * mask. Until then the constraints and masks are in use; none may be there twice.
 */
void llg_par_compute_mask(const struct LlgConstraintStep *steps,
                          size_t n_steps,
                          const void *user_data,
                          LlgCallback done_cb);

/**
 * A constraint in the same state, to be freed by itself.
 */
struct LlgConstraint *llg_clone_constraint(const struct LlgConstraint *cc);

/**
 * Frees a constraint; NULL is nothing to free.
 */
void llg_free_constraint(struct LlgConstraint *cc);

/**
 * The log since the last call, until the next; NULL for NULL.
 */
const char *llg_flush_logs(struct LlgConstraint *cc);

/**
 * A matcher, never NULL, to be freed with `llg_free_matcher`: `llg_matcher_get_error` says whether it could
 * be made. `constraint_type`: "regex", "json_schema" (or "json"), "json_object", "lark", "llguidance" (or
 * "guidance").
 */
struct LlgMatcher *llg_new_matcher(const struct LlgConstraintInit *init,
                                   const char *constraint_type,
                                   const char *data);

/**
 * Whether a grammar could be used: 0 if so, 1 with a warning in `message`, -1 with an error in it.
 */
int32_t llg_validate_grammar(const struct LlgConstraintInit *init,
                             const char *constraint_type,
                             const char *data,
                             char *message,
                             size_t message_len);

/**
 * Computes the mask of the tokens that may come next into a buffer of `llg_matcher_get_mask_byte_size`
 * bytes. 0, or -1 for an error.
 */
int32_t llg_matcher_compute_mask_into(struct LlgMatcher *matcher,
                                      uint32_t *mask_dest,
                                      size_t mask_byte_len);

/**
 * Computes the mask of the tokens that may come next, for `llg_matcher_get_mask`. 0, or -1 for an error.
 */
int32_t llg_matcher_compute_mask(struct LlgMatcher *matcher);

/**
 * The mask that was computed last; NULL if the text has changed since.
 */
const uint32_t *llg_matcher_get_mask(struct LlgMatcher *matcher);

/**
 * How many bytes a mask has.
 */
size_t llg_matcher_get_mask_byte_size(const struct LlgMatcher *matcher);

/**
 * Accepts a token. 0, or -1 for an error: after a refused token the object stays in the error state.
 */
int32_t llg_matcher_consume_token(struct LlgMatcher *matcher,
                                  uint32_t token);

/**
 * The same for several tokens.
 */
int32_t llg_matcher_consume_tokens(struct LlgMatcher *matcher,
                                   const uint32_t *tokens,
                                   size_t n_tokens);

/**
 * What went wrong, as long as the matcher lives; NULL if nothing did.
 */
const char *llg_matcher_get_error(struct LlgMatcher *matcher);

/**
 * Whether something went wrong.
 */
bool llg_matcher_is_error(const struct LlgMatcher *matcher);

/**
 * Frees a matcher; NULL is nothing to free.
 */
void llg_free_matcher(struct LlgMatcher *matcher);

/**
 * Takes the last tokens back. 0, or -1 for an error.
 */
int32_t llg_matcher_rollback(struct LlgMatcher *matcher, size_t num_tokens);

/**
 * Goes back to the beginning. 0, or -1 for an error, and after one.
 */
int32_t llg_matcher_reset(struct LlgMatcher *matcher);

/**
 * Whether the text may end here.
 */
bool llg_matcher_is_accepting(struct LlgMatcher *matcher);

/**
 * Whether nothing may follow but a token that ends the text; also after an error.
 */
bool llg_matcher_is_stopped(const struct LlgMatcher *matcher);

/**
 * How many of the tokens could be accepted, one after the other; -1 for an error. The text does not change.
 */
int32_t llg_matcher_validate_tokens(struct LlgMatcher *matcher,
                                    const uint32_t *tokens,
                                    size_t n_tokens);

/**
 * The tokens that must come next: writes as many ids as the buffer holds, and returns how many it wrote; -1
 * for an error.
 */
int32_t llg_matcher_compute_ff_tokens(struct LlgMatcher *matcher,
                                      uint32_t *output,
                                      size_t output_len);

/**
 * A matcher in the same state, to be freed by itself.
 */
struct LlgMatcher *llg_clone_matcher(const struct LlgMatcher *matcher);

/**
 * A controller that stops at `stop_tokens`, and before text that `stop_rx` matches (NULL for none), to be
 * freed with `llg_free_stop_controller`; NULL, and a message in `error_string`, if it cannot be made.
 */
struct LlgStopController *llg_new_stop_controller(const struct LlgTokenizer *tokenizer,
                                                  const uint32_t *stop_tokens,
                                                  size_t stop_tokens_len,
                                                  const char *stop_rx,
                                                  char *error_string,
                                                  size_t error_string_len);

/**
 * Reads a token. Returns the text to show, until the next call, its length in `output_len_p`, and in
 * `is_stopped_p` whether the text has stopped. A NUL byte follows it. NULL for NULL.
 */
const char *llg_stop_commit_token(struct LlgStopController *stop_ctrl,
                                  uint32_t token,
                                  size_t *output_len_p,
                                  bool *is_stopped_p);

/**
 * A controller in the same state, to be freed by itself.
 */
struct LlgStopController *llg_clone_stop_controller(const struct LlgStopController *stop_ctrl);

/**
 * Frees a controller; NULL is nothing to free.
 */
void llg_free_stop_controller(struct LlgStopController *stop_ctrl);

/**
 * A tokenizer, to be freed with `llg_free_tokenizer`; NULL, and a message in `error_string`, if it cannot be
 * made.
 */
struct LlgTokenizer *llg_new_tokenizer(const struct LlgTokenizerInit *tok_init,
                                       char *error_string,
                                       size_t error_string_len);

/**
 * The same with more tokens that end a text. Of the struct, `struct_size` bytes are read, so a program that
 * knows fewer fields works too.
 */
struct LlgTokenizer *llg_new_tokenizer_v2(const struct LlgTokenizerInitV2 *tok_init,
                                          char *error_string,
                                          size_t error_string_len);

/**
 * The same tokenizer once more, to be freed by itself.
 */
struct LlgTokenizer *llg_clone_tokenizer(const struct LlgTokenizer *tok);

/**
 * Frees a tokenizer; NULL is nothing to free. What was made with it stays valid.
 */
void llg_free_tokenizer(struct LlgTokenizer *tok);

/**
 * Tokenizes bytes: writes as many ids as the buffer holds, and returns how many there are.
 */
size_t llg_tokenize_bytes(const struct LlgTokenizer *tok,
                          const uint8_t *bytes,
                          size_t bytes_len,
                          uint32_t *output_tokens,
                          size_t output_tokens_len);

/**
 * The same; after a byte 0xFF, `<name>` and `[id]` stand for a special token.
 */
size_t llg_tokenize_bytes_marker(const struct LlgTokenizer *tok,
                                 const uint8_t *bytes,
                                 size_t bytes_len,
                                 uint32_t *output_tokens,
                                 size_t output_tokens_len);

/**
 * Tokens for people to read, between marks. Writes what the buffer holds, with a NUL byte, and returns how
 * many bytes there are with it.
 */
size_t llg_stringify_tokens(const struct LlgTokenizer *tok,
                            const uint32_t *tokens,
                            size_t n_tokens,
                            char *output,
                            size_t output_len);

/**
 * The text of tokens. `flags`: any of LLG_DECODE_… Writes what the buffer holds, with a NUL byte, and
 * returns how many bytes there are with it.
 */
size_t llg_decode_tokens(const struct LlgTokenizer *tok,
                         const uint32_t *tokens,
                         size_t n_tokens,
                         char *output,
                         size_t output_len,
                         uint32_t flags);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LLGUIDANCE_H */

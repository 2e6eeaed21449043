/* Maskwright: which tokens may come next, given a grammar. Link with -lmaskwright.

   A function that can fail returns a status, writes its result through a pointer, and takes as its last argument
   where to put an error (NULL if it is not wanted), which mw_error_free frees. Pointers are NULL or lead to what
   their type says; texts are UTF-8 and end with a NUL byte, or have a length. NULL, and an object of another type,
   are refused with MW_STATUS_ARGUMENT.

   Threads: a function that takes its objects as const may run on several threads at once. All others need an
   object for themselves while they run. */

#ifndef MASKWRIGHT_H
#define MASKWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of this interface. A library with the same one has all that this header declares.
 */
#define MW_ABI_VERSION 1

/**
 * Tokens of the last mask may be missing; those in it are allowed.
 */
#define MW_MASK_IS_BOUND 1

/**
 * The last mask allows every token, and need not be applied.
 */
#define MW_MASK_IS_FULL 2

/**
 * The bytes of a token are its name; it never matches as text.
 */
#define MW_TOKEN_SPECIAL 1

/**
 * The token ends a text.
 */
#define MW_TOKEN_ENDS_TEXT 2

/**
 * The result of a call.
 */
typedef enum mw_status {
  /**
   * It did what it says.
   */
  MW_STATUS_OK = 0,
  /**
   * The grammar is wrong or matches no text, or the call is not supported for its kind.
   */
  MW_STATUS_GRAMMAR = 1,
  /**
   * The JSON Schema is wrong, unsatisfiable, or has a keyword that cannot be enforced.
   */
  MW_STATUS_SCHEMA = 2,
  /**
   * The tokenizer is wrong, or a text cannot be written with it.
   */
  MW_STATUS_TOKENIZER = 3,
  /**
   * A limit on work or size was reached.
   */
  MW_STATUS_LIMIT = 4,
  /**
   * The work was cancelled.
   */
  MW_STATUS_CANCELLED = 5,
  /**
   * The limit on tokens is too small; `needed` of the error is large enough.
   */
  MW_STATUS_MAX_TOKENS_TOO_SMALL = 6,
  /**
   * No text of the grammar can be written.
   */
  MW_STATUS_NO_TEXT = 7,
  /**
   * What the call was given is wrong: NULL, an object of another kind, a buffer that is too short.
   */
  MW_STATUS_ARGUMENT = 8,
  /**
   * The call does not fit what was done before, such as a rollback beyond the beginning.
   */
  MW_STATUS_STATE = 9,
  /**
   * A bug in this library. The session that was called stays broken until `mw_session_reset`.
   */
  MW_STATUS_INTERNAL = 10,
} mw_status;

/**
 * Stops work from another thread.
 */
typedef struct mw_cancel_token mw_cancel_token;

/**
 * Compiles grammars for one tokenizer, and has the caches that they share.
 */
typedef struct mw_compiler mw_compiler;

/**
 * A compiled grammar.
 */
typedef struct mw_grammar mw_grammar;

/**
 * One text under a grammar: the tokens so far, and which may come next.
 */
typedef struct mw_session mw_session;

/**
 * A model's tokens, and how it cuts text.
 */
typedef struct mw_tokenizer mw_tokenizer;

/**
 * Why a call failed, and where. Texts are NULL and numbers 0 where they do not apply.
 */
typedef struct mw_error {
  /**
   * What the call returned.
   */
  enum mw_status status;
  /**
   * Where, what, and what to do about it.
   */
  char *message;
  /**
   * The JSON pointer of the schema at fault; the empty text is the whole document.
   */
  char *pointer;
  /**
   * The keyword at fault there.
   */
  char *keyword;
  /**
   * The file at fault.
   */
  char *path;
  /**
   * What to do about it.
   */
  char *hint;
  /**
   * The limit that was reached.
   */
  char *limit;
  /**
   * Its value.
   */
  uint64_t limit_value;
  /**
   * The line of the text at fault, from 1.
   */
  size_t line;
  /**
   * The column, in characters from 1.
   */
  size_t column;
  /**
   * How many tokens are enough.
   */
  size_t needed;
} mw_error;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The interface of the library that is in use: `MW_ABI_VERSION` of its header. May be called from any
 * thread.
 */
uint32_t mw_abi_version(void);

/**
 * The version of Maskwright, such as "0.1.0". Not to be freed. May be called from any thread.
 */
const char *mw_version(void);

/**
 * Frees a text that a function of this header has returned; NULL is nothing to free.
 */
void mw_text_free(char *text);

/**
 * A compiler. `limits`: JSON, the limits of Python's `Compiler(limits=…)` in one object, such as
 * `{"compile_work": 1000000, "mask_work": 500000}`, or NULL. Result: `compiler`, to be freed with
 * `mw_compiler_free`. May be called from any thread.
 */
enum mw_status mw_compiler_new(const struct mw_tokenizer *tokenizer,
                               const char *limits,
                               struct mw_compiler **compiler,
                               struct mw_error **error);

/**
 * Frees a compiler; NULL is nothing to free. Grammars that it compiled stay valid.
 */
void mw_compiler_free(struct mw_compiler *compiler);

/**
 * The bytes that the compiler's caches and grammars take. 0 for NULL. May be called from any thread.
 */
size_t mw_compiler_memory(const struct mw_compiler *compiler);

/**
 * Compiles a grammar.
 *
 * * `kind`: "json_schema", "regex", "choice", "lark", "gbnf", "structural_tag", "tool_calls" or "builtin".
 * * `source`, `n_bytes`: its text; choices as a JSON array of texts, tools as JSON (MCP, OpenAI's or
 *   Anthropic's), a built-in grammar by its name.
 * * `options`: JSON, the options of Python's `compile_…` for the kind, such as
 *   `{"whitespace": "compact"}`; tool calls need `{"format": "qwen_3"}`. NULL for none.
 * * `cancel`: ends the compilation when it is cancelled on another thread; may be NULL.
 *
 * Result: `grammar`, to be freed with `mw_grammar_free`. May be called from any thread.
 */
enum mw_status mw_compile(const struct mw_compiler *compiler,
                          const char *kind,
                          const char *source,
                          size_t n_bytes,
                          const char *options,
                          const struct mw_cancel_token *cancel,
                          struct mw_grammar **grammar,
                          struct mw_error **error);

/**
 * Frees a grammar; NULL is nothing to free. Its sessions stay valid.
 */
void mw_grammar_free(struct mw_grammar *grammar);

/**
 * What became of each keyword of a schema: a JSON array of objects with `pointer`, `keyword`, `status`,
 * `reason`, `suggestion` and `tool`. To be freed with `mw_text_free`; NULL for NULL. May be called from any
 * thread.
 */
char *mw_grammar_report(const struct mw_grammar *grammar);

/**
 * Reads a whole text: what it says, as a JSON object with `text`, `reasoning`, `calls` (each with `name`,
 * `id`, `arguments` as JSON text or `input`), `value` (JSON text) and `captures`. Result: `message`, to be
 * freed with `mw_text_free`. May be called from any thread.
 */
enum mw_status mw_grammar_parse(const struct mw_grammar *grammar,
                                const uint8_t *text,
                                size_t n_bytes,
                                char **message,
                                struct mw_error **error);

/**
 * The grammar as a text that goes wherever `libmaskwright_llguidance` is given Lark, such as the field
 * `grammar` of llama-server. Result: `exported`, to be freed with `mw_text_free`. Fails for grammars that
 * need other files. May be called from any thread.
 */
enum mw_status mw_grammar_export(const struct mw_grammar *grammar,
                                 char **exported,
                                 struct mw_error **error);

/**
 * A token that stops work from another thread, to be freed with `mw_cancel_free`. May be called from any
 * thread.
 */
struct mw_cancel_token *mw_cancel_new(void);

/**
 * Stops the work that was given this, now and later. May be called from any thread.
 */
void mw_cancel(const struct mw_cancel_token *cancel);

/**
 * Frees what stops work; NULL is nothing to free. Work that was given it is not stopped.
 */
void mw_cancel_free(struct mw_cancel_token *cancel);

/**
 * Frees an error; NULL is nothing to free.
 */
void mw_error_free(struct mw_error *error);

/**
 * A session at the beginning of a text. `options`: JSON, `{"max_tokens": 200, "stop_token_ids": [5]}` (the
 * text is complete within so many tokens, the one that ends it included; tokens that end it too), or NULL.
 * Result: `session`, to be freed with `mw_session_free`. May be called from any thread.
 */
enum mw_status mw_session_new(const struct mw_grammar *grammar,
                              const char *options,
                              struct mw_session **session,
                              struct mw_error **error);

/**
 * Frees a session; NULL is nothing to free.
 */
void mw_session_free(struct mw_session *session);

/**
 * An independent session in the same state, at a cost that does not depend on the text's length. Result:
 * `clone`, to be freed with `mw_session_free`.
 */
enum mw_status mw_session_clone(struct mw_session *session,
                                struct mw_session **clone,
                                struct mw_error **error);

/**
 * Makes later calls of this session end with `MW_STATUS_CANCELLED` once `cancel` is cancelled; NULL
 * removes the token. A call that is cancelled leaves the session as it was.
 */
enum mw_status mw_session_cancel_with(struct mw_session *session,
                                      const struct mw_cancel_token *cancel,
                                      struct mw_error **error);

/**
 * Writes the mask of the tokens that may come next to `n_words` words: at least `mw_tokenizer_mask_words`,
 * those beyond are cleared. `flags`: MW_MASK_IS_BOUND and MW_MASK_IS_FULL; may be NULL. After the end of the
 * text the mask has the tokens that end it; if the tokenizer has none, all tokens, as soon as nothing can
 * follow. If the call fails, don't use the words.
 */
enum mw_status mw_session_fill_mask(struct mw_session *session,
                                    uint32_t *mask,
                                    size_t n_words,
                                    uint32_t *flags,
                                    struct mw_error **error);

/**
 * Fills a row of `masks` for each of `n` sessions, which must all be different; `words_per_row` words from
 * one row to the next. `n_threads` at most are at work, 0: one for each core. `statuses`: what became of
 * each row; may be NULL. A row that fails is cleared, and the call returns the status of the first that did.
 */
enum mw_status mw_fill_masks(struct mw_session *const *sessions,
                             size_t n,
                             uint32_t *masks,
                             size_t words_per_row,
                             size_t n_threads,
                             enum mw_status *statuses,
                             struct mw_error **error);

/**
 * Accepts a token if it is allowed. Result: `is_accepted`. A refused token changes nothing.
 */
enum mw_status mw_session_accept(struct mw_session *session,
                                 uint32_t id,
                                 bool *is_accepted,
                                 struct mw_error **error);

/**
 * Accepts tokens until one is refused. Result: `n_accepted`, how many were accepted, also if the call fails.
 */
enum mw_status mw_session_accept_tokens(struct mw_session *session,
                                        const uint32_t *ids,
                                        size_t n_ids,
                                        size_t *n_accepted,
                                        struct mw_error **error);

/**
 * Accepts a text if some text of the grammar continues with it. Result: `is_accepted`. A rollback undoes it
 * in one step.
 */
enum mw_status mw_session_accept_bytes(struct mw_session *session,
                                       const uint8_t *text,
                                       size_t n_bytes,
                                       bool *is_accepted,
                                       struct mw_error **error);

/**
 * How many of the tokens would be accepted, one after the other. The session does not change.
 */
enum mw_status mw_session_validate(struct mw_session *session,
                                   const uint32_t *ids,
                                   size_t n_ids,
                                   size_t *n_accepted,
                                   struct mw_error **error);

/**
 * Undoes the last `n` steps: tokens, and calls of `mw_session_accept_bytes`.
 */
enum mw_status mw_session_rollback(struct mw_session *session, size_t n, struct mw_error **error);

/**
 * Goes back to the beginning of the text, which also mends a session that has met a bug.
 */
enum mw_status mw_session_reset(struct mw_session *session, struct mw_error **error);

/**
 * Result: `is_accepting`, whether the text may end here.
 */
enum mw_status mw_session_is_accepting(struct mw_session *session,
                                       bool *is_accepting,
                                       struct mw_error **error);

/**
 * Result: `is_terminated`, whether a token that ends the text was accepted.
 */
enum mw_status mw_session_is_terminated(struct mw_session *session,
                                        bool *is_terminated,
                                        struct mw_error **error);

/**
 * The tokens that can be taken without asking the model. Writes at most `capacity` ids to `ids`, which may
 * be NULL, and to `n_ids` how many there are.
 */
enum mw_status mw_session_forced_tokens(struct mw_session *session,
                                        uint32_t *ids,
                                        size_t capacity,
                                        size_t *n_ids,
                                        struct mw_error **error);

/**
 * A completion of the text, as short as is easily found, the token that ends it included. Writes at most
 * `capacity` ids to `ids`, which may be NULL, and to `n_ids` how many there are. The session does not
 * change.
 */
enum mw_status mw_session_finish(struct mw_session *session,
                                 uint32_t *ids,
                                 size_t capacity,
                                 size_t *n_ids,
                                 struct mw_error **error);

/**
 * Result: `n_tokens`, how many tokens complete the text at most, the one that ends it included; `is_exact`,
 * whether fewer are certainly not enough (may be NULL).
 */
enum mw_status mw_session_tokens_to_finish(struct mw_session *session,
                                           size_t *n_tokens,
                                           bool *is_exact,
                                           struct mw_error **error);

/**
 * What the text says, from event number `since` on: a JSON array of objects with `kind` ("text",
 * "reasoning", "tool", "argument", "input", "end") and the fields of Python's `Event`. Result: `events`, to
 * be freed with `mw_text_free`.
 */
enum mw_status mw_session_events(struct mw_session *session,
                                 size_t since,
                                 char **events,
                                 struct mw_error **error);

/**
 * Where the text is, and what may come next, in words: a JSON object with `path`, `within`, `rules`,
 * `keywords`, `next`, `is_complete` and `sentence`. Result: `state`, to be freed with `mw_text_free`.
 */
enum mw_status mw_session_state(struct mw_session *session,
                                char **state,
                                struct mw_error **error);

/**
 * Why a token is allowed or refused here, in words. Result: `words`, to be freed with `mw_text_free`.
 */
enum mw_status mw_session_explain(struct mw_session *session,
                                  uint32_t id,
                                  char **words,
                                  struct mw_error **error);

/**
 * Reads the tokenizer of a model: a Hugging Face `tokenizer.json`, or a GGUF file if its name ends so.
 *
 * In a library without encoders, text is tokenized by longest match, not as the model's tokenizer does: only
 * `mw_tokenizer_encode` and forced tokens depend on it.
 *
 * `options`: JSON, `{"eos_token_ids": [...], "vocab_size": n}` where the files are wrong, or NULL. Result:
 * `tokenizer`, to be freed with `mw_tokenizer_free`. May be called from any thread.
 */
enum mw_status mw_tokenizer_from_file(const char *path,
                                      const char *options,
                                      struct mw_tokenizer **tokenizer,
                                      struct mw_error **error);

/**
 * Reads the text of a Hugging Face `tokenizer.json`. As `mw_tokenizer_from_file`.
 */
enum mw_status mw_tokenizer_from_json(const uint8_t *json,
                                      size_t n_bytes,
                                      const char *options,
                                      struct mw_tokenizer **tokenizer,
                                      struct mw_error **error);

/**
 * A tokenizer of `n_tokens` tokens: their bytes one after the other, the length of each, and for each the
 * flags MW_TOKEN_SPECIAL and MW_TOKEN_ENDS_TEXT (`flags` may be NULL: all are text). An empty token never
 * matches. Text is tokenized by longest match. As `mw_tokenizer_from_file`.
 */
enum mw_status mw_tokenizer_from_tokens(const uint8_t *bytes,
                                        const uint32_t *lengths,
                                        const uint8_t *flags,
                                        size_t n_tokens,
                                        struct mw_tokenizer **tokenizer,
                                        struct mw_error **error);

/**
 * Frees a tokenizer; NULL is nothing to free. Compilers made of it stay valid.
 */
void mw_tokenizer_free(struct mw_tokenizer *tokenizer);

/**
 * How many tokens there are: the width of the model's logits. 0 for NULL. May be called from any thread.
 */
size_t mw_tokenizer_n_vocab(const struct mw_tokenizer *tokenizer);

/**
 * How many 32-bit words a mask has: bit `id % 32` of word `id / 32` is the token's. 0 for NULL. May be
 * called from any thread.
 */
size_t mw_tokenizer_mask_words(const struct mw_tokenizer *tokenizer);

/**
 * The bytes that a token stands for, which live as long as the tokenizer; NULL for one that is no text, and
 * for ids without a token. `n_bytes`: how many there are; may be NULL. May be called from any thread.
 */
const uint8_t *mw_tokenizer_token_bytes(const struct mw_tokenizer *tokenizer,
                                        uint32_t id,
                                        size_t *n_bytes);

/**
 * Tokenizes a text; the names of special tokens in it are text. Writes at most `capacity` ids to `ids`,
 * which may be NULL, and to `n_ids` how many the text has. May be called from any thread.
 */
enum mw_status mw_tokenizer_encode(const struct mw_tokenizer *tokenizer,
                                   const uint8_t *text,
                                   size_t n_bytes,
                                   uint32_t *ids,
                                   size_t capacity,
                                   size_t *n_ids,
                                   struct mw_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MASKWRIGHT_H */

/* What the tests of llguidance.h share: a tokenizer, and short names for what they ask. */

#ifndef LLG_H
#define LLG_H

#include "check.h"
#include "llguidance.h"

enum { N_WORDS = (N_TOKENS + 31) / 32 };

static vocabulary words;
static LlgTokenizer *tokenizer;
static LlgConstraintInit init;

static inline void set_up(void) {
    LlgTokenizerInit made;
    char message[256] = "";
    words = make_vocabulary(1);
    memset(&made, 0, sizeof made);
    made.vocab_size = N_TOKENS;
    made.tok_eos = TOKEN_END;
    made.token_lens = words.lengths;
    made.token_bytes = words.bytes;
    made.use_approximate_greedy_tokenize_fn = true;
    tokenizer = llg_new_tokenizer(&made, message, sizeof message);
    if (tokenizer == NULL) failed(__FILE__, __LINE__, message);
    llg_constraint_init_set_defaults(&init, tokenizer);
    init.log_stderr_level = 0;
}

static inline LlgMatcher *matcher_of(const char *kind, const char *data) {
    LlgMatcher *made = llg_new_matcher(&init, kind, data);
    CHECK(made != NULL);
    if (llg_matcher_is_error(made)) failed(__FILE__, __LINE__, llg_matcher_get_error(made));
    CHECK(llg_matcher_get_error(made) == NULL);
    return made;
}

/* Whether a text can be consumed, token by token. The matcher does not change if it can't. */
static inline bool consume_text(LlgMatcher *matcher, const char *text) {
    uint32_t ids[512];
    size_t n = llg_tokenize_bytes_marker(tokenizer, (const uint8_t *)text, strlen(text), ids, 512);
    CHECK(n <= 512);
    if (llg_matcher_validate_tokens(matcher, ids, n) != (int32_t)n) return false;
    CHECK(llg_matcher_consume_tokens(matcher, ids, n) == 0);
    return true;
}

/* Whether a text is one of the grammar. */
static inline bool is_text(const char *kind, const char *data, const char *text) {
    LlgMatcher *matcher = matcher_of(kind, data);
    bool is = consume_text(matcher, text) && llg_matcher_is_accepting(matcher);
    llg_free_matcher(matcher);
    return is;
}

static inline void put_message(const char *kind, const char *data, char *message, size_t length) {
    LlgMatcher *made = llg_new_matcher(&init, kind, data);
    CHECK(made != NULL && llg_matcher_is_error(made) && llg_matcher_get_error(made) != NULL);
    sprintf(message, "%.*s", (int)length - 1, llg_matcher_get_error(made));
    llg_free_matcher(made);
}

/* That a grammar is refused with a message that has a part. */
#define REFUSED(kind, data, part)                                                                                      \
    do {                                                                                                               \
        char message_[400];                                                                                            \
        put_message(kind, data, message_, sizeof message_);                                                            \
        HAS(message_, part);                                                                                           \
    } while (0)

#endif

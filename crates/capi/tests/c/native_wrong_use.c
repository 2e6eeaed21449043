/* maskwright.h: NULL and objects of another kind, for each argument of each function. */

#include "native.h"

/* NULL for each pointer of each function with objects. */
static void nulls(void) {
    mw_grammar *grammar = compiled("choice", "[\"yes\", \"no\"]", NULL), *g;
    mw_session *session = session_of(grammar), *s = NULL;
    mw_compiler *c;
    char *text;
    uint32_t mask[16], id = TOKEN_YES;
    size_t n;
    bool is;
    mw_status status;

    REFUSED(mw_compiler_new(NULL, NULL, &c, E));
    HAS(error->message, "the tokenizer is NULL");
    REFUSED(mw_compiler_new(tokenizer, NULL, NULL, E));
    REFUSED(mw_compile(NULL, "regex", "a", 1, NULL, NULL, &g, E));
    REFUSED(mw_compile(compiler, NULL, "a", 1, NULL, NULL, &g, E));
    REFUSED(mw_compile(compiler, "regex", NULL, 1, NULL, NULL, &g, E));
    REFUSED(mw_compile(compiler, "regex", "a", SIZE_MAX, NULL, NULL, &g, E));
    REFUSED(mw_compile(compiler, "regex", "a", 1, NULL, NULL, NULL, E));
    OK(mw_compile(compiler, "regex", NULL, 0, NULL, NULL, &g, E));
    mw_grammar_free(g);
    CHECK(mw_grammar_report(NULL) == NULL);
    REFUSED(mw_grammar_parse(NULL, (const uint8_t *)"yes", 3, &text, E));
    REFUSED(mw_grammar_parse(grammar, NULL, 3, &text, E));
    REFUSED(mw_grammar_parse(grammar, (const uint8_t *)"yes", 3, NULL, E));
    REFUSED(mw_grammar_export(NULL, &text, E));
    REFUSED(mw_grammar_export(grammar, NULL, E));
    mw_cancel(NULL);
    mw_cancel_free(NULL);
    mw_tokenizer_free(NULL);
    mw_compiler_free(NULL);
    mw_grammar_free(NULL);
    mw_session_free(NULL);

    REFUSED(mw_session_new(NULL, NULL, &s, E));
    REFUSED(mw_session_new(grammar, NULL, NULL, E));
    REFUSED(mw_session_clone(NULL, &s, E));
    REFUSED(mw_session_clone(session, NULL, E));
    REFUSED(mw_session_cancel_with(NULL, NULL, E));
    OK(mw_session_cancel_with(session, NULL, E));
    REFUSED(mw_session_fill_mask(NULL, mask, 16, NULL, E));
    REFUSED(mw_session_fill_mask(session, NULL, 16, NULL, E));
    REFUSED(mw_fill_masks(NULL, 1, mask, 16, 1, NULL, E));
    REFUSED(mw_fill_masks(&s, 1, mask, 16, 1, &status, E));
    REFUSED(mw_fill_masks(&session, 1, NULL, 16, 1, &status, E));
    REFUSED(mw_fill_masks(&session, 1, mask, 0, 1, &status, E));
    REFUSED(mw_fill_masks(&session, SIZE_MAX, mask, 16, 1, &status, E));
    OK(mw_fill_masks(NULL, 0, NULL, 0, 0, NULL, E));
    REFUSED(mw_session_accept(NULL, id, &is, E));
    REFUSED(mw_session_accept(session, id, NULL, E));
    REFUSED(mw_session_accept_tokens(NULL, &id, 1, &n, E));
    REFUSED(mw_session_accept_tokens(session, NULL, 1, &n, E));
    REFUSED(mw_session_accept_tokens(session, &id, 1, NULL, E));
    REFUSED(mw_session_accept_bytes(NULL, (const uint8_t *)"y", 1, &is, E));
    REFUSED(mw_session_accept_bytes(session, NULL, 1, &is, E));
    REFUSED(mw_session_accept_bytes(session, (const uint8_t *)"y", 1, NULL, E));
    REFUSED(mw_session_validate(NULL, &id, 1, &n, E));
    REFUSED(mw_session_validate(session, NULL, 1, &n, E));
    REFUSED(mw_session_validate(session, &id, 1, NULL, E));
    REFUSED(mw_session_rollback(NULL, 0, E));
    REFUSED(mw_session_reset(NULL, E));
    REFUSED(mw_session_is_accepting(NULL, &is, E));
    REFUSED(mw_session_is_accepting(session, NULL, E));
    REFUSED(mw_session_is_terminated(NULL, &is, E));
    REFUSED(mw_session_is_terminated(session, NULL, E));
    REFUSED(mw_session_forced_tokens(NULL, &id, 1, &n, E));
    REFUSED(mw_session_forced_tokens(session, &id, 1, NULL, E));
    OK(mw_session_forced_tokens(session, NULL, 1, &n, E));
    REFUSED(mw_session_finish(NULL, &id, 1, &n, E));
    REFUSED(mw_session_finish(session, &id, 1, NULL, E));
    OK(mw_session_finish(session, NULL, 1, &n, E));
    REFUSED(mw_session_tokens_to_finish(NULL, &n, &is, E));
    REFUSED(mw_session_tokens_to_finish(session, NULL, &is, E));
    OK(mw_session_tokens_to_finish(session, &n, NULL, E));
    REFUSED(mw_session_events(NULL, 0, &text, E));
    REFUSED(mw_session_events(session, 0, NULL, E));
    REFUSED(mw_session_state(NULL, &text, E));
    REFUSED(mw_session_state(session, NULL, E));
    REFUSED(mw_session_explain(NULL, id, &text, E));
    REFUSED(mw_session_explain(session, id, NULL, E));
    /* What was refused has changed nothing. */
    CHECK(accept(session, TOKEN_YES) && is_accepting(session));
    mw_session_free(session);
    mw_grammar_free(grammar);
}

/* An object where another one should be. */
static void wrong_objects(void) {
    mw_grammar *grammar = compiled("regex", "a*", NULL), *g = NULL;
    mw_session *session = session_of(grammar), *s = NULL;
    mw_cancel_token *cancel = mw_cancel_new();
    mw_tokenizer *const no_tokenizer = (mw_tokenizer *)compiler;
    mw_compiler *const no_compiler = (mw_compiler *)tokenizer;
    mw_grammar *const no_grammar = (mw_grammar *)session;
    mw_session *no_session = (mw_session *)grammar;
    mw_cancel_token *const no_cancel = (mw_cancel_token *)grammar;
    mw_compiler *c = NULL;
    char *text = NULL;
    uint32_t mask[16] = {7}, id = 'a';
    size_t n = 5;
    bool is = false;
    mw_session *sessions[2];

    REFUSED(mw_compiler_new(no_tokenizer, NULL, &c, E));
    HAS(error->message, "the pointer is not to a tokenizer");
    CHECK(mw_tokenizer_n_vocab(no_tokenizer) == 0 && mw_tokenizer_mask_words(no_tokenizer) == 0);
    CHECK(mw_tokenizer_token_bytes(no_tokenizer, 0, &n) == NULL && n == 0);
    REFUSED(mw_tokenizer_encode(no_tokenizer, (const uint8_t *)"a", 1, &id, 1, &n, E));
    CHECK(mw_compiler_memory(no_compiler) == 0);
    REFUSED(mw_compile(no_compiler, "regex", "a", 1, NULL, NULL, &g, E));
    REFUSED(mw_compile(compiler, "regex", "a", 1, NULL, no_cancel, &g, E));
    CHECK(mw_grammar_report(no_grammar) == NULL);
    REFUSED(mw_grammar_parse(no_grammar, (const uint8_t *)"a", 1, &text, E));
    REFUSED(mw_grammar_export(no_grammar, &text, E));
    REFUSED(mw_session_new(no_grammar, NULL, &s, E));
    REFUSED(mw_session_clone(no_session, &s, E));
    REFUSED(mw_session_cancel_with(no_session, cancel, E));
    REFUSED(mw_session_cancel_with(session, no_cancel, E));
    REFUSED(mw_session_fill_mask(no_session, mask, 16, NULL, E));
    REFUSED(mw_fill_masks(&no_session, 1, mask, 16, 1, NULL, E));
    sessions[0] = session;
    sessions[1] = no_session;
    REFUSED(mw_fill_masks(sessions, 2, mask, 8, 1, NULL, E));
    REFUSED(mw_session_accept(no_session, id, &is, E));
    REFUSED(mw_session_accept_tokens(no_session, &id, 1, &n, E));
    REFUSED(mw_session_accept_bytes(no_session, (const uint8_t *)"a", 1, &is, E));
    REFUSED(mw_session_validate(no_session, &id, 1, &n, E));
    REFUSED(mw_session_rollback(no_session, 0, E));
    REFUSED(mw_session_reset(no_session, E));
    REFUSED(mw_session_is_accepting(no_session, &is, E));
    REFUSED(mw_session_is_terminated(no_session, &is, E));
    REFUSED(mw_session_forced_tokens(no_session, &id, 1, &n, E));
    REFUSED(mw_session_finish(no_session, &id, 1, &n, E));
    REFUSED(mw_session_tokens_to_finish(no_session, &n, &is, E));
    REFUSED(mw_session_events(no_session, 0, &text, E));
    REFUSED(mw_session_state(no_session, &text, E));
    REFUSED(mw_session_explain(no_session, id, &text, E));
    CHECK(mask[0] == 7 && c == NULL && g == NULL && s == NULL && text == NULL && !is);
    /* A pointer into an object. */
    REFUSED(mw_session_rollback((mw_session *)((char *)session + 1), 0, E));
    /* Nothing is freed, and nothing stopped. */
    mw_cancel(no_cancel);
    mw_cancel_free(no_cancel);
    mw_tokenizer_free(no_tokenizer);
    mw_compiler_free(no_compiler);
    mw_grammar_free(no_grammar);
    mw_session_free(no_session);
    CHECK(accept(session, 'a') && is_text(grammar, "aa"));
    mw_session_free(session);
    mw_cancel_free(cancel);
    mw_grammar_free(grammar);
}

int main(void) {
    set_up();
    nulls();
    wrong_objects();
    tear_down();
    return 0;
}

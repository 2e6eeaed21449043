/* maskwright.h: sessions alone and in batches, and work that another thread cancels. */

#define _POSIX_C_SOURCE 200112L

#include <pthread.h>
#include <time.h>

#include "native.h"

static void masks(void) {
    mw_grammar *grammar = compiled("choice", "[\"yes\", \"no\", \"nothing\"]", NULL),
               *any = compiled("regex", "(?s:.)*", NULL);
    mw_session *session = session_of(grammar), *clone = NULL, *of_any = session_of(any);
    uint32_t mask[16], flags = 99, i;
    size_t n_words = mw_tokenizer_mask_words(tokenizer);
    bool is = true;

    memset(mask, 0xaa, sizeof mask);
    OK(mw_session_fill_mask(session, mask, 16, &flags, E));
    CHECK(flags == 0 && BIT(mask, 'y') && BIT(mask, TOKEN_YES) && BIT(mask, TOKEN_NO) && BIT(mask, 'n'));
    CHECK(!BIT(mask, 'e') && !BIT(mask, TOKEN_END) && !BIT(mask, TOKEN_CALL));
    for (i = N_TOKENS; i < 16 * 32; i++) CHECK(!BIT(mask, i));
    /* The exact number of words is enough, one less is not. */
    memset(mask, 0xaa, sizeof mask);
    REFUSED(mw_session_fill_mask(session, mask, n_words - 1, &flags, E));
    REFUSED(mw_session_fill_mask(session, NULL, 0, &flags, E));
    CHECK(mask[0] == 0xaaaaaaaa && mask[n_words - 2] == 0xaaaaaaaa);
    OK(mw_session_fill_mask(session, mask, n_words, NULL, E));
    CHECK(BIT(mask, TOKEN_YES) && mask[n_words] == 0xaaaaaaaa);
    OK(mw_session_fill_mask(of_any, mask, n_words, &flags, E));
    CHECK(BIT(mask, TOKEN_END) && BIT(mask, 0xc3) && !BIT(mask, 0xff) && !BIT(mask, TOKEN_CALL) && flags == 0);

    CHECK(!accept(session, 'e') && !accept(session, TOKEN_CALL) && accept(session, TOKEN_NO));
    CHECK(is_accepting(session));
    OK(mw_session_clone(session, &clone, E));
    CHECK(accept(clone, 't') && accept(clone, 'h') && !is_accepting(clone) && is_accepting(session));
    OK(mw_session_is_terminated(session, &is, E));
    CHECK(!is && accept(session, TOKEN_END));
    OK(mw_session_is_terminated(session, &is, E));
    CHECK(is);
    OK(mw_session_fill_mask(session, mask, n_words, &flags, E));
    for (i = 0; i < N_TOKENS; i++) CHECK(BIT(mask, i) == (i == TOKEN_END));
    CHECK(!accept(session, 't'));
    OK(mw_session_rollback(session, 1, E));
    CHECK(accept(session, 't'));
    FAILS(MW_STATUS_STATE, mw_session_rollback(session, 3, E));
    OK(mw_session_rollback(session, 2, E));
    CHECK(accept(session, 'y'));
    OK(mw_session_reset(clone, E));
    CHECK(accept(clone, 'y') && !accept(clone, 't'));
    mw_session_free(session);
    /* What it was made of is gone; the clone goes on. */
    mw_grammar_free(grammar);
    CHECK(accept_text(clone, "es") && is_accepting(clone));
    mw_session_free(clone);
    mw_session_free(of_any);
    mw_grammar_free(any);
}

/* Each token is allowed, so that the mask need not be applied. */
static void full_mask(void) {
    uint32_t lengths[4] = {1, 1, 2, 3}, mask[1], flags = 0;
    uint8_t ends[4] = {0, 0, 0, MW_TOKEN_ENDS_TEXT};
    mw_tokenizer *few = NULL;
    mw_compiler *of_few = NULL;
    mw_grammar *grammar = NULL;
    mw_session *session;
    OK(mw_tokenizer_from_tokens((const uint8_t *)"ababEND", lengths, ends, 4, &few, E));
    OK(mw_compiler_new(few, NULL, &of_few, E));
    OK(mw_compile(of_few, "regex", "[ab]*", 5, NULL, NULL, &grammar, E));
    session = session_of(grammar);
    OK(mw_session_fill_mask(session, mask, 1, &flags, E));
    CHECK(mask[0] == 15 && flags == MW_MASK_IS_FULL);
    mw_session_free(session);
    mw_grammar_free(grammar);
    mw_compiler_free(of_few);
    mw_tokenizer_free(few);
}

/* So little work that masks are a part of what is allowed. */
static void bounds(void) {
    mw_compiler *little = NULL;
    mw_grammar *grammar = NULL;
    mw_session *session;
    uint32_t mask[16], flags = 0, i, n_allowed = 0;
    OK(mw_compiler_new(tokenizer, "{\"mask_work\": 0}", &little, E));
    OK(mw_compile(little, "regex", "(a|b)*a(a|b){12}", 16, NULL, NULL, &grammar, E));
    session = session_of(grammar);
    OK(mw_session_fill_mask(session, mask, 16, &flags, E));
    CHECK(flags == MW_MASK_IS_BOUND);
    for (i = 0; i < N_TOKENS; i++)
        if (BIT(mask, i)) {
            bool is = false;
            n_allowed++;
            OK(mw_session_accept(session, i, &is, E));
            CHECK(is);
            break;
        }
    CHECK(n_allowed == 1);
    mw_session_free(session);
    mw_grammar_free(grammar);
    mw_compiler_free(little);
}

static void tokens(void) {
    mw_grammar *grammar = compiled("json_schema", "{\"const\": {\"a\": true}}", "{\"whitespace\": \"compact\"}");
    mw_session *session = session_of(grammar), *stopped = NULL;
    const uint32_t good[] = {TOKEN_KEY, TOKEN_TRUE, '}', TOKEN_END}, bad[] = {TOKEN_KEY, TOKEN_TRUE, 'x', '}'},
                   beyond[] = {TOKEN_KEY, N_TOKENS};
    uint32_t ids[4] = {0, 0, 0, 0};
    size_t n = 0, least = 0;
    bool is = false;

    OK(mw_session_validate(session, good, 4, &n, E));
    CHECK(n == 4);
    OK(mw_session_validate(session, bad, 4, &n, E));
    CHECK(n == 2);
    OK(mw_session_validate(session, NULL, 0, &n, E));
    CHECK(n == 0);
    OK(mw_session_forced_tokens(session, ids, 4, &n, E));
    CHECK(n >= 2 && ids[0] == TOKEN_KEY && ids[1] == TOKEN_TRUE);
    ids[1] = 9;
    OK(mw_session_forced_tokens(session, ids, 1, &n, E));
    CHECK(n >= 2 && ids[1] == 9);
    OK(mw_session_finish(session, ids, 4, &n, E));
    CHECK(n == 4 && memcmp(ids, good, sizeof good) == 0);
    memset(ids, 0, sizeof ids);
    OK(mw_session_finish(session, ids, 2, &n, E));
    CHECK(n == 4 && ids[1] == TOKEN_TRUE && ids[2] == 0);
    OK(mw_session_finish(session, ids, 0, &n, E));
    CHECK(n == 4);
    OK(mw_session_tokens_to_finish(session, &least, &is, E));
    CHECK(least == 4);

    OK(mw_session_accept_tokens(session, bad, 4, &n, E));
    CHECK(n == 2);
    OK(mw_session_rollback(session, 2, E));
    OK(mw_session_accept_tokens(session, good, 4, &n, E));
    CHECK(n == 4);
    OK(mw_session_tokens_to_finish(session, &least, &is, E));
    CHECK(least == 0 && is);
    OK(mw_session_reset(session, E));
    /* Ids beyond the vocabulary. */
    OK(mw_session_accept_tokens(session, beyond, 2, &n, E));
    CHECK(n == 1);
    OK(mw_session_validate(session, beyond, 2, &n, E));
    CHECK(n == 0);
    CHECK(!accept(session, N_TOKENS) && !accept(session, UINT32_MAX));
    /* Bytes, one step for a rollback. */
    CHECK(!accept_text(session, "tru!") && accept_text(session, "true}") && is_accepting(session));
    OK(mw_session_rollback(session, 1, E));
    CHECK(!is_accepting(session) && accept(session, TOKEN_TRUE));
    OK(mw_session_accept_bytes(session, NULL, 0, &is, E));
    CHECK(is);
    mw_session_free(session);

    OK(mw_session_new(grammar, "{\"max_tokens\": 4, \"stop_token_ids\": [266]}", &stopped, E));
    CHECK(TOKEN_STOP == 266 && !accept(stopped, '{') && accept(stopped, TOKEN_KEY) && accept(stopped, TOKEN_TRUE) &&
          accept(stopped, '}'));
    CHECK(accept(stopped, TOKEN_STOP));
    OK(mw_session_is_terminated(stopped, &is, E));
    CHECK(is);
    mw_session_free(stopped);
    mw_grammar_free(grammar);
}

enum { N_SESSIONS = 12 };

static void batches(void) {
    mw_grammar *grammar =
        compiled("json_schema", "{\"type\": \"array\", \"items\": {\"enum\": [\"yes\", \"no\", true]}}", NULL);
    mw_grammar *short_one = compiled("regex", "[a-z]{5}", NULL);
    mw_session *sessions[N_SESSIONS], *twice[2];
    mw_status statuses[N_SESSIONS];
    uint32_t alone[N_SESSIONS][16], together[N_SESSIONS][16];
    size_t n_threads, i;
    mw_cancel_token *cancel = mw_cancel_new();
    static const char *const STARTS[4] = {"", "[", "[\"", "[\"yes\","};

    for (i = 0; i < N_SESSIONS; i++) {
        sessions[i] = session_of(i % 5 == 4 ? short_one : grammar);
        CHECK(accept_text(sessions[i], i % 5 == 4 ? "ab" : STARTS[i % 4]));
        OK(mw_session_fill_mask(sessions[i], alone[i], 16, NULL, E));
    }
    for (n_threads = 0; n_threads < 6; n_threads++) {
        memset(together, 0xff, sizeof together);
        memset(statuses, 0xff, sizeof statuses);
        OK(mw_fill_masks(sessions, N_SESSIONS, together[0], 16, n_threads, statuses, E));
        CHECK(memcmp(alone, together, sizeof alone) == 0);
        for (i = 0; i < N_SESSIONS; i++) CHECK(statuses[i] == MW_STATUS_OK);
    }
    memset(together, 0xff, sizeof together);
    twice[0] = twice[1] = sessions[0];
    REFUSED(mw_fill_masks(twice, 2, together[0], 16, 2, statuses, E));
    HAS(error->message, "twice");
    REFUSED(mw_fill_masks(sessions, 2, together[0], 1, 2, statuses, E));
    CHECK(statuses[0] == MW_STATUS_ARGUMENT && statuses[1] == MW_STATUS_ARGUMENT && together[0][0] == 0 &&
          together[0][1] == 0);
    /* One row fails; the others are there. */
    mw_cancel(cancel);
    OK(mw_session_cancel_with(sessions[1], cancel, E));
    FAILS(MW_STATUS_CANCELLED, mw_fill_masks(sessions, 3, together[0], 16, 3, statuses, E));
    CHECK(statuses[0] == MW_STATUS_OK && statuses[1] == MW_STATUS_CANCELLED && statuses[2] == MW_STATUS_OK);
    CHECK(memcmp(alone[0], together[0], 64) == 0 && memcmp(alone[2], together[2], 64) == 0);
    for (i = 0; i < 16; i++) CHECK(together[1][i] == 0);
    OK(mw_session_cancel_with(sessions[1], NULL, E));
    OK(mw_fill_masks(sessions, N_SESSIONS, together[0], 16, 2, NULL, E));
    CHECK(memcmp(alone, together, sizeof alone) == 0);
    for (i = 0; i < N_SESSIONS; i++) mw_session_free(sessions[i]);
    mw_cancel_free(cancel);
    mw_grammar_free(grammar);
    mw_grammar_free(short_one);
}

static void *cancel_soon(void *cancel) {
    struct timespec soon = {0, 100 * 1000 * 1000};
    nanosleep(&soon, NULL);
    mw_cancel((const mw_cancel_token *)cancel);
    return NULL;
}

static void cancelled(void) {
    mw_cancel_token *cancel = mw_cancel_new();
    mw_compiler *patient = NULL;
    mw_grammar *grammar = NULL, *letters = compiled("regex", "(a|b)*a(a|b){22}x", NULL);
    mw_session *session = session_of(letters), *clone = NULL;
    uint32_t mask[16] = {5};
    size_t n = 40u * 1000 * 1000, i;
    uint8_t *text = (uint8_t *)malloc(n);
    bool is = false;
    pthread_t thread;
    const char *const schema =
        "{\"type\": \"string\", \"allOf\": [{\"pattern\": \"^(?:a{31})+$\"}, {\"pattern\": \"^(?:a{37})+$\"}, "
        "{\"pattern\": \"^(?:a{41})+$\"}, {\"pattern\": \"^(?:a{43})+$\"}]}";

    OK(mw_compiler_new(tokenizer,
                       "{\"compile_work\": 1000000000000, \"compile_bytes\": 1000000000000, \"max_states\": "
                       "1000000000, \"liveness_fuel\": 1000000000000}",
                       &patient, E));
    CHECK(pthread_create(&thread, NULL, cancel_soon, cancel) == 0);
    FAILS(MW_STATUS_CANCELLED, mw_compile(patient, "json_schema", schema, strlen(schema), NULL, cancel, &grammar, E));
    CHECK(pthread_join(thread, NULL) == 0 && grammar == NULL);
    FAILS(MW_STATUS_CANCELLED, mw_compile(patient, "json_schema", schema, strlen(schema), NULL, cancel, &grammar, E));
    mw_cancel_free(cancel);

    for (i = 0; i < n; i++) text[i] = i % 2 ? 'b' : 'a';
    cancel = mw_cancel_new();
    OK(mw_session_cancel_with(session, cancel, E));
    CHECK(accept_text(session, "ab"));
    CHECK(pthread_create(&thread, NULL, cancel_soon, cancel) == 0);
    FAILS(MW_STATUS_CANCELLED, mw_session_accept_bytes(session, text, n, &is, E));
    CHECK(pthread_join(thread, NULL) == 0);
    /* Each later call is, a clone's too, and nothing has changed. */
    FAILS(MW_STATUS_CANCELLED, mw_session_fill_mask(session, mask, 16, NULL, E));
    FAILS(MW_STATUS_CANCELLED, mw_session_clone(session, &clone, E));
    CHECK(mask[0] == 5);
    OK(mw_session_cancel_with(session, NULL, E));
    /* The session goes on without what cancelled it. */
    mw_cancel_free(cancel);
    OK(mw_session_rollback(session, 1, E));
    FAILS(MW_STATUS_STATE, mw_session_rollback(session, 1, E));
    CHECK(!accept_text(session, "x") && accept_text(session, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaax") &&
          is_accepting(session));
    free(text);
    mw_session_free(session);
    mw_grammar_free(letters);
    mw_compiler_free(patient);
}

int main(void) {
    set_up();
    masks();
    full_mask();
    bounds();
    tokens();
    batches();
    cancelled();
    tear_down();
    return 0;
}

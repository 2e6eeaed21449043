/* What the tests of maskwright.h share: a tokenizer and a compiler, checks of statuses, and short names for calls
   that must succeed. */

#ifndef NATIVE_H
#define NATIVE_H

#include "check.h"
#include "maskwright.h"

/* The error of the last call. */
static mw_error *error = NULL;

/* Where a call puts its error. */
static inline mw_error **into(void) {
    mw_error_free(error);
    error = NULL;
    return &error;
}

#define E into()

static inline void ok(mw_status status, const char *file, int line, const char *call) {
    if (status != MW_STATUS_OK || error != NULL) {
        fprintf(stderr, "%s:%d: %s: %d %s\n", file, line, call, (int)status, error == NULL ? "" : error->message);
        exit(1);
    }
}

static inline void fails(mw_status expected, mw_status status, const char *file, int line, const char *call) {
    if (status != expected || error == NULL || error->status != status || error->message == NULL || !*error->message) {
        fprintf(stderr, "%s:%d: %s: %d, expected %d: %s\n", file, line, call, (int)status, (int)expected,
                error == NULL ? "" : error->message);
        exit(1);
    }
}

#define OK(call) ok((call), __FILE__, __LINE__, #call)
#define FAILS(status, call) fails((status), (call), __FILE__, __LINE__, #call)
#define REFUSED(call) FAILS(MW_STATUS_ARGUMENT, call)

static mw_tokenizer *tokenizer;
static mw_compiler *compiler;

static inline mw_status compile(const char *kind, const char *source, const char *options, mw_grammar **grammar) {
    return mw_compile(compiler, kind, source, strlen(source), options, NULL, grammar, E);
}

static inline mw_grammar *compiled(const char *kind, const char *source, const char *options) {
    mw_grammar *grammar = NULL;
    OK(compile(kind, source, options, &grammar));
    return grammar;
}

static inline mw_session *session_of(const mw_grammar *grammar) {
    mw_session *session = NULL;
    OK(mw_session_new(grammar, NULL, &session, E));
    return session;
}

static inline bool accept_text(mw_session *session, const char *text) {
    bool is_accepted = false;
    OK(mw_session_accept_bytes(session, (const uint8_t *)text, strlen(text), &is_accepted, E));
    return is_accepted;
}

static inline bool is_accepting(mw_session *session) {
    bool answer = false;
    OK(mw_session_is_accepting(session, &answer, E));
    return answer;
}

/* Whether a text is one of the grammar. */
static inline bool is_text(const mw_grammar *grammar, const char *text) {
    mw_session *session = session_of(grammar);
    bool is_whole = accept_text(session, text) && is_accepting(session);
    mw_session_free(session);
    return is_whole;
}

static inline bool accept(mw_session *session, uint32_t id) {
    bool is_accepted = false;
    OK(mw_session_accept(session, id, &is_accepted, E));
    return is_accepted;
}

static inline void set_up(void) {
    vocabulary words = make_vocabulary(0);
    OK(mw_tokenizer_from_tokens(words.bytes, words.lengths, words.flags, N_TOKENS, &tokenizer, E));
    OK(mw_compiler_new(tokenizer, NULL, &compiler, E));
}

static inline void tear_down(void) {
    mw_error_free(error);
    mw_tokenizer_free(tokenizer);
    mw_compiler_free(compiler);
}

#endif

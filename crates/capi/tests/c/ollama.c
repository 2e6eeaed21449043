/* The seven functions that Ollama opens, in a library whose path is the argument of the program. */

#define _POSIX_C_SOURCE 200112L

#include <pthread.h>

#include "check.h"
#include "ollama.h"

/* The vocabulary is padded to the width of the model's logits. */
enum { N_PADDED = 300, N_WORDS = (N_PADDED + 31) / 32 };

static vocabulary words;
static const int32_t STOPS[] = {TOKEN_END, TOKEN_STOP};

static void fine(int status, int line) {
    if (status != 0 || *last_error() != 0) failed(__FILE__, line, last_error());
}

static void refused(int status, const char *part, int line) {
    CHECK(status == 1);
    has(last_error(), part, __FILE__, line);
}

#define FINE(call) fine(call, __LINE__)
#define REFUSED(call, part) refused(call, part, __LINE__)

static model *make_model(void) {
    model *made = NULL;
    FINE(model_new((const char *)words.bytes, words.n_bytes, words.ends, N_TOKENS, N_PADDED, STOPS, 2, &made));
    CHECK(made != NULL);
    return made;
}

static int fill(matcher *of, uint32_t *mask) {
    int needs_apply = 9;
    FINE(matcher_fill(of, (int32_t *)mask, N_WORDS, &needs_apply));
    return needs_apply;
}

static int accept(matcher *of, int32_t id) {
    int is_accepted = 9;
    FINE(matcher_accept(of, id, &is_accepted));
    return is_accepted;
}

/* Writes a text to its end, each byte as the mask allows it. */
static void write_text(model *of, int kind, const char *source, const char *text, const char *no_text) {
    uint32_t mask[N_WORDS], id;
    matcher *made = NULL;
    size_t i;
    FINE(matcher_new(of, kind, source, strlen(source), &made));
    CHECK(made != NULL);
    for (i = 0; no_text[i] != 0; i++) {
        CHECK(fill(made, mask) == 1);
        if (!BIT(mask, (uint8_t)no_text[i])) break;
        CHECK(accept(made, (uint8_t)no_text[i]) == 1);
    }
    CHECK(no_text[i] != 0 && accept(made, (uint8_t)no_text[i]) == 0);
    matcher_free(made);

    FINE(matcher_new(of, kind, source, strlen(source), &made));
    for (i = 0; text[i] != 0; i++) {
        CHECK(fill(made, mask) == 1 && BIT(mask, (uint8_t)text[i]));
        for (id = N_TOKENS; id < N_WORDS * 32; id++) CHECK(!BIT(mask, id));
        CHECK(accept(made, (uint8_t)text[i]) == 1);
    }
    CHECK(fill(made, mask) == 1 && BIT(mask, TOKEN_END) && BIT(mask, TOKEN_STOP) && !BIT(mask, TOKEN_CALL));
    CHECK(accept(made, TOKEN_STOP) == 1 && accept(made, 'a') == 0);
    matcher_free(made);
}

static void models(void) {
    const int32_t beyond = N_PADDED, below = -1;
    const char *const data = (const char *)words.bytes;
    uint64_t ends[3] = {1, 3, 2};
    model *made = (model *)1;
    REFUSED(model_new(NULL, 4, ends, 2, 9, STOPS, 1, &made), "tokens");
    CHECK(made == NULL);
    REFUSED(model_new(data, 3, NULL, 2, 9, STOPS, 1, &made), "offsets");
    REFUSED(model_new(data, 3, ends, 2, N_PADDED, NULL, 1, &made), "stop");
    REFUSED(model_new(data, 3, ends, 2, N_PADDED, STOPS, 0, &made), "stop");
    REFUSED(model_new(data, 3, ends, 2, N_PADDED, STOPS, 1, NULL), "model");
    REFUSED(model_new(data, 3, ends, 2, 1, STOPS, 1, &made), "vocabulary");
    REFUSED(model_new(data, 3, ends, 2, 0, STOPS, 1, &made), "vocabulary");
    REFUSED(model_new(data, 3, ends, 2, -5, STOPS, 1, &made), "vocabulary");
    REFUSED(model_new(data, 3, ends, 2, INT32_MAX, STOPS, 1, &made), "vocabulary");
    REFUSED(model_new(data, 3, ends, 3, N_PADDED, STOPS, 1, &made), "offsets");
    REFUSED(model_new(data, 2, ends, 2, N_PADDED, STOPS, 1, &made), "offsets");
    REFUSED(model_new(data, 4, ends, 2, N_PADDED, STOPS, 1, &made), "offsets");
    ends[1] = UINT64_MAX;
    REFUSED(model_new(data, 4, ends, 2, N_PADDED, STOPS, 1, &made), "offsets");
    REFUSED(model_new(data, words.n_bytes, words.ends, N_TOKENS, N_PADDED, &beyond, 1, &made), "300");
    REFUSED(model_new(data, words.n_bytes, words.ends, N_TOKENS, N_PADDED, &below, 1, &made), "-1");
    CHECK(made == NULL);
    model_free(NULL);
    matcher_free(NULL);
}

static void matchers(void) {
    model *of = make_model();
    matcher *made = (matcher *)1;
    int32_t mask[N_WORDS + 1] = {5};
    int answer = 7;
    char *long_text;
    REFUSED(matcher_new(NULL, 0, "", 0, &made), "NULL");
    CHECK(made == NULL);
    REFUSED(matcher_new(of, 0, "", 0, NULL), "matcher");
    REFUSED(matcher_new(of, 2, "", 0, &made), "2");
    REFUSED(matcher_new(of, 1, NULL, 3, &made), "source");
    REFUSED(matcher_new(of, 1, "{]", 2, &made), "JSON");
    REFUSED(matcher_new(of, 1, "\xff", 1, &made), "UTF-8");
    REFUSED(matcher_new(of, 1, "{\"type\": \"txt\"}", 15, &made), "type");
    long_text = (char *)malloc(1 << 21);
    memset(long_text, ' ', 1 << 21);
    REFUSED(matcher_new(of, 1, long_text, 1 << 21, &made), "1048576");
    free(long_text);
    REFUSED(matcher_new((model *)&words, 0, "", 0, &made), "model");
    CHECK(made == NULL);

    FINE(matcher_new(of, 1, "{\"const\": 12}", 13, &made));
    REFUSED(matcher_fill(NULL, mask, N_WORDS, &answer), "NULL");
    REFUSED(matcher_fill((matcher *)of, mask, N_WORDS, &answer), "not to a matcher");
    REFUSED(matcher_fill(made, NULL, N_WORDS, &answer), "mask");
    REFUSED(matcher_fill(made, mask, N_WORDS - 1, &answer), "words");
    REFUSED(matcher_fill(made, mask, N_WORDS + 1, &answer), "words");
    REFUSED(matcher_fill(made, mask, N_WORDS, NULL), "mask");
    REFUSED(matcher_accept(NULL, '1', &answer), "NULL");
    REFUSED(matcher_accept(made, -1, &answer), "-1");
    REFUSED(matcher_accept(made, N_PADDED, &answer), "300");
    REFUSED(matcher_accept(made, '1', NULL), "accepted");
    CHECK(answer == 7);
    /* What failed has changed nothing, and the matcher goes on without its model. */
    model_free(of);
    CHECK(accept(made, N_TOKENS) == 0 && accept(made, '1') == 1 && accept(made, '2') == 1 &&
          accept(made, TOKEN_END) == 1);
    matcher_free(made);
}

static void *on_another_thread(void *of) {
    matcher *made = NULL;
    /* The other thread's error is not this one's. */
    CHECK(*last_error() == 0);
    REFUSED(matcher_new((model *)of, 9, "", 0, &made), "9 is no kind");
    write_text((model *)of, 1, "{\"enum\": [true, null]}", "null", "nil");
    CHECK(*last_error() == 0);
    REFUSED(matcher_new((model *)of, 8, "", 0, &made), "8 is no kind");
    return NULL;
}

int main(int n_arguments, char **arguments) {
    const char *missing;
    model *of;
    matcher *made = NULL;
    pthread_t threads[3];
    size_t i;
    CHECK(n_arguments == 2);
    missing = open_library(arguments[1]);
    if (missing != NULL) failed(__FILE__, __LINE__, missing);
    CHECK(*last_error() == 0);
    words = make_vocabulary(0);
    models();
    matchers();
    of = make_model();
    write_text(of, 0, "", "{\"a\": [1, true]}", "{a");
    write_text(of, 1, "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"]}",
               "{\"a\":12}", "{\"a\":x");
    REFUSED(matcher_new(of, 7, "", 0, &made), "7 is no kind");
    for (i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, on_another_thread, of) == 0);
    for (i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    HAS(last_error(), "7 is no kind");
    model_free(of);
    HAS(last_error(), "7 is no kind");
    return 0;
}

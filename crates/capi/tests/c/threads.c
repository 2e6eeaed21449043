/* maskwright.h: one compiler compiles on several threads, and sessions of one grammar run on several. Masks are those
   that are made alone. */

#define _POSIX_C_SOURCE 200112L

#include <pthread.h>

#include "native.h"

enum { N_THREADS = 4, N_GRAMMARS = 6, N_STEPS = 24, N_WORDS = 9 };

typedef struct walk {
    uint32_t masks[N_STEPS][N_WORDS];
    uint32_t ids[N_STEPS];
    size_t n_steps;
} walk;

typedef struct job {
    unsigned seed;
    const mw_compiler *compiler;
    /* Of each grammar; NULL where the thread compiles it by itself. */
    mw_grammar *grammars[N_GRAMMARS];
    walk walks[N_GRAMMARS];
} job;

static const char *const SOURCES[N_GRAMMARS][2] = {
    {"json_schema",
     "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"array\", \"items\": {\"enum\": [\"yes\", \"no\", "
     "true]}}, \"b\": {\"pattern\": \"^[a-f]{2,9}-\"}}, \"required\": [\"a\", \"b\"]}"},
    {"json_schema",
     "{\"type\": \"array\", \"items\": {\"type\": [\"integer\", \"string\"]}, \"minItems\": 3, \"uniqueItems\": true}"},
    {"regex", "(a|b)*a(a|b){9}(c.*d){2}x"},
    {"lark",
     "start: item (\",\" item)*\nitem: /[a-z]+/ | \"[\" start \"]\" | NUMBER\n%import common.NUMBER\n%ignore \" \""},
    {"gbnf", "root ::= sum\nsum ::= term ((\"+\" | \"-\") term)*\nterm ::= [0-9]+ | \"(\" sum \")\" | \"yes\""},
    {"builtin", "json"},
};

static uint32_t next_random(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) & 0x7fff;
}

/* Statuses only: the checks of native.h have one error for all threads. */
#define FINE(call) CHECK((call) == MW_STATUS_OK)

/* Writes a text of tokens that a seed chooses. */
static void take_walk(const mw_grammar *grammar, unsigned seed, walk *result) {
    mw_session *session = NULL;
    bool is = false;
    FINE(mw_session_new(grammar, NULL, &session, NULL));
    for (result->n_steps = 0; result->n_steps < N_STEPS; result->n_steps++) {
        uint32_t *mask = result->masks[result->n_steps], flags = 0, id = next_random(&seed) % N_TOKENS;
        FINE(mw_session_fill_mask(session, mask, N_WORDS, &flags, NULL));
        CHECK(flags == 0);
        FINE(mw_session_is_terminated(session, &is, NULL));
        if (is) break;
        while (!BIT(mask, id)) id = (id + 1) % N_TOKENS;
        result->ids[result->n_steps] = id;
        FINE(mw_session_accept(session, id, &is, NULL));
        CHECK(is);
    }
    mw_session_free(session);
}

static void *work(void *given) {
    job *mine = (job *)given;
    unsigned each;
    for (each = 0; each < N_GRAMMARS; each++) {
        /* Each thread begins elsewhere. */
        unsigned at = (each + mine->seed) % N_GRAMMARS;
        mw_grammar *grammar = mine->grammars[at];
        if (grammar == NULL)
            FINE(mw_compile(mine->compiler, SOURCES[at][0], SOURCES[at][1], strlen(SOURCES[at][1]), NULL, NULL,
                            &grammar, NULL));
        take_walk(grammar, mine->seed * 31 + at, &mine->walks[at]);
        CHECK(mw_compiler_memory(mine->compiler) > 0);
        if (mine->grammars[at] == NULL) mw_grammar_free(grammar);
    }
    return NULL;
}

static job *alone, *together;

static void run_together(const mw_compiler *shared, int is_compiled) {
    pthread_t threads[N_THREADS];
    mw_grammar *grammars[N_GRAMMARS] = {NULL};
    unsigned i, at;
    for (at = 0; is_compiled && at < N_GRAMMARS; at++)
        FINE(mw_compile(shared, SOURCES[at][0], SOURCES[at][1], strlen(SOURCES[at][1]), NULL, NULL, &grammars[at],
                        NULL));
    memset(together, 0, N_THREADS * sizeof *together);
    for (i = 0; i < N_THREADS; i++) {
        together[i].seed = i;
        together[i].compiler = shared;
        memcpy(together[i].grammars, grammars, sizeof grammars);
        CHECK(pthread_create(&threads[i], NULL, work, &together[i]) == 0);
    }
    for (i = 0; i < N_THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(memcmp(alone[i].walks, together[i].walks, sizeof alone[i].walks) == 0);
    }
    for (at = 0; at < N_GRAMMARS; at++) mw_grammar_free(grammars[at]);
}

int main(void) {
    unsigned i, n_rounds = is_slow() ? 1 : 10, round;
    set_up();
    CHECK(mw_tokenizer_mask_words(tokenizer) == N_WORDS);
    alone = (job *)calloc(N_THREADS, sizeof *alone);
    together = (job *)calloc(N_THREADS, sizeof *together);
    for (i = 0; i < N_THREADS; i++) {
        mw_compiler *own = NULL;
        FINE(mw_compiler_new(tokenizer, NULL, &own, NULL));
        alone[i].seed = i;
        alone[i].compiler = own;
        work(&alone[i]);
        CHECK(alone[i].walks[0].n_steps > 2);
        mw_compiler_free(own);
    }
    for (round = 0; round < n_rounds; round++) {
        mw_compiler *shared = NULL;
        FINE(mw_compiler_new(tokenizer, NULL, &shared, NULL));
        run_together(shared, 0);
        run_together(shared, 1);
        mw_compiler_free(shared);
    }
    free(alone);
    free(together);
    tear_down();
    return 0;
}

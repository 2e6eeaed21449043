/* Checks of the test programs, and the vocabulary that they share. */

#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void failed(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, #condition))

static inline void has(const char *text, const char *part, const char *file, int line) {
    if (text == NULL || strstr(text, part) == NULL) {
        fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", file, line, part, text == NULL ? "NULL" : text);
        exit(1);
    }
}

/* That a text has a part. */
#define HAS(text, part) has(text, part, __FILE__, __LINE__)

/* The bit of a token. */
#define BIT(mask, id) (((mask)[(id) / 32] >> ((id) % 32)) & 1)

/* Tokens: each byte by itself, some words, one that ends a text and others that are special. */
enum {
    TOKEN_TRUE = 256,
    TOKEN_YES,
    TOKEN_NO,
    TOKEN_AB,
    TOKEN_QUOTES,
    TOKEN_KEY,
    TOKEN_E_ACUTE,
    TOKEN_HALF,
    TOKEN_END,
    TOKEN_CALL,
    TOKEN_STOP,
    N_TOKENS
};

static const char *const TOKEN_NAMES[] = {
    "true", "yes", "no", "ab", "\"\"", "{\"a\":", "\xc3\xa9", "x\xe2\x82", "<|end|>", "<|call|>", "<|stop|>"};

typedef struct vocabulary {
    uint8_t bytes[512];
    size_t n_bytes;
    uint32_t lengths[N_TOKENS];
    uint64_t ends[N_TOKENS];
    uint8_t flags[N_TOKENS];
} vocabulary;

/* The tokens one after the other. `mark`: whether 0xFF stands before the name of a special token. */
static inline vocabulary make_vocabulary(int mark) {
    vocabulary made;
    uint32_t id;
    memset(&made, 0, sizeof made);
    for (id = 0; id < N_TOKENS; id++) {
        size_t start = made.n_bytes;
        if (id < 256) {
            made.bytes[made.n_bytes++] = (uint8_t)id;
        } else {
            const char *name = TOKEN_NAMES[id - 256];
            if (mark && id >= TOKEN_END) made.bytes[made.n_bytes++] = 0xff;
            memcpy(made.bytes + made.n_bytes, name, strlen(name));
            made.n_bytes += strlen(name);
        }
        made.lengths[id] = (uint32_t)(made.n_bytes - start);
        made.ends[id] = made.n_bytes;
        made.flags[id] = (uint8_t)(id == TOKEN_END ? 3 : id > TOKEN_END ? 1 : 0);
    }
    return made;
}

/* A byte-level tokenizer.json of four tokens. */
#define TOKENIZER_JSON                                                                                                 \
    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 3, \"content\": \"</s>\", \"special\": true, "                 \
    "\"single_word\": "                                                                                                \
    "false,"                                                                                                           \
    "\"lstrip\": false, \"rstrip\": false, \"normalized\": false}], \"pre_tokenizer\": {\"type\": \"ByteLevel\","      \
    "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}, \"decoder\": {\"type\": "             \
    "\"ByteLevel\","                                                                                                   \
    "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}, \"model\": {\"type\": \"BPE\","       \
    "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}"

/* Whether work is to be small, since the program runs under valgrind. */
static inline int is_slow(void) {
    return getenv("MASKWRIGHT_SLOW") != NULL;
}

#endif

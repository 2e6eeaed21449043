/* The seven functions that Ollama opens. */

#ifndef OLLAMA_H
#define OLLAMA_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

typedef struct model model;
typedef struct matcher matcher;

static const char *(*last_error)(void);
static int (*model_new)(const char *, size_t, const uint64_t *, size_t, int32_t, const int32_t *, size_t, model **);
static void (*model_free)(model *);
static int (*matcher_new)(model *, int, const char *, size_t, matcher **);
static void (*matcher_free)(matcher *);
static int (*matcher_fill)(matcher *, int32_t *, size_t, int *);
static int (*matcher_accept)(matcher *, int32_t, int *);

/* Opens the library; what is missing, or NULL. */
static inline const char *open_library(const char *path) {
    static const struct {
        const char *name;
        void *to;
    } all[] = {
        {"ollama_constraint_last_error", &last_error},         {"ollama_constraint_model_new", &model_new},
        {"ollama_constraint_model_free", &model_free},         {"ollama_constraint_matcher_new", &matcher_new},
        {"ollama_constraint_matcher_free", &matcher_free},     {"ollama_constraint_matcher_fill", &matcher_fill},
        {"ollama_constraint_matcher_accept", &matcher_accept},
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    size_t i;
    if (library == NULL) return dlerror();
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        void *symbol = dlsym(library, all[i].name);
        if (symbol == NULL) return all[i].name;
        memcpy(all[i].to, &symbol, sizeof symbol);
    }
    return NULL;
}

#endif

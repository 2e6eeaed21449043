/* Writes a JSON text that fits a schema. Instead of a model's choice it takes the first token that is allowed. */

#include <maskwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TOKENS[] = {"<|end|>", "}", "{", "\"", ":", ",", "Ada", "Grace", "name", "age",
                                     "0",       "1", "2", "3",  "4", "5", "6",   "7",     "8",    "9"};
enum { N_TOKENS = sizeof TOKENS / sizeof *TOKENS, MASK_WORDS = (N_TOKENS + 31) / 32 };

static const char SCHEMA[] = "{\"type\": \"object\", \"properties\": {\"name\": {\"enum\": [\"Ada\", \"Grace\"]}, "
                             "\"age\": {\"type\": \"integer\", \"minimum\": 18}}, \"required\": [\"name\", \"age\"], "
                             "\"additionalProperties\": false}";

/* Ends the program if a call has failed. */
static void check(mw_status status, mw_error **error) {
    if (status == MW_STATUS_OK) return;
    fprintf(stderr, "%s\n", (*error)->message);
    mw_error_free(*error);
    exit(1);
}

int main(void) {
    uint8_t bytes[256], flags[N_TOKENS] = {MW_TOKEN_ENDS_TEXT | MW_TOKEN_SPECIAL};
    uint32_t lengths[N_TOKENS], mask[MASK_WORDS], id;
    size_t n_bytes = 0;
    mw_tokenizer *tokenizer;
    mw_compiler *compiler;
    mw_grammar *grammar;
    mw_session *session;
    mw_error *error;
    bool is_accepted, has_ended = false;

    /* The tokens of the model, one after the other. mw_tokenizer_from_file reads those of a tokenizer.json. */
    for (id = 0; id < N_TOKENS; id++) {
        lengths[id] = (uint32_t)strlen(TOKENS[id]);
        memcpy(bytes + n_bytes, TOKENS[id], lengths[id]);
        n_bytes += lengths[id];
    }
    check(mw_tokenizer_from_tokens(bytes, lengths, flags, N_TOKENS, &tokenizer, &error), &error);
    check(mw_compiler_new(tokenizer, NULL, &compiler, &error), &error);
    check(mw_compile(compiler, "json_schema", SCHEMA, strlen(SCHEMA), NULL, NULL, &grammar, &error), &error);
    check(mw_session_new(grammar, "{\"max_tokens\": 100}", &session, &error), &error);
    while (!has_ended) {
        check(mw_session_fill_mask(session, mask, MASK_WORDS, NULL, &error), &error);
        for (id = 0; !(mask[id / 32] >> (id % 32) & 1); id++) continue;
        check(mw_session_accept(session, id, &is_accepted, &error), &error);
        check(mw_session_is_terminated(session, &has_ended, &error), &error);
        if (!has_ended) printf("%s", TOKENS[id]);
    }
    printf("\n");
    mw_session_free(session);
    mw_grammar_free(grammar);
    mw_compiler_free(compiler);
    mw_tokenizer_free(tokenizer);
    return 0;
}

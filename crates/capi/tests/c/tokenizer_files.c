/* Prints, for each file of a tokenizer, how many tokens it has, how it cuts a text, and how many tokens may follow each
   of them: tokenizer_files SCHEMA TEXT FILE... */

#include "native.h"

static void show(const char *schema, const char *text, const char *path) {
    mw_tokenizer *of_file = NULL;
    mw_compiler *own = NULL;
    mw_grammar *grammar = NULL;
    mw_session *session;
    uint32_t ids[256], *mask;
    size_t n = 0, n_words, i, word;
    OK(mw_tokenizer_from_file(path, NULL, &of_file, E));
    OK(mw_compiler_new(of_file, NULL, &own, E));
    OK(mw_compile(own, "json_schema", schema, strlen(schema), NULL, NULL, &grammar, E));
    OK(mw_tokenizer_encode(of_file, (const uint8_t *)text, strlen(text), ids, 256, &n, E));
    CHECK(n <= 256);
    n_words = mw_tokenizer_mask_words(of_file);
    mask = (uint32_t *)malloc(4 * n_words);
    printf("%u", (unsigned)mw_tokenizer_n_vocab(of_file));
    session = session_of(grammar);
    for (i = 0; i < n; i++) {
        unsigned n_allowed = 0;
        OK(mw_session_fill_mask(session, mask, n_words, NULL, E));
        for (word = 0; word < n_words; word++) {
            uint32_t bits = mask[word];
            for (; bits != 0; bits &= bits - 1) n_allowed++;
        }
        CHECK(BIT(mask, ids[i]) && accept(session, ids[i]));
        printf(" %u:%u", (unsigned)ids[i], n_allowed);
    }
    printf("\n");
    free(mask);
    mw_session_free(session);
    mw_grammar_free(grammar);
    mw_compiler_free(own);
    mw_tokenizer_free(of_file);
}

int main(int n_arguments, char **arguments) {
    int i;
    for (i = 3; i < n_arguments; i++) show(arguments[1], arguments[2], arguments[i]);
    mw_error_free(error);
    return 0;
}

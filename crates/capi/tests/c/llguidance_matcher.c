/* llguidance.h: matchers, as programs for llguidance use them. The argument of the program is a folder to write to. */

#define _POSIX_C_SOURCE 200112L

#include <fcntl.h>
#include <unistd.h>

#include "llg.h"

/* The mask, computed both ways. */
static const uint32_t *mask_of(LlgMatcher *matcher) {
    static uint32_t mask[N_WORDS];
    const uint32_t *shown;
    memset(mask, 0xaa, sizeof mask);
    CHECK(llg_matcher_compute_mask_into(matcher, mask, sizeof mask) == 0);
    CHECK(llg_matcher_compute_mask(matcher) == 0);
    shown = llg_matcher_get_mask(matcher);
    CHECK(shown != NULL && memcmp(shown, mask, sizeof mask) == 0);
    return shown;
}

static unsigned n_allowed(const uint32_t *mask) {
    unsigned id, n = 0;
    for (id = 0; id < N_WORDS * 32; id++) n += BIT(mask, id);
    return n;
}

static void walk(void) {
    LlgMatcher *matcher = matcher_of("regex", "a(yes|b)?");
    const uint32_t *mask;
    CHECK(llg_matcher_get_mask_byte_size(matcher) == 4 * N_WORDS);
    /* No mask before it is computed, and none after a token. */
    CHECK(llg_matcher_get_mask(matcher) == NULL);
    mask = mask_of(matcher);
    CHECK(BIT(mask, 'a') && BIT(mask, TOKEN_AB) && n_allowed(mask) == 2);
    CHECK(!llg_matcher_is_accepting(matcher) && !llg_matcher_is_stopped(matcher));
    CHECK(llg_matcher_get_mask(matcher) == mask);
    CHECK(llg_matcher_consume_token(matcher, 'a') == 0);
    CHECK(llg_matcher_get_mask(matcher) == NULL);
    CHECK(llg_matcher_is_accepting(matcher) && !llg_matcher_is_stopped(matcher));
    mask = mask_of(matcher);
    CHECK(BIT(mask, 'b') && BIT(mask, TOKEN_YES) && BIT(mask, 'y') && BIT(mask, TOKEN_END) && n_allowed(mask) == 4);
    /* Nothing may follow: the text has stopped, though no token has ended it. */
    CHECK(llg_matcher_consume_token(matcher, TOKEN_YES) == 0);
    CHECK(llg_matcher_get_mask(matcher) == NULL);
    CHECK(llg_matcher_is_stopped(matcher) && llg_matcher_is_accepting(matcher));
    mask = mask_of(matcher);
    CHECK(BIT(mask, TOKEN_END) && n_allowed(mask) == 1);
    CHECK(llg_matcher_consume_token(matcher, TOKEN_END) == 0 && llg_matcher_is_stopped(matcher));
    CHECK(llg_matcher_consume_token(matcher, TOKEN_END) == 0 && n_allowed(mask_of(matcher)) == 1);
    /* Each token is taken back, those after the end as well. */
    CHECK(llg_matcher_rollback(matcher, 1) == 0 && llg_matcher_is_stopped(matcher));
    CHECK(llg_matcher_get_mask(matcher) == NULL);
    CHECK(llg_matcher_rollback(matcher, 2) == 0 && !llg_matcher_is_stopped(matcher));
    CHECK(llg_matcher_consume_token(matcher, 'y') == 0 && !llg_matcher_is_accepting(matcher));
    CHECK(llg_matcher_reset(matcher) == 0 && BIT(mask_of(matcher), 'a') && !BIT(mask_of(matcher), 'y'));
    CHECK(llg_matcher_rollback(matcher, 0) == 0 && llg_matcher_get_error(matcher) == NULL);
    /* A token that ends a text, where it may end. */
    CHECK(llg_matcher_consume_token(matcher, 'a') == 0 && llg_matcher_consume_token(matcher, TOKEN_END) == 0);
    CHECK(llg_matcher_is_stopped(matcher) && n_allowed(mask_of(matcher)) == 1);
    llg_free_matcher(matcher);
}

/* That an error is one for good. */
static void is_broken(LlgMatcher *matcher) {
    uint32_t mask[N_WORDS], id = 'a';
    const char *why = llg_matcher_get_error(matcher);
    LlgMatcher *clone;
    CHECK(llg_matcher_is_error(matcher) && why != NULL && *why);
    CHECK(llg_matcher_is_stopped(matcher) && !llg_matcher_is_accepting(matcher));
    CHECK(llg_matcher_compute_mask(matcher) == -1 && llg_matcher_get_mask(matcher) == NULL);
    CHECK(llg_matcher_compute_mask_into(matcher, mask, sizeof mask) == -1);
    CHECK(llg_matcher_consume_token(matcher, 'a') == -1 && llg_matcher_consume_tokens(matcher, &id, 1) == -1);
    CHECK(llg_matcher_validate_tokens(matcher, &id, 1) == -1 && llg_matcher_compute_ff_tokens(matcher, &id, 1) == -1);
    CHECK(llg_matcher_rollback(matcher, 0) == -1 && llg_matcher_rollback(matcher, 1) == -1);
    CHECK(llg_matcher_reset(matcher) == -1 && llg_matcher_is_error(matcher));
    CHECK(llg_matcher_get_error(matcher) == why);
    clone = llg_clone_matcher(matcher);
    CHECK(llg_matcher_is_error(clone) && strcmp(llg_matcher_get_error(clone), why) == 0);
    llg_free_matcher(matcher);
    CHECK(llg_matcher_get_error(clone)[0] != 0);
    llg_free_matcher(clone);
}

static void errors(void) {
    const uint32_t tokens[] = {'a', 'x'};
    uint32_t mask[N_WORDS + 1];
    LlgMatcher *matcher = matcher_of("regex", "ab*");
    CHECK(llg_matcher_consume_token(matcher, 'x') == -1);
    HAS(llg_matcher_get_error(matcher), "x");
    is_broken(matcher);
    matcher = matcher_of("regex", "ab*");
    CHECK(llg_matcher_compute_mask(matcher) == 0 && llg_matcher_consume_tokens(matcher, tokens, 2) == -1);
    is_broken(matcher);
    matcher = matcher_of("regex", "ab*");
    CHECK(llg_matcher_consume_token(matcher, N_TOKENS) == -1);
    is_broken(matcher);
    matcher = matcher_of("regex", "ab*");
    CHECK(llg_matcher_consume_token(matcher, TOKEN_END) == -1);
    is_broken(matcher);
    matcher = matcher_of("regex", "ab");
    CHECK(consume_text(matcher, "ab") && llg_matcher_consume_token(matcher, 'b') == -1);
    is_broken(matcher);
    matcher = matcher_of("regex", "ab");
    CHECK(llg_matcher_rollback(matcher, 1) == -1);
    is_broken(matcher);
    matcher = matcher_of("regex", "ab");
    mask[0] = 7;
    CHECK(llg_matcher_compute_mask_into(matcher, mask, sizeof mask) == -1 && mask[0] == 7);
    HAS(llg_matcher_get_error(matcher), "mask_byte_len");
    is_broken(matcher);
    matcher = matcher_of("regex", "ab");
    CHECK(llg_matcher_compute_mask_into(matcher, NULL, 4 * N_WORDS) == -1);
    is_broken(matcher);
    matcher = llg_new_matcher(&init, "regex", "(");
    CHECK(llg_matcher_get_mask_byte_size(matcher) == 0);
    is_broken(matcher);
}

static void forced(void) {
    LlgMatcher *matcher = matcher_of("json", "{\"const\": {\"a\": true}}"), *clone;
    uint32_t ids[8];
    int32_t n;
    memset(ids, 0, sizeof ids);
    /* A schema allows blanks, so nothing is forced before a bracket. */
    CHECK(consume_text(matcher, "{\"a\""));
    n = llg_matcher_compute_ff_tokens(matcher, ids, 8);
    CHECK(n >= 0 && n <= 8);
    llg_free_matcher(matcher);

    matcher = matcher_of("regex", "yes!yes(a|b)");
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 8) == 3);
    CHECK(ids[0] == TOKEN_YES && ids[1] == '!' && ids[2] == TOKEN_YES);
    memset(ids, 0xee, sizeof ids);
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 2) == 2 && ids[1] == '!' && ids[2] == 0xeeeeeeee);
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 0) == 0 && llg_matcher_compute_ff_tokens(matcher, NULL, 8) == -1);
    CHECK(!llg_matcher_is_error(matcher));
    clone = llg_clone_matcher(matcher);
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 8) == 3 && llg_matcher_consume_tokens(matcher, ids, 3) == 0);
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 8) == 0);
    CHECK(llg_matcher_consume_token(matcher, 'b') == 0 && llg_matcher_is_stopped(matcher));
    /* What ends a text is not forced. */
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 8) == 0);
    llg_free_matcher(matcher);
    CHECK(!llg_matcher_is_stopped(clone) && BIT(mask_of(clone), TOKEN_YES));
    CHECK(llg_matcher_consume_token(clone, 'y') == 0);
    llg_free_matcher(clone);
}

static void validated(void) {
    const uint32_t tokens[] = {'a', TOKEN_YES, TOKEN_END, 'x'}, beyond[] = {'a', N_TOKENS};
    LlgMatcher *matcher = matcher_of("regex", "a(yes)?");
    CHECK(llg_matcher_validate_tokens(matcher, tokens, 4) == 3 && llg_matcher_validate_tokens(matcher, tokens, 1) == 1);
    CHECK(llg_matcher_validate_tokens(matcher, tokens + 1, 1) == 0 &&
          llg_matcher_validate_tokens(matcher, NULL, 0) == 0);
    CHECK(llg_matcher_validate_tokens(matcher, beyond, 2) == 1);
    CHECK(BIT(mask_of(matcher), 'a') && !llg_matcher_is_error(matcher));
    CHECK(llg_matcher_validate_tokens(matcher, NULL, 1) == -1);
    llg_free_matcher(matcher);
}

/* A token that Lark names is one that text never is. */
static void special_tokens(void) {
    LlgMatcher *matcher = matcher_of("lark", "start: \"a\" (<|call|> | <[257]>) /.*/");
    const uint32_t *mask;
    CHECK(llg_matcher_consume_token(matcher, 'a') == 0);
    mask = mask_of(matcher);
    CHECK(BIT(mask, TOKEN_CALL) && BIT(mask, TOKEN_YES) && n_allowed(mask) == 2);
    CHECK(llg_matcher_consume_token(matcher, TOKEN_CALL) == 0);
    mask = mask_of(matcher);
    CHECK(BIT(mask, '<') && BIT(mask, TOKEN_YES) && BIT(mask, TOKEN_END) && !BIT(mask, TOKEN_CALL) &&
          !BIT(mask, TOKEN_STOP));
    llg_free_matcher(matcher);
}

static void of_a_list(void) {
    const char *const list =
        "{\"max_tokens\": 4, \"grammars\": [{\"lark_grammar\": \"start: /a+/ @end\"}, {\"name\": \"end\", "
        "\"json_schema\": {\"const\": 5}}]}";
    LlgMatcher *matcher = matcher_of("llguidance", list);
    /* The text is complete within so many tokens, the one that ends it included. */
    CHECK(consume_text(matcher, "aa") && !BIT(mask_of(matcher), 'a') && BIT(mask_of(matcher), '5'));
    CHECK(llg_matcher_consume_token(matcher, '5') == 0 && llg_matcher_is_stopped(matcher));
    llg_free_matcher(matcher);
}

/* So many readings of a text that the next takes too much work: the text ends, and no call fails. */
static void meet_a_limit(void) {
    LlgMatcher *matcher =
        matcher_of("lark", "start: \"a\" x x | \"a\" x | \"a\"\nx: \"a\" start start | \"a\" y | \"a\" x\n"
                           "y: \"a\" x start | \"a\" y x | \"a\" start");
    unsigned n;
    for (n = 0; n < 2000 && !llg_matcher_is_stopped(matcher); n++) CHECK(llg_matcher_consume_token(matcher, 'a') == 0);
    CHECK(n < 2000 && llg_matcher_is_accepting(matcher) && !llg_matcher_is_error(matcher));
    CHECK(BIT(mask_of(matcher), TOKEN_END) && n_allowed(mask_of(matcher)) == 1);
    CHECK(llg_matcher_consume_token(matcher, TOKEN_END) == 0 && n_allowed(mask_of(matcher)) == 1);
    CHECK(llg_matcher_rollback(matcher, 2) == 0 && !llg_matcher_is_stopped(matcher) && BIT(mask_of(matcher), 'a'));
    CHECK(llg_matcher_rollback(matcher, n - 1) == 0 && llg_matcher_get_error(matcher) == NULL);
    llg_free_matcher(matcher);
}

/* The same with what is written to standard error: one warning. */
static void limits(const char *folder) {
    char path[512], text[512] = "";
    int own = dup(2), file;
    FILE *written;
    sprintf(path, "%.400s/warnings", folder);
    file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    CHECK(own >= 0 && file >= 0 && dup2(file, 2) == 2 && close(file) == 0);
    init.log_stderr_level = 1;
    meet_a_limit();
    init.log_stderr_level = 0;
    CHECK(dup2(own, 2) == 2 && close(own) == 0);
    written = fopen(path, "r");
    CHECK(written != NULL && fgets(text, sizeof text, written) != NULL);
    HAS(text, "the text ends here");
    CHECK(fgets(text, sizeof text, written) == NULL && fclose(written) == 0);
}

/* A vocabulary that cannot write what the grammar asks for: the text ends, rather than allow nothing. */
static void dead_end(void) {
    const uint32_t lengths[] = {1, 4};
    LlgTokenizerInit few = {0};
    LlgConstraintInit with;
    LlgMatcher *matcher;
    few.vocab_size = 2;
    few.tok_eos = 1;
    few.token_lens = lengths;
    few.token_bytes = (const uint8_t *)"a</s>";
    few.use_approximate_greedy_tokenize_fn = true;
    with = init;
    with.tokenizer = llg_new_tokenizer(&few, NULL, 0);
    matcher = llg_new_matcher(&with, "regex", "ab");
    CHECK(llg_matcher_get_error(matcher) == NULL && llg_matcher_consume_token(matcher, 0) == 0);
    CHECK(llg_matcher_compute_mask(matcher) == 0 && llg_matcher_get_mask(matcher)[0] == 2);
    CHECK(llg_matcher_is_stopped(matcher) && llg_matcher_consume_token(matcher, 1) == 0);
    llg_free_matcher(matcher);
    llg_free_tokenizer((LlgTokenizer *)with.tokenizer);
}

static void wrong_use(LlgMatcher *none, const char *why) {
    uint32_t mask[N_WORDS], id = 'a';
    CHECK(llg_matcher_compute_mask(none) == -1 && llg_matcher_get_mask(none) == NULL);
    CHECK(llg_matcher_compute_mask_into(none, mask, sizeof mask) == -1 && llg_matcher_get_mask_byte_size(none) == 0);
    CHECK(llg_matcher_consume_token(none, 'a') == -1 && llg_matcher_consume_tokens(none, &id, 1) == -1);
    CHECK(llg_matcher_is_error(none) && llg_matcher_is_stopped(none) && !llg_matcher_is_accepting(none));
    HAS(llg_matcher_get_error(none), why);
    CHECK(llg_matcher_rollback(none, 0) == -1 && llg_matcher_reset(none) == -1);
    CHECK(llg_matcher_validate_tokens(none, &id, 1) == -1 && llg_matcher_compute_ff_tokens(none, &id, 1) == -1);
    CHECK(llg_clone_matcher(none) == NULL);
    llg_free_matcher(none);
}

int main(int n_arguments, char **arguments) {
    LlgMatcher *matcher;
    CHECK(n_arguments == 2);
    set_up();
    walk();
    errors();
    forced();
    validated();
    dead_end();
    special_tokens();
    of_a_list();
    if (!is_slow()) limits(arguments[1]);
    wrong_use(NULL, "NULL");
    wrong_use((LlgMatcher *)tokenizer, "something else");
    matcher = matcher_of("regex", "a");
    CHECK(llg_matcher_consume_tokens(matcher, NULL, 0) == 0 && llg_matcher_consume_tokens(matcher, NULL, 1) == -1);
    llg_free_tokenizer(tokenizer);
    /* Matchers go on without their tokenizer. */
    llg_free_matcher(matcher);
    return 0;
}

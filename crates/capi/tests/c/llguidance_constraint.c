/* llguidance.h: constraints, and the masks of several at once. */

#define _POSIX_C_SOURCE 200112L

#include <pthread.h>

#include "llg.h"

static LlgConstraint *constraint_of(const char *kind, const char *data) {
    LlgConstraint *made = llg_new_constraint_any(&init, kind, data);
    CHECK(made != NULL);
    if (llg_get_error(made) != NULL) failed(__FILE__, __LINE__, llg_get_error(made));
    return made;
}

static LlgMaskResult mask_of(LlgConstraint *constraint) {
    LlgMaskResult result;
    memset(&result, 0xff, sizeof result);
    CHECK(llg_compute_mask(constraint, &result) == 0);
    CHECK(result.temperature == 0 && result.is_stop == (result.sample_mask == NULL));
    CHECK(llg_is_stopped(constraint) == result.is_stop);
    return result;
}

static LlgCommitResult commit(LlgConstraint *constraint, uint32_t token) {
    LlgCommitResult result;
    memset(&result, 0xff, sizeof result);
    CHECK(llg_commit_token(constraint, token, &result) == 0);
    return result;
}

static void walk(void) {
    LlgConstraint *constraint = constraint_of("regex", "a(yes|b)!"), *clone;
    LlgMaskResult mask = mask_of(constraint);
    LlgCommitResult done;
    CHECK(BIT(mask.sample_mask, 'a') && BIT(mask.sample_mask, TOKEN_AB) && !BIT(mask.sample_mask, 'b'));
    CHECK(llg_get_temperature(constraint) == 0);
    done = commit(constraint, 'a');
    CHECK(done.n_tokens == 1 && done.tokens[0] == 'a' && !done.is_stop);
    clone = llg_clone_constraint(constraint);
    mask = mask_of(constraint);
    done = commit(constraint, TOKEN_YES);
    /* One token at a time, unless more are asked for. */
    CHECK(done.n_tokens == 1 && done.tokens[0] == TOKEN_YES);
    CHECK(BIT(mask_of(constraint).sample_mask, '!') && commit(constraint, '!').n_tokens == 1);
    /* The next mask says that the text has stopped. */
    mask = mask_of(constraint);
    CHECK(mask.is_stop && mask.sample_mask == NULL);
    done = commit(constraint, TOKEN_END);
    CHECK(done.is_stop && done.n_tokens == 0 && llg_get_error(constraint) == NULL);
    llg_free_constraint(constraint);
    CHECK(BIT(mask_of(clone).sample_mask, 'b') && commit(clone, 'b').n_tokens == 1);
    llg_free_constraint(clone);
}

static void forced(void) {
    LlgConstraint *constraint;
    LlgCommitResult done;
    init.ff_tokens_ok = true;
    constraint = constraint_of("regex", "a(yes!no|b)c");
    CHECK(mask_of(constraint).sample_mask != NULL && commit(constraint, 'a').n_tokens == 1);
    CHECK(mask_of(constraint).sample_mask != NULL);
    done = commit(constraint, TOKEN_YES);
    CHECK(done.n_tokens == 4 && done.tokens[0] == TOKEN_YES && done.tokens[1] == '!' && done.tokens[2] == TOKEN_NO &&
          done.tokens[3] == 'c');
    CHECK(mask_of(constraint).is_stop);
    llg_free_constraint(constraint);
    init.ff_tokens_ok = false;
}

static void refused(LlgConstraint *constraint, const char *part, int line) {
    LlgMaskResult mask;
    LlgCommitResult done;
    LlgConstraint *clone;
    has(llg_get_error(constraint), part, __FILE__, line);
    CHECK(llg_is_stopped(constraint) && llg_compute_mask(constraint, &mask) == -1);
    CHECK(llg_commit_token(constraint, 'a', &done) == -1);
    clone = llg_clone_constraint(constraint);
    llg_free_constraint(constraint);
    has(llg_get_error(clone), part, __FILE__, line);
    llg_free_constraint(clone);
}

static void errors(void) {
    LlgMaskResult mask;
    LlgCommitResult done;
    LlgConstraint *constraint = constraint_of("regex", "a");
    CHECK(llg_commit_token(constraint, 'x', &done) == -1);
    refused(constraint, "x", __LINE__);
    refused(llg_new_constraint(&init, "{\"grammars\": 5}"), "grammars", __LINE__);
    refused(llg_new_constraint_regex(&init, "("), "", __LINE__);
    refused(llg_new_constraint_json(&init, "{\"type\": 5}"), "type", __LINE__);
    refused(llg_new_constraint_lark(&init, "start: x"), "x", __LINE__);
    refused(llg_new_constraint_any(&init, "none", "a"), "none", __LINE__);
    refused(llg_new_constraint_any(&init, NULL, "a"), "NULL", __LINE__);
    refused(llg_new_constraint_regex(&init, NULL), "NULL", __LINE__);
    refused(llg_new_constraint_regex(NULL, "a"), "init", __LINE__);
    HAS(llg_get_error(NULL), "NULL");
    CHECK(llg_is_stopped(NULL) && llg_compute_mask(NULL, &mask) == -1 && llg_commit_token(NULL, 0, &done) == -1);
    CHECK(llg_clone_constraint(NULL) == NULL && llg_flush_logs(NULL) == NULL && llg_get_temperature(NULL) == 0);
    llg_free_constraint(NULL);
    constraint = (LlgConstraint *)tokenizer;
    HAS(llg_get_error(constraint), "something else");
    CHECK(llg_compute_mask(constraint, &mask) == -1 && llg_clone_constraint(constraint) == NULL);
    llg_free_constraint(constraint);
    constraint = llg_new_constraint_json(&init, "{\"const\": 1}");
    CHECK(llg_compute_mask(constraint, NULL) == -1 && llg_commit_token(constraint, '1', NULL) == -1);
    llg_free_constraint(constraint);
}

static void kinds(void) {
    LlgConstraint *all[4];
    static const uint32_t first[] = {'5', 'y', 'a', TOKEN_TRUE};
    size_t i;
    all[0] = llg_new_constraint_json(&init, "{\"const\": 5}");
    all[1] = llg_new_constraint_regex(&init, "yes");
    all[2] = llg_new_constraint_lark(&init, "start: \"a\"");
    all[3] = llg_new_constraint(&init, "{\"grammars\": [{\"json_schema\": {\"const\": true}}]}");
    for (i = 0; i < 4; i++) {
        CHECK(llg_get_error(all[i]) == NULL && BIT(mask_of(all[i]).sample_mask, first[i]));
        llg_free_constraint(all[i]);
    }
}

static void logs(void) {
    LlgConstraint *constraint;
    init.log_buffer_level = 2;
    constraint = constraint_of("regex", "ab");
    CHECK(strcmp(llg_flush_logs(constraint), "") == 0);
    mask_of(constraint);
    commit(constraint, 'a');
    HAS(llg_flush_logs(constraint), "tokens");
    CHECK(strcmp(llg_flush_logs(constraint), "") == 0);
    llg_free_constraint(constraint);
    init.log_buffer_level = 0;
    constraint = constraint_of("regex", "ab");
    mask_of(constraint);
    CHECK(strcmp(llg_flush_logs(constraint), "") == 0);
    llg_free_constraint(constraint);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static int n_done = 0;

static void done(const void *user_data) {
    CHECK(user_data == &n_done);
    pthread_mutex_lock(&mutex);
    n_done++;
    pthread_cond_signal(&is_done);
    pthread_mutex_unlock(&mutex);
}

static void compute(const LlgConstraintStep *steps, size_t n) {
    pthread_mutex_lock(&mutex);
    n_done = 0;
    llg_par_compute_mask(steps, n, &n_done, done);
    while (n_done == 0) pthread_cond_wait(&is_done, &mutex);
    CHECK(n_done == 1);
    pthread_mutex_unlock(&mutex);
}

enum { N = 9 };

static void in_parallel(void) {
    static const char *const patterns[] = {"a+", "(yes|no)+", "[a-z]{3}x"};
    static uint32_t masks[N][N_WORDS + 1];
    LlgConstraintStep steps[N];
    LlgConstraint *alone;
    size_t i;
    for (i = 0; i < N; i++) {
        steps[i].constraint = i == 4 ? NULL : constraint_of("regex", i == 5 ? "(yes)?" : patterns[i % 3]);
        steps[i].mask_dest = masks[i];
        steps[i].mask_byte_len = 4 * N_WORDS;
    }
    memset(masks, 0xee, sizeof masks);
    commit(steps[5].constraint, TOKEN_YES);
    steps[6].mask_byte_len = 4 * N_WORDS + 4;
    steps[7].mask_byte_len = 8;
    steps[8].mask_byte_len = 7;
    compute(steps, N);
    for (i = 0; i < 4; i++) {
        alone = constraint_of("regex", patterns[i % 3]);
        CHECK(memcmp(masks[i], mask_of(alone).sample_mask, 4 * N_WORDS) == 0 && masks[i][N_WORDS] == 0xeeeeeeee);
        llg_free_constraint(alone);
    }
    CHECK(masks[4][0] == 0xeeeeeeee);
    /* A text that has stopped has the token that ends it. */
    for (i = 0; i < N_WORDS; i++) CHECK(masks[5][i] == (i == TOKEN_END / 32 ? 1u << TOKEN_END % 32 : 0));
    CHECK(llg_is_stopped(steps[5].constraint) && llg_get_error(steps[5].constraint) == NULL);
    /* More room is cleared, less is enough for some tokens; what is not of words is an error. */
    CHECK(memcmp(masks[6], masks[0], 4 * N_WORDS) == 0 && masks[6][N_WORDS] == 0);
    CHECK(memcmp(masks[7], masks[1], 8) == 0 && masks[7][2] == 0xeeeeeeee);
    HAS(llg_get_error(steps[8].constraint), "mask_byte_len");
    CHECK(masks[8][0] == 0xeeeeeeee);
    /* What was computed there is taken on. */
    CHECK(commit(steps[0].constraint, 'a').n_tokens == 1);
    compute(NULL, 0);
    /* Without a callback the masks are there when the call returns. */
    memset(masks, 0xee, sizeof masks);
    llg_par_compute_mask(steps, 4, NULL, NULL);
    for (i = 1; i < 4; i++) CHECK(masks[i][0] != 0xeeeeeeee);
    for (i = 0; i < N; i++) llg_free_constraint(steps[i].constraint);
}

int main(void) {
    set_up();
    walk();
    forced();
    errors();
    kinds();
    logs();
    in_parallel();
    llg_free_tokenizer(tokenizer);
    return 0;
}

// Both headers are C++ as well, and go together.

#include "check.h"
#include "llguidance.h"
#include "maskwright.h"

static void native() {
    const uint8_t bytes[] = {'a', 'b'};
    const uint32_t lengths[] = {1, 1};
    mw_tokenizer *tokenizer = nullptr;
    mw_compiler *compiler = nullptr;
    mw_grammar *grammar = nullptr;
    mw_error *error = nullptr;
    CHECK(mw_abi_version() == MW_ABI_VERSION);
    CHECK(mw_tokenizer_from_tokens(bytes, lengths, nullptr, 2, &tokenizer, &error) == MW_STATUS_OK && error == nullptr);
    CHECK(mw_compiler_new(tokenizer, nullptr, &compiler, &error) == MW_STATUS_OK);
    CHECK(mw_compile(compiler, "regex", "(", 1, nullptr, nullptr, &grammar, &error) == MW_STATUS_GRAMMAR);
    CHECK(grammar == nullptr && error->status == MW_STATUS_GRAMMAR && error->line == 1);
    mw_error_free(error);
    mw_compiler_free(compiler);
    mw_tokenizer_free(tokenizer);
}

static void of_llguidance() {
    vocabulary words = make_vocabulary(1);
    LlgTokenizerInitV2 given = LlgTokenizerInitV2();
    given.struct_size = sizeof given;
    given.vocab_size = N_TOKENS;
    given.tok_eos = TOKEN_END;
    given.token_lens = words.lengths;
    given.token_bytes = words.bytes;
    given.use_approximate_greedy_tokenize_fn = true;
    LlgTokenizer *tokenizer = llg_new_tokenizer_v2(&given, nullptr, 0);
    LlgConstraintInit init;
    llg_constraint_init_set_defaults(&init, tokenizer);
    LlgMatcher *matcher = llg_new_matcher(&init, "lark", "start: \"yes\" <|call|>");
    CHECK(llg_matcher_get_error(matcher) == nullptr);
    CHECK(llg_matcher_consume_token(matcher, TOKEN_YES) == 0 && llg_matcher_consume_token(matcher, TOKEN_CALL) == 0);
    CHECK(llg_matcher_is_stopped(matcher));
    llg_free_matcher(matcher);
    llg_free_tokenizer(tokenizer);
}

int main() {
    native();
    of_llguidance();
    return 0;
}

/* llguidance.h: tokenizers and grammars. */

#include <stddef.h>

#include "llg.h"
#include "maskwright.h"

static char message[400];

static LlgTokenizerInitV2 init_of_words(void) {
    LlgTokenizerInitV2 made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    made.vocab_size = N_TOKENS;
    made.tok_eos = TOKEN_END;
    made.token_lens = words.lengths;
    made.token_bytes = words.bytes;
    made.use_approximate_greedy_tokenize_fn = true;
    return made;
}

static LlgTokenizerInit older(const LlgTokenizerInitV2 *newer) {
    LlgTokenizerInit made;
    memset(&made, 0, sizeof made);
    made.vocab_size = newer->vocab_size;
    made.tok_eos = newer->tok_eos;
    made.token_lens = newer->token_lens;
    made.token_bytes = newer->token_bytes;
    made.tokenizer_json = newer->tokenizer_json;
    made.tokenize_assumes_string = newer->tokenize_assumes_string;
    made.tokenize_fn = newer->tokenize_fn;
    made.use_approximate_greedy_tokenize_fn = newer->use_approximate_greedy_tokenize_fn;
    made.tokenize_user_data = newer->tokenize_user_data;
    return made;
}

/* That neither function makes a tokenizer, and that both say why. */
static void refused(const LlgTokenizerInitV2 *given, const char *part, int line) {
    LlgTokenizerInit first = older(given);
    memset(message, 'x', sizeof message);
    CHECK(llg_new_tokenizer_v2(given, message, sizeof message) == NULL);
    has(message, part, __FILE__, line);
    memset(message, 'x', sizeof message);
    CHECK(llg_new_tokenizer(&first, message, sizeof message) == NULL);
    has(message, part, __FILE__, line);
}

static void wrong_tokenizers(void) {
    LlgTokenizerInitV2 given = init_of_words();
    const uint32_t beyond = N_TOKENS;
    given.use_approximate_greedy_tokenize_fn = false;
    refused(&given, "tokenize_fn", __LINE__);
    given = init_of_words();
    given.tok_eos = N_TOKENS;
    refused(&given, "out of range", __LINE__);
    given = init_of_words();
    given.token_lens = NULL;
    refused(&given, "token_lens", __LINE__);
    given = init_of_words();
    given.token_bytes = NULL;
    refused(&given, "token_bytes", __LINE__);
    given = init_of_words();
    given.tokenizer_json = "{}";
    refused(&given, "", __LINE__);
    given.tokenizer_json = "\xff";
    refused(&given, "UTF-8", __LINE__);

    given = init_of_words();
    given.tok_eos_extra = &beyond;
    given.tok_eos_extra_count = 1;
    CHECK(llg_new_tokenizer_v2(&given, message, sizeof message) == NULL);
    HAS(message, "out of range");
    given.struct_size = 0;
    CHECK(llg_new_tokenizer_v2(&given, message, sizeof message) == NULL);
    HAS(message, "struct_size");
    CHECK(llg_new_tokenizer_v2(NULL, message, sizeof message) == NULL);
    HAS(message, "NULL");
    CHECK(llg_new_tokenizer(NULL, message, sizeof message) == NULL);
    HAS(message, "NULL");
    /* A message is cut to the buffer, or left out. */
    memset(message, 'x', sizeof message);
    CHECK(llg_new_tokenizer(NULL, message, 4) == NULL);
    CHECK(strlen(message) == 3 && message[4] == 'x');
    CHECK(llg_new_tokenizer(NULL, message, 1) == NULL && message[0] == 0 && message[1] != 0);
    message[0] = 'x';
    CHECK(llg_new_tokenizer(NULL, message, 0) == NULL && message[0] == 'x');
    CHECK(llg_new_tokenizer(NULL, NULL, 9) == NULL);
}

/* Whether a token is in the first mask of a grammar. */
static bool may_begin(const LlgTokenizer *with, const char *lark, uint32_t id) {
    LlgConstraintInit own = init;
    LlgMatcher *matcher;
    bool may;
    own.tokenizer = with;
    matcher = llg_new_matcher(&own, "lark", lark);
    CHECK(llg_matcher_compute_mask(matcher) == 0);
    may = BIT(llg_matcher_get_mask(matcher), id);
    llg_free_matcher(matcher);
    return may;
}

static void more_ends(void) {
    static const uint32_t extra[] = {TOKEN_CALL, TOKEN_STOP};
    LlgTokenizerInitV2 given = init_of_words();
    LlgTokenizer *made, *again;
    const char *const maybe = "start: \"a\"?";
    given.tok_eos_extra = extra;
    given.tok_eos_extra_count = 2;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    CHECK(made != NULL && may_begin(made, maybe, TOKEN_END));
    CHECK(may_begin(made, maybe, TOKEN_CALL) && may_begin(made, maybe, TOKEN_STOP) && !may_begin(made, maybe, 'b'));
    /* A clone goes on without the first. */
    again = llg_clone_tokenizer(made);
    llg_free_tokenizer(made);
    CHECK(may_begin(again, maybe, TOKEN_CALL));
    llg_free_tokenizer(again);
    /* A program that does not know the last fields. */
    given.struct_size = offsetof(LlgTokenizerInitV2, tok_eos_extra);
    given.tok_eos_extra = (const uint32_t *)1;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    CHECK(made != NULL && may_begin(made, maybe, TOKEN_END) && !may_begin(made, maybe, TOKEN_CALL));
    llg_free_tokenizer(made);
    /* A newer program, with more. */
    given = init_of_words();
    given.struct_size += 64;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    CHECK(made != NULL);
    llg_free_tokenizer(made);
    /* None ends a text. */
    given = init_of_words();
    given.tok_eos = UINT32_MAX;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    CHECK(made != NULL && !may_begin(made, maybe, TOKEN_END) && may_begin(made, maybe, 'a'));
    llg_free_tokenizer(made);
    CHECK(llg_clone_tokenizer(NULL) == NULL);
    llg_free_tokenizer(NULL);
}

static void cut_and_shown(void) {
    const char *const marked = "a\xff<|call|>yes\xff[257]\xff<none>";
    uint32_t ids[16], some[] = {TOKEN_YES, TOKEN_CALL, 0xff, TOKEN_HALF, N_TOKENS};
    char text[64];
    size_t n;
    memset(ids, 0xee, sizeof ids);
    CHECK(llg_tokenize_bytes(tokenizer, (const uint8_t *)"yesx", 4, ids, 16) == 2 && ids[0] == TOKEN_YES &&
          ids[1] == 'x');
    CHECK(ids[2] == 0xeeeeeeee);
    ids[1] = 9;
    CHECK(llg_tokenize_bytes(tokenizer, (const uint8_t *)"yesx", 4, ids, 1) == 2 && ids[1] == 9);
    CHECK(llg_tokenize_bytes(tokenizer, (const uint8_t *)"yesx", 4, NULL, 0) == 2);
    CHECK(llg_tokenize_bytes(tokenizer, NULL, 0, ids, 16) == 0);
    CHECK(llg_tokenize_bytes(NULL, (const uint8_t *)"yesx", 4, ids, 16) == 0);
    CHECK(llg_tokenize_bytes((LlgTokenizer *)"no tokenizer at all", (const uint8_t *)"yesx", 4, ids, 16) == 0);
    CHECK(llg_tokenize_bytes(tokenizer, NULL, 4, ids, 16) == 0);
    n = llg_tokenize_bytes_marker(tokenizer, (const uint8_t *)marked, strlen(marked), ids, 16);
    CHECK(n == 10 && ids[0] == 'a' && ids[1] == TOKEN_CALL && ids[2] == TOKEN_YES && ids[3] == 257 && ids[4] == 0xff &&
          ids[5] == '<');
    CHECK(llg_tokenize_bytes_marker(NULL, (const uint8_t *)"a", 1, ids, 16) == 0);

    n = llg_decode_tokens(tokenizer, some, 5, text, sizeof text, LLG_DECODE_NONE);
    CHECK(n == 3 + 1 + 3 + 1 && strcmp(text, "yes\xffx\xe2\x82") == 0);
    n = llg_decode_tokens(tokenizer, some, 5, text, sizeof text, LLG_DECODE_INCLUDE_SPECIAL | LLG_DECODE_VALID_UTF8);
    CHECK(strcmp(text, "yes<|call|>\xef\xbf\xbdx\xef\xbf\xbd<[267]>") == 0 && n == strlen(text) + 1);
    n = llg_decode_tokens(tokenizer, some, 1, text, 3, LLG_DECODE_NONE);
    CHECK(n == 4 && strcmp(text, "ye") == 0);
    CHECK(llg_decode_tokens(tokenizer, some, 1, NULL, 0, 0) == 4 &&
          llg_decode_tokens(tokenizer, NULL, 0, text, 9, 0) == 1);
    CHECK(llg_decode_tokens(NULL, some, 1, text, 9, 0) == 0 && llg_decode_tokens(tokenizer, NULL, 1, text, 9, 0) == 0);
    n = llg_stringify_tokens(tokenizer, some, 2, text, sizeof text);
    HAS(text, "yes");
    HAS(text, "<|call|>");
    CHECK(n == strlen(text) + 1 && llg_stringify_tokens(NULL, some, 2, text, sizeof text) == 0);
}

static size_t n_calls;

/* A token for each byte, after one that begins each text. */
static uintptr_t cut(const void *user_data, const uint8_t *bytes, uintptr_t n, uint32_t *ids, uintptr_t capacity) {
    size_t i;
    n_calls++;
    CHECK(user_data == &n_calls);
    for (i = 0; i <= n && i < capacity; i++) ids[i] = i == 0 ? TOKEN_CALL : bytes[i - 1];
    return n + 1;
}

static void own_function(void) {
    LlgTokenizerInitV2 given = init_of_words();
    LlgConstraintInit own = init;
    LlgTokenizer *made;
    LlgMatcher *matcher;
    uint32_t ids[8] = {0};
    given.use_approximate_greedy_tokenize_fn = false;
    given.tokenize_assumes_string = true;
    given.tokenize_fn = cut;
    given.tokenize_user_data = &n_calls;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    CHECK(made != NULL);
    CHECK(llg_tokenize_bytes(made, (const uint8_t *)"yes", 3, ids, 8) == 3 && n_calls > 0 && ids[0] == 'y' &&
          ids[2] == 's');
    /* It takes only UTF-8. */
    n_calls = 0;
    CHECK(llg_tokenize_bytes(made, (const uint8_t *)"yes\xff", 4, ids, 8) == 2 && ids[0] == TOKEN_YES && n_calls == 0);
    own.tokenizer = made;
    matcher = llg_new_matcher(&own, "regex", "yes!");
    CHECK(llg_matcher_compute_ff_tokens(matcher, ids, 8) == 4 && ids[0] == 'y' && ids[3] == '!');
    llg_free_tokenizer(made);
    CHECK(llg_matcher_consume_tokens(matcher, ids, 4) == 0 && llg_matcher_is_stopped(matcher));
    llg_free_matcher(matcher);
}

static void file_of_a_tokenizer(void) {
    LlgTokenizerInitV2 given = init_of_words();
    LlgTokenizer *made;
    uint32_t ids[8];
    char text[32];
    given.vocab_size = 0;
    given.token_lens = NULL;
    given.token_bytes = NULL;
    given.tok_eos = 3;
    given.tokenizer_json = TOKENIZER_JSON;
    made = llg_new_tokenizer_v2(&given, message, sizeof message);
    if (made == NULL) failed(__FILE__, __LINE__, message);
    CHECK(llg_tokenize_bytes(made, (const uint8_t *)"aab", 3, ids, 8) == 2 && ids[0] == 0 && ids[1] == 2);
    ids[0] = 3;
    CHECK(llg_decode_tokens(made, ids, 2, text, sizeof text, LLG_DECODE_INCLUDE_SPECIAL) == 7 &&
          strcmp(text, "</s>ab") == 0);
    CHECK(may_begin(made, "start: \"ab\"?", 3) && may_begin(made, "start: \"ab\"?", 2) &&
          !may_begin(made, "start: \"ab\"?", 1));
    llg_free_tokenizer(made);
}

#define LIST                                                                                                           \
    "{\"grammars\": [{\"lark_grammar\": \"start: \\\"<\\\" @json \\\">\\\" @word\"}, {\"name\": \"json\", "            \
    "\"json_schema\": {\"type\": \"boolean\"}}, {\"name\": \"word\", \"lark_grammar\": \"start: /[a-z]+/\"}]}"

static void kinds(void) {
    static const char *const all[][4] = {
        {"regex", "[a-c]+\\d", "abc1", "abc"},
        {"json_schema", "{\"type\": \"boolean\"}", "true", "null"},
        {"json", "{\"enum\": [\"yes\", 5]}", "\"yes\"", "6"},
        {"json_object", "", "{\"x\": [1]}", "[1]"},
        {"json_object", "{}", "{}", "1"},
        {"lark", "%llguidance {}\nstart: \"a\" %json {\"type\": \"boolean\"} END\nEND: /!+/", "afalse!!", "anull!"},
        {"lark", "%llguidance {\"no_forcing\": true}\nstart: /a+/", "aa", "b"},
        {"lark", "%llguidance {}\nstart: %json {\"type\": \"array\", \"uniqueItems\": true}", "[1, 2]", "[1, 1]"},
        {"lark", "start: \"a\" <|call|> \"b\"", "a\xff<|call|>b", "a<|call|>b"},
        {"lark", "start: \"a\" <[257]>", "a\xff[257]", "a\xff[258]"},
        {"llguidance", "start: \"x\"", "x", "y"},
        {"guidance", LIST, "<true>ab", "<5>ab"},
        {"llguidance", LIST, "<false>z", "<false>"},
        {"llguidance", "{\"grammars\": [{\"json_schema\": {\"const\": 1}}]}", "1", "2"},
    };
    size_t i;
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const *each = all[i];
        if (!is_text(each[0], each[1], each[2]) || is_text(each[0], each[1], each[3]))
            failed(__FILE__, __LINE__, each[1]);
        memset(message, 'x', sizeof message);
        CHECK(llg_validate_grammar(&init, each[0], each[1], message, sizeof message) == 0 && message[0] == 0);
    }
    REFUSED("regex", "(", "");
    REFUSED("json", "{\"type\": 5}", "type");
    REFUSED("json", "nothing", "JSON");
    REFUSED("ebnf", "a", "ebnf");
    REFUSED("lark", "start: x", "x");
    REFUSED("lark", "%llguidance {\"allow_invalid_utf8\": true}\nstart: \"a\"", "allow_invalid_utf8");
    REFUSED("lark", "%llguidance {\"no_such\": true}\nstart: \"a\"", "no_such");
    REFUSED("lark", "start: a\na[lazy]: /.*/", "lazy");
    REFUSED("lark", "start: a\na[temperature=0.5]: \"a\"", "temperature");
    REFUSED("lark", "start: a\na[max_tokens=5]: /.*/", "max_tokens");
    REFUSED("lark", "start: a\na[capture]: /.*/", "capture");
    REFUSED("lark", "start: a\na[suffix=\"x\"]: /.*/", "suffix");
    REFUSED("lark", "%llguidance {\"ignore_once\": true}\nstart: \"a\"", "ignore_once");
    REFUSED("lark", "start: %regex {\"substring_chars\": \"abc\"}", "regex");
    REFUSED("lark", "start: A\nA: /a+/ & /aa/", "&");
    REFUSED("lark", "start: A\nA: ~/a+/", "~");
    REFUSED("lark", "start: @other", "other");
    REFUSED("lark", "start: <|no_such|>", "no_such");
    REFUSED("lark", "\xff", "UTF-8");
    REFUSED("lark", "%llguidance {\"maskwright\":{\"kind\":\"regex\"}}", "source");
    REFUSED("llguidance", "{\"grammars\": []}", "grammars");
    REFUSED("llguidance", "{\"grammars\": [{}]}", "lark_grammar");
    REFUSED("llguidance", "{\"grammars\": [{\"lark_grammar\": \"start: @x\"}, {\"name\": \"x\"}]}", "grammar 1");
    REFUSED("llguidance", "{\"max_tokens\": \"5\", \"grammars\": [{\"json_schema\": {}}]}", "max_tokens");
    REFUSED("llguidance",
            "{\"max_tokens\": 1, \"grammars\": [{\"json_schema\": {\"minLength\": 9, \"type\": \"string\"}}]}",
            "token");
    REFUSED("llguidance", "{", "list");
    REFUSED(NULL, "a", "NULL");
    REFUSED("regex", NULL, "NULL");
}

static void validated(void) {
    LlgConstraintInit none = init;
    LlgMatcher *matcher;
    memset(message, 'x', sizeof message);
    CHECK(llg_validate_grammar(&init, "json", "{\"type\": \"text\"}", message, sizeof message) == -1);
    HAS(message, "type");
    memset(message, 'x', sizeof message);
    CHECK(llg_validate_grammar(&init, "json", "{\"type\": \"text\"}", message, 4) == -1);
    CHECK(strlen(message) == 3 && message[4] == 'x');
    CHECK(llg_validate_grammar(&init, "json", "{\"type\": \"text\"}", NULL, 0) == -1);
    CHECK(llg_validate_grammar(NULL, "json", "{}", message, sizeof message) == -1);
    /* What is not enforced is a warning. */
    CHECK(llg_validate_grammar(&init, "json", "{\"type\": \"string\", \"format\": \"no-such-format\"}", message,
                               sizeof message) == 1);
    HAS(message, "format");
    none.tokenizer = NULL;
    CHECK(llg_validate_grammar(&none, "json", "{}", message, sizeof message) == -1);
    HAS(message, "NULL");
    matcher = llg_new_matcher(&none, "json", "{}");
    CHECK(llg_matcher_is_error(matcher));
    llg_free_matcher(matcher);
    matcher = llg_new_matcher(NULL, "json", "{}");
    CHECK(llg_matcher_is_error(matcher));
    llg_free_matcher(matcher);
    llg_constraint_init_set_defaults(NULL, tokenizer);
    HAS(llg_get_version(), "llguidance");
}

/* Grammars that the other library has written down. */
static void exported(void) {
    static const char *const all[][5] = {
        {"json_schema", "{\"type\": \"array\"}", "{\"whitespace\": \"compact\"}", "[1,2]", "[1, 2]"},
        {"gbnf", "root ::= \"a\" [0-9]*", NULL, "a12", "b"},
        {"tool_calls", "[{\"name\": \"add\", \"parameters\": {\"type\": \"object\"}}]",
         "{\"format\": \"llama\", \"tool_choice\": \"required\"}", "{\"name\": \"add\", \"parameters\": {}}", "hello"},
        {"choice", "[\"\\\"}\", \"\\u0000b\\n\"]", NULL, "\"}", "}"},
    };
    vocabulary plain = make_vocabulary(0);
    mw_tokenizer *own = NULL;
    mw_compiler *compiler = NULL;
    size_t i;
    CHECK(mw_tokenizer_from_tokens(plain.bytes, plain.lengths, plain.flags, N_TOKENS, &own, NULL) == MW_STATUS_OK);
    CHECK(mw_compiler_new(own, NULL, &compiler, NULL) == MW_STATUS_OK);
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const *each = all[i];
        mw_grammar *grammar = NULL;
        char *text = NULL;
        CHECK(mw_compile(compiler, each[0], each[1], strlen(each[1]), each[2], NULL, &grammar, NULL) == MW_STATUS_OK);
        CHECK(mw_grammar_export(grammar, &text, NULL) == MW_STATUS_OK);
        CHECK(is_text("lark", text, each[3]) && !is_text("lark", text, each[4]) &&
              is_text("llguidance", text, each[3]));
        mw_text_free(text);
        mw_grammar_free(grammar);
    }
    mw_compiler_free(compiler);
    mw_tokenizer_free(own);
}

int main(void) {
    set_up();
    wrong_tokenizers();
    more_ends();
    cut_and_shown();
    own_function();
    file_of_a_tokenizer();
    kinds();
    validated();
    exported();
    llg_free_tokenizer(tokenizer);
    return 0;
}

/* maskwright.h: tokenizers, every kind of grammar, errors, and answers in words. The argument of the program is a
   folder to write to. */

#include "native.h"

static void versions(void) {
    CHECK(mw_abi_version() == MW_ABI_VERSION);
    HAS(mw_version(), ".");
    mw_error_free(NULL);
    mw_text_free(NULL);
}

static void tokenizers(const char *folder) {
    const uint8_t *json = (const uint8_t *)TOKENIZER_JSON, *bytes;
    const char *const eos = "{\"eos_token_ids\": [3], \"vocab_size\": 40}";
    uint32_t ids[8] = {99, 99, 99, 99};
    size_t n = 77;
    mw_tokenizer *made = NULL;
    char path[512];
    FILE *file;

    CHECK(mw_tokenizer_n_vocab(tokenizer) == N_TOKENS && mw_tokenizer_n_vocab(NULL) == 0);
    CHECK(mw_tokenizer_mask_words(tokenizer) == (N_TOKENS + 31) / 32 && mw_tokenizer_mask_words(NULL) == 0);
    bytes = mw_tokenizer_token_bytes(tokenizer, TOKEN_YES, &n);
    CHECK(n == 3 && memcmp(bytes, "yes", 3) == 0);
    CHECK(mw_tokenizer_token_bytes(tokenizer, 'x', NULL)[0] == 'x');
    CHECK(mw_tokenizer_token_bytes(tokenizer, TOKEN_END, &n) == NULL && n == 0);
    CHECK(mw_tokenizer_token_bytes(tokenizer, N_TOKENS, &n) == NULL && n == 0);
    CHECK(mw_tokenizer_token_bytes(tokenizer, UINT32_MAX, NULL) == NULL);
    CHECK(mw_tokenizer_token_bytes(NULL, 0, &n) == NULL && n == 0);

    OK(mw_tokenizer_encode(tokenizer, (const uint8_t *)"yesx\xff", 5, ids, 8, &n, E));
    CHECK(n == 3 && ids[0] == TOKEN_YES && ids[1] == 'x' && ids[2] == 0xff && ids[3] == 99);
    ids[1] = 99;
    OK(mw_tokenizer_encode(tokenizer, (const uint8_t *)"yesx", 4, ids, 1, &n, E));
    CHECK(n == 2 && ids[1] == 99);
    OK(mw_tokenizer_encode(tokenizer, (const uint8_t *)"yesx", 4, NULL, 8, &n, E));
    CHECK(n == 2);
    OK(mw_tokenizer_encode(tokenizer, NULL, 0, ids, 0, &n, E));
    CHECK(n == 0);
    REFUSED(mw_tokenizer_encode(NULL, (const uint8_t *)"a", 1, ids, 8, &n, E));
    REFUSED(mw_tokenizer_encode(tokenizer, NULL, 1, ids, 8, &n, E));
    REFUSED(mw_tokenizer_encode(tokenizer, (const uint8_t *)"a", 1, ids, 8, NULL, E));

    OK(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), eos, &made, E));
    CHECK(mw_tokenizer_n_vocab(made) == 40 && mw_tokenizer_mask_words(made) == 2);
    OK(mw_tokenizer_encode(made, (const uint8_t *)"aab", 3, ids, 8, &n, E));
    CHECK(n == 2 && ids[0] == 0 && ids[1] == 2);
    mw_tokenizer_free(made);
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), eos, NULL, E));
    FAILS(MW_STATUS_TOKENIZER, mw_tokenizer_from_json(NULL, 0, NULL, &made, E));
    REFUSED(mw_tokenizer_from_json(NULL, 5, NULL, &made, E));
    FAILS(MW_STATUS_TOKENIZER, mw_tokenizer_from_json(json, 9, NULL, &made, E));
    FAILS(MW_STATUS_TOKENIZER,
          mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "{\"eos_token_ids\": [999]}", &made, E));
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "{\"eos\": [3]}", &made, E));
    HAS(error->message, "eos_token_ids");
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "{\"eos_token_ids\": 3}", &made, E));
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "{\"vocab_size\": -1}", &made, E));
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "eos", &made, E));
    REFUSED(mw_tokenizer_from_json(json, strlen(TOKENIZER_JSON), "\xff", &made, E));

    sprintf(path, "%.400s/tokenizer.json", folder);
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(TOKENIZER_JSON, 1, strlen(TOKENIZER_JSON), file) == strlen(TOKENIZER_JSON) &&
          fclose(file) == 0);
    OK(mw_tokenizer_from_file(path, eos, &made, E));
    CHECK(mw_tokenizer_n_vocab(made) == 40);
    mw_tokenizer_free(made);
    REFUSED(mw_tokenizer_from_file(path, eos, NULL, E));
    REFUSED(mw_tokenizer_from_file(NULL, eos, &made, E));
    REFUSED(mw_tokenizer_from_file(path, "[]", &made, E));
    sprintf(path, "%.400s/none.gguf", folder);
    FAILS(MW_STATUS_TOKENIZER, mw_tokenizer_from_file(path, NULL, &made, E));
    HAS(error->message, "none.gguf");
    sprintf(path, "%.400s/none.json", folder);
    FAILS(MW_STATUS_TOKENIZER, mw_tokenizer_from_file(path, NULL, &made, E));
    HAS(error->message, "none.json");
}

static void tokenizers_of_tokens(void) {
    vocabulary words = make_vocabulary(0);
    uint32_t lengths[3] = {1, 0, 1};
    mw_tokenizer *made = NULL;
    size_t n;
    /* Without flags all are text. */
    OK(mw_tokenizer_from_tokens(words.bytes, words.lengths, NULL, N_TOKENS, &made, E));
    CHECK(mw_tokenizer_token_bytes(made, TOKEN_END, &n) != NULL && n == 7);
    mw_tokenizer_free(made);
    OK(mw_tokenizer_from_tokens((const uint8_t *)"ab", lengths, NULL, 3, &made, E));
    CHECK(mw_tokenizer_n_vocab(made) == 3 && *mw_tokenizer_token_bytes(made, 2, NULL) == 'b');
    CHECK(mw_tokenizer_token_bytes(made, 1, &n) == NULL && n == 0);
    mw_tokenizer_free(made);
    REFUSED(mw_tokenizer_from_tokens(NULL, lengths, NULL, 3, &made, E));
    REFUSED(mw_tokenizer_from_tokens(words.bytes, NULL, NULL, 3, &made, E));
    REFUSED(mw_tokenizer_from_tokens(words.bytes, lengths, NULL, SIZE_MAX, &made, E));
    REFUSED(mw_tokenizer_from_tokens(words.bytes, lengths, NULL, 3, NULL, E));
    /* Tokens that nobody can name. */
    FAILS(MW_STATUS_TOKENIZER,
          mw_tokenizer_from_tokens((const uint8_t *)"\xff\xff", lengths, words.flags + TOKEN_END, 1, &made, E));
}

typedef struct kind {
    const char *kind, *source, *options, *text, *no_text;
} kind;

static const kind KINDS[] = {
    {"json_schema", "{\"type\": \"integer\"}", NULL, "-12", "1.5"},
    {"json_schema", "{\"type\": \"array\", \"items\": {\"type\": \"null\"}}", "{\"whitespace\": \"compact\"}",
     "[null,null]", "[ null]"},
    {"json_schema", "{\"$ref\": \"other\"}", "{\"documents\": {\"other\": {\"const\": 5}}}", "5", "6"},
    {"regex", "a+b", NULL, "aab", "ab."},
    {"regex", "^\\d$", "{\"dialect\": \"python\"}", "7", "x"},
    {"choice", "[\"yes\", \"n\\u00f6\"]", NULL, "n\xc3\xb6", "no"},
    {"lark", "start: A+\nA: \"x\"", "{\"lexer\": \"basic\"}", "xx", "xy"},
    {"lark", "%import .other.part\nstart: part part", "{\"grammars\": {\"other.lark\": \"part: \\\"o\\\"\"}}", "oo",
     "o"},
    {"lark", "start: /[a-c]+/ \"!\"", "{\"dialect\": \"llguidance\"}", "abc!", "abcd!"},
    {"gbnf", "root ::= \"a\" [0-9]*", NULL, "a12", "b"},
    {"structural_tag",
     "{\"type\": \"structural_tag\", \"format\": {\"type\": \"triggered_tags\", \"triggers\": [\"<f=\"], \"tags\": "
     "[{\"type\": "
     "\"tag\", \"begin\": \"<f=a>\", \"content\": {\"type\": \"json_schema\", \"json_schema\": {\"type\": "
     "\"integer\"}}, "
     "\"end\": \"</f>\"}]}}",
     NULL, "x<f=a>12</f>y", "<f=a>x</f>"},
    {"tool_calls",
     "[{\"name\": \"add\", \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, "
     "\"required\": [\"a\"], \"additionalProperties\": false}}]",
     "{\"format\": \"llama\", \"tool_choice\": \"required\"}", "{\"name\": \"add\", \"parameters\": {\"a\": 1}}",
     "hello"},
    {"builtin", "arithmetic", NULL, "2*(3+4)", "2*("},
    {"builtin", "json", "null", "[1, {}]", "[1,"},
};

static void kinds(void) {
    size_t i;
    for (i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        const kind *each = &KINDS[i];
        mw_grammar *grammar = compiled(each->kind, each->source, each->options), *again = NULL;
        char *text = NULL, *part;
        if (!is_text(grammar, each->text) || is_text(grammar, each->no_text)) {
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, each->source);
            exit(1);
        }
        /* What is in other documents cannot be written down. */
        if (each->options != NULL && strstr(each->options, "documents") != NULL) {
            FAILS(MW_STATUS_GRAMMAR, mw_grammar_export(grammar, &text, E));
            CHECK(text == NULL);
        } else {
            OK(mw_grammar_export(grammar, &text, E));
            HAS(text, "%llguidance {\"maskwright\":");
            mw_text_free(text);
        }
        text = mw_grammar_report(grammar);
        CHECK(text[0] == '[');
        mw_text_free(text);
        /* The options are those of the kind, and JSON. */
        REFUSED(compile(each->kind, each->source, "{\"no_such_option\": 1, \"format\": \"llama\"}", &again));
        HAS(error->message, "no_such_option");
        REFUSED(compile(each->kind, each->source, "{\"file\": 1, \"format\": \"llama\"}", &again));
        HAS(error->message, "expected a text");
        REFUSED(compile(each->kind, each->source, "{]", &again));
        REFUSED(compile(each->kind, each->source, "\"text\"", &again));
        REFUSED(compile(each->kind, each->source, "{\"file\": \"\xff\"}", &again));
        REFUSED(compile(each->kind, "\xff\xfe", each->options, &again));
        HAS(error->message, "UTF-8");
        CHECK(again == NULL);
        /* A part of the text is not read beyond its length. */
        part = (char *)malloc(1);
        part[0] = each->source[0];
        mw_compile(compiler, each->kind, part, 1, each->options, NULL, &again, E);
        mw_grammar_free(again);
        free(part);
        mw_grammar_free(grammar);
    }
    CHECK(mw_compiler_memory(compiler) > 1000 && mw_compiler_memory(NULL) == 0);
}

static void errors(void) {
    mw_grammar *grammar = NULL;
    mw_compiler *small = NULL;
    mw_session *session = NULL;
    size_t needed;

    FAILS(MW_STATUS_GRAMMAR, compile("gbnf", "root ::= \"a\"\n  | item", "{\"file\": \"my.gbnf\"}", &grammar));
    CHECK(error->line == 2 && error->column == 5 && error->pointer == NULL && error->limit == NULL &&
          error->needed == 0);
    CHECK(strcmp(error->path, "my.gbnf") == 0);
    HAS(error->message, "item");
    FAILS(MW_STATUS_SCHEMA,
          compile("json_schema", "{\"properties\": {\"a/b\": {\"minLength\": \"x\"}}}", NULL, &grammar));
    CHECK(strcmp(error->pointer, "/properties/a~1b") == 0 && strcmp(error->keyword, "minLength") == 0 &&
          error->path == NULL);
    CHECK(error->line == 0 && error->column == 0 && error->limit_value == 0);
    FAILS(MW_STATUS_SCHEMA, compile("json_schema", "{\"type\": \"strin\"}", NULL, &grammar));
    CHECK(strcmp(error->pointer, "") == 0 && strcmp(error->hint, "did you mean \"string\"?") == 0);
    FAILS(MW_STATUS_SCHEMA, compile("json_schema", "false", NULL, &grammar));
    FAILS(MW_STATUS_SCHEMA, compile("json_schema", "{,}", NULL, &grammar));
    CHECK(error->line == 1 && error->column > 0);
    FAILS(MW_STATUS_GRAMMAR, compile("lark", "start: NONE", NULL, &grammar));
    FAILS(MW_STATUS_GRAMMAR, compile("regex", "(a", NULL, &grammar));
    FAILS(MW_STATUS_GRAMMAR, compile("builtin", "pyton", NULL, &grammar));
    CHECK(error->hint != NULL);
    HAS(error->hint, "python");
    REFUSED(compile("choice", "yes", NULL, &grammar));
    REFUSED(compile("ebnf", "root", NULL, &grammar));
    HAS(error->message, "structural_tag");
    REFUSED(compile("tool_calls", "[]", NULL, &grammar));
    HAS(error->message, "format");
    FAILS(MW_STATUS_GRAMMAR, compile("tool_calls", "[]", "{\"format\": \"no_such\"}", &grammar));
    CHECK(grammar == NULL);

    OK(mw_compiler_new(tokenizer, "{\"compile_work\": 10}", &small, E));
    FAILS(MW_STATUS_LIMIT, mw_compile(small, "builtin", "python", 6, NULL, NULL, &grammar, E));
    CHECK(strcmp(error->limit, "compile_work") == 0 && error->limit_value == 10);
    HAS(error->hint, "mw_compiler_new");
    /* Nobody has to take the error. */
    CHECK(mw_compile(small, "builtin", "python", 6, NULL, NULL, &grammar, NULL) == MW_STATUS_LIMIT);
    mw_compiler_free(small);
    REFUSED(mw_compiler_new(tokenizer, "{\"compile_wrok\": 10}", &small, E));
    HAS(error->message, "compile_work");
    REFUSED(mw_compiler_new(tokenizer, "{\"max_states\": -10}", &small, E));
    REFUSED(mw_compiler_new(tokenizer, "{\"max_states\": 99999999999}", &small, E));
    REFUSED(mw_compiler_new(tokenizer, "10", &small, E));
    REFUSED(mw_compiler_new(tokenizer, "\xff", &small, E));

    grammar = compiled("regex", "[a-z]{20}", NULL);
    FAILS(MW_STATUS_MAX_TOKENS_TOO_SMALL, mw_session_new(grammar, "{\"max_tokens\": 3}", &session, E));
    needed = error->needed;
    CHECK(needed > 3 && needed <= 21);
    {
        char options[64];
        sprintf(options, "{\"max_tokens\": %u}", (unsigned)needed);
        OK(mw_session_new(grammar, options, &session, E));
        mw_session_free(session);
    }
    REFUSED(mw_session_new(grammar, "{\"max_token\": 3}", &session, E));
    HAS(error->message, "max_tokens");
    REFUSED(mw_session_new(grammar, "{\"max_tokens\": \"3\"}", &session, E));
    REFUSED(mw_session_new(grammar, "{\"stop_token_ids\": [-3]}", &session, E));
    REFUSED(mw_session_new(grammar, "{\"stop_token_ids\": [99999]}", &session, E));
    REFUSED(mw_session_new(grammar, "no", &session, E));
    REFUSED(mw_session_new(grammar, "\xff", &session, E));
    mw_grammar_free(grammar);
}

static void words(void) {
    mw_grammar *grammar = compiled("json_schema",
                                   "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\", "
                                   "\"minimum\": 3}}, \"required\": [\"a\"], "
                                   "\"additionalProperties\": false, \"title\": \"T\"}",
                                   NULL);
    mw_grammar *calls = compiled("tool_calls",
                                 "[{\"name\": \"add\", \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": "
                                 "{\"type\": \"integer\"}}}}]",
                                 "{\"format\": \"llama\"}");
    mw_grammar *captured = compiled("lark", "start: \"<\" word \">\"\nword: /[a-z]+/", "{\"capture\": [\"word\"]}");
    mw_session *session = session_of(grammar), *of_calls = session_of(calls);
    const char *call = "{\"name\": \"add\", \"parameters\": {\"a\": 12}}";
    char *text = NULL;

    text = mw_grammar_report(grammar);
    HAS(text, "\"keyword\":\"minimum\"");
    HAS(text, "\"status\":\"enforced\"");
    HAS(text, "\"pointer\":\"/properties/a\"");
    mw_text_free(text);

    CHECK(accept_text(session, "{\"a\":"));
    OK(mw_session_state(session, &text, E));
    HAS(text, "\"path\":\"/a\"");
    HAS(text, "minimum");
    HAS(text, "\"is_complete\":false");
    mw_text_free(text);
    OK(mw_session_explain(session, 'x', &text, E));
    CHECK(strlen(text) > 10);
    mw_text_free(text);
    OK(mw_session_explain(session, '5', &text, E));
    CHECK(strlen(text) > 10);
    mw_text_free(text);
    OK(mw_session_explain(session, N_TOKENS, &text, E));
    HAS(text, "no token has this id");
    mw_text_free(text);

    CHECK(accept_text(of_calls, call) && is_accepting(of_calls));
    OK(mw_session_events(of_calls, 0, &text, E));
    HAS(text, "\"kind\":\"tool\"");
    HAS(text, "\"name\":\"add\"");
    HAS(text, "\"kind\":\"argument\"");
    mw_text_free(text);
    OK(mw_session_events(of_calls, 1000, &text, E));
    CHECK(strcmp(text, "[]") == 0);
    mw_text_free(text);
    OK(mw_session_events(of_calls, SIZE_MAX, &text, E));
    mw_text_free(text);
    OK(mw_session_reset(of_calls, E));
    OK(mw_session_events(of_calls, 0, &text, E));
    CHECK(strcmp(text, "[]") == 0);
    mw_text_free(text);

    OK(mw_grammar_parse(calls, (const uint8_t *)call, strlen(call), &text, E));
    HAS(text, "\"name\":\"add\"");
    HAS(text, "\"arguments\":\"{\\\"a\\\":12}\"");
    mw_text_free(text);
    OK(mw_grammar_parse(captured, (const uint8_t *)"<word>", 6, &text, E));
    HAS(text, "\"text\":\"word\"");
    HAS(text, "\"start\":1");
    HAS(text, "\"end\":5");
    mw_text_free(text);
    text = NULL;
    REFUSED(mw_grammar_parse(captured, (const uint8_t *)"<w\xff>", 4, &text, E));
    REFUSED(mw_grammar_parse(captured, (const uint8_t *)"word", 4, &text, E));
    CHECK(text == NULL);
    mw_session_free(session);
    mw_session_free(of_calls);
    mw_grammar_free(grammar);
    mw_grammar_free(calls);
    mw_grammar_free(captured);
}

int main(int n_arguments, char **arguments) {
    CHECK(n_arguments == 2);
    set_up();
    versions();
    tokenizers(arguments[1]);
    tokenizers_of_tokens();
    kinds();
    errors();
    words();
    tear_down();
    return 0;
}

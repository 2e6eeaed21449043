/* llguidance.h: stop controllers. */

#include "llg.h"

static LlgStopController *stop_of(const uint32_t *tokens, size_t n, const char *pattern) {
    char message[400] = "";
    LlgStopController *made = llg_new_stop_controller(tokenizer, tokens, n, pattern, message, sizeof message);
    if (made == NULL) failed(__FILE__, __LINE__, message);
    return made;
}

/* That a token leads to this text, and whether it stops it. */
static void shows(LlgStopController *stop, uint32_t token, const char *expected, bool stops, int line) {
    size_t n = 99;
    bool is_stopped = !stops;
    const char *text = llg_stop_commit_token(stop, token, &n, &is_stopped);
    if (text == NULL || n != strlen(expected) || strcmp(text, expected) != 0 || is_stopped != stops) {
        fprintf(stderr, "%s:%d: token %u: \"%s\" (%u), %d\n", __FILE__, line, (unsigned)token,
                text == NULL ? "NULL" : text, (unsigned)n, is_stopped);
        exit(1);
    }
}

#define SHOWS(stop, token, expected, stops) shows(stop, token, expected, stops, __LINE__)

static void by_token(void) {
    const uint32_t tokens[] = {TOKEN_END, TOKEN_NO};
    LlgStopController *stop = stop_of(tokens, 2, NULL);
    SHOWS(stop, 'a', "a", false);
    /* A special token is shown by its name, and no match goes on across it. */
    SHOWS(stop, TOKEN_CALL, "<|call|>", false);
    SHOWS(stop, TOKEN_YES, "yes", false);
    /* It stops before it. */
    SHOWS(stop, TOKEN_NO, "", true);
    SHOWS(stop, 'a', "", true);
    llg_free_stop_controller(stop);
}

static void by_pattern(void) {
    LlgStopController *stop = stop_of(NULL, 0, "no+!|ab"), *clone;
    SHOWS(stop, 'x', "x", false);
    /* It may be a match, so it is held back. */
    SHOWS(stop, TOKEN_NO, "", false);
    SHOWS(stop, 'o', "", false);
    clone = llg_clone_stop_controller(stop);
    SHOWS(stop, 'x', "noox", false);
    SHOWS(stop, 'a', "", false);
    SHOWS(stop, 'a', "a", false);
    SHOWS(stop, TOKEN_YES, "ayes", false);
    SHOWS(stop, 'n', "", false);
    SHOWS(stop, TOKEN_AB, "n", true);
    SHOWS(stop, 'x', "", true);
    llg_free_stop_controller(stop);
    SHOWS(clone, '!', "", true);
    llg_free_stop_controller(clone);

    stop = stop_of(NULL, 0, "no+!");
    SHOWS(stop, TOKEN_NO, "", false);
    SHOWS(stop, TOKEN_CALL, "no<|call|>", false);
    SHOWS(stop, '!', "!", false);
    llg_free_stop_controller(stop);

    /* The match that begins first, within a token. */
    stop = stop_of(NULL, 0, "e|ye");
    SHOWS(stop, TOKEN_YES, "", true);
    llg_free_stop_controller(stop);
    stop = stop_of(NULL, 0, "es");
    SHOWS(stop, TOKEN_YES, "y", true);
    llg_free_stop_controller(stop);
    /* A token stops text that is held back, which is shown then. */
    {
        const uint32_t end = TOKEN_END;
        stop = stop_of(&end, 1, "nothing");
        SHOWS(stop, TOKEN_NO, "", false);
        SHOWS(stop, TOKEN_END, "no", true);
        llg_free_stop_controller(stop);
    }
}

static void characters(void) {
    LlgStopController *stop = stop_of(NULL, 0, "\xe2\x82\xac\xe2\x82\xac");
    /* A character is shown when it is complete. */
    SHOWS(stop, 0xc3, "", false);
    SHOWS(stop, 0xa9, "\xc3\xa9", false);
    SHOWS(stop, TOKEN_E_ACUTE, "\xc3\xa9", false);
    SHOWS(stop, 0xf0, "", false);
    SHOWS(stop, 0x9f, "", false);
    SHOWS(stop, 0x98, "", false);
    SHOWS(stop, 0x80, "\xf0\x9f\x98\x80", false);
    SHOWS(stop, TOKEN_HALF, "x", false);
    SHOWS(stop, 'x', "\xef\xbf\xbdx", false);
    SHOWS(stop, TOKEN_HALF, "x", false);
    SHOWS(stop, 0xac, "", false);
    SHOWS(stop, 0xe2, "", false);
    SHOWS(stop, 0x82, "", false);
    SHOWS(stop, 0xac, "", true);
    llg_free_stop_controller(stop);
    stop = stop_of(NULL, 0, NULL);
    SHOWS(stop, TOKEN_HALF, "x", false);
    SHOWS(stop, 0xac, "\xe2\x82\xac", false);
    SHOWS(stop, 0xff, "\xef\xbf\xbd", false);
    llg_free_stop_controller(stop);
}

static void errors(void) {
    const uint32_t beyond = N_TOKENS;
    char message[100];
    LlgStopController *stop;
    size_t n;
    bool is;
    CHECK(llg_new_stop_controller(NULL, NULL, 0, NULL, message, sizeof message) == NULL);
    HAS(message, "NULL");
    CHECK(llg_new_stop_controller(tokenizer, &beyond, 1, NULL, message, sizeof message) == NULL);
    HAS(message, "267");
    CHECK(llg_new_stop_controller(tokenizer, NULL, 1, NULL, message, sizeof message) == NULL);
    CHECK(llg_new_stop_controller(tokenizer, NULL, 0, "(", message, sizeof message) == NULL && message[0]);
    CHECK(llg_new_stop_controller(tokenizer, NULL, 0, "a*", message, sizeof message) == NULL);
    HAS(message, "empty");
    CHECK(llg_new_stop_controller(tokenizer, NULL, 0, "\xff", message, 5) == NULL && strlen(message) == 4);
    CHECK(llg_new_stop_controller(tokenizer, NULL, 0, "\xff", NULL, 0) == NULL);
    CHECK(llg_stop_commit_token(NULL, 'a', &n, &is) == NULL && llg_clone_stop_controller(NULL) == NULL);
    CHECK(llg_stop_commit_token((LlgStopController *)tokenizer, 'a', &n, &is) == NULL);
    llg_free_stop_controller(NULL);
    stop = stop_of(NULL, 0, "x");
    CHECK(strcmp(llg_stop_commit_token(stop, 'a', NULL, NULL), "a") == 0);
    SHOWS(stop, N_TOKENS, "", false);
    /* The byte 0 is text. */
    CHECK(llg_stop_commit_token(stop, 0, &n, &is)[0] == 0 && n == 1 && !is);
    llg_free_stop_controller(stop);
}

int main(void) {
    LlgStopController *stop;
    set_up();
    by_token();
    by_pattern();
    characters();
    errors();
    /* It goes on without its tokenizer. */
    stop = stop_of(NULL, 0, "b");
    llg_free_tokenizer(tokenizer);
    SHOWS(stop, TOKEN_AB, "a", true);
    llg_free_stop_controller(stop);
    return 0;
}

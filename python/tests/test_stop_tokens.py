"""Stop tokens that are text: only texts that the other tokens can write are allowed, and no mask leads into a dead end."""

import itertools
import pickle
import random

import maskwright
import pytest
from conftest import SHARED, allowed, count_skipped


def tokenizer_of(*tokens):
    """The tokens, and one that ends a text."""
    return maskwright.Tokenizer.from_tokens([*tokens, b"</s>"], eos_token_ids=[len(tokens)])


SMALL = (b"a", b"b", b"\n")
#: The line feed is part of longer tokens only, once it is a stop token itself.
JOINED = (b"a", b"b", b"\n", b"\n\n", b"b\n", b"c")

SOURCES = {
    "line feed": lambda compiler: compiler.compile_regex("a\nb"),
    "a or line feed": lambda compiler: compiler.compile_regex("a*(\nb)?"),
    "two line feeds": lambda compiler: compiler.compile_regex("a(\n{2}b|\n{3}|\nc)"),
    "b at the end": lambda compiler: compiler.compile_regex("a*b"),
    "many": lambda compiler: compiler.compile_regex("(?s:.){2,4}"),
    "no word of b": lambda compiler: compiler.compile_regex("(?!.*b\n)[abc\n]{1,4}", dialect="ecma"),
    "rules": lambda compiler: compiler.compile_gbnf('root ::= "a" root "b" | "c" | "\\n" root "\\n"'),
    "left recursion": lambda compiler: compiler.compile_lark('start: start "\\n" "a" | "a"', lexer="dynamic_complete"),
    "contextual": lambda compiler: compiler.compile_lark('start: LINE+\nLINE: /[ab]+\\n+/ | /c/'),
    "basic": lambda compiler: compiler.compile_lark('start: (A | B)+\nA: /a+(?!b)/\nB: /b/\n%ignore /\\n+/', lexer="basic"),
    "ignored": lambda compiler: compiler.compile_lark('start: "a" "b" "c"\n%ignore /\\n/'),
    "choice": lambda compiler: compiler.compile_choice(["a\nb", "ab", "a\n\nb", "b\n"]),
    "json": lambda compiler: compiler.compile_json_schema({"enum": ["a\nb", "ab"]}),
    "named": lambda compiler: compiler.compile_gbnf('root ::= "a" <[2]> "b" | "b\\n"'),
    "any token": lambda compiler: compiler.compile_gbnf('root ::= !<[0]> "\\n"? "b"'),
    "limited": lambda compiler: compiler.compile_structural_tag(
        {"format": {"type": "sequence", "elements": [{"type": "any_text", "max_tokens": 2}, {"type": "const_string", "value": "\n"}]}}
    ),
}


def can_end(matcher, size, depth):
    """Whether some sequence of at most `depth` tokens ends the text, by trying all of them."""
    if depth == 0:
        return False
    for token in range(size):
        after = matcher.fork()
        if after.accept_token(token) and (after.is_terminated() or can_end(after, size, depth - 1)):
            return True
    return False


def texts_of(source, tokens, stops, n_tokens):
    """The token sequences of texts in the language, according to a matcher without stop tokens, that use no stop token as text."""
    compiler = maskwright.Compiler(tokenizer_of(*tokens))
    grammar = SOURCES[source](compiler)
    found = set()

    def extend(matcher, written):
        if matcher.is_accepting():
            found.add(tuple(written))
        if len(written) == n_tokens:
            return
        for token in range(len(tokens)):
            if token in stops:
                continue
            after = matcher.fork()
            if after.accept_token(token):
                extend(after, [*written, token])

    extend(maskwright.Matcher(grammar), [])
    return grammar, found


@pytest.mark.parametrize("stops", [[2], [1], [0], [2, 3], [1, 2]])
@pytest.mark.parametrize("tokens", [SMALL, JOINED], ids=["small", "joined"])
@pytest.mark.parametrize("source", [source for source in SOURCES if source not in ("named", "any token", "limited")])
def test_what_is_allowed_can_be_completed(source, tokens, stops):
    """Masks against all texts of up to six tokens."""
    if max(stops) >= len(tokens):
        return
    grammar, texts = texts_of(source, tokens, stops, 6)
    ends = {*stops, len(tokens)}
    try:
        matcher = maskwright.Matcher(grammar, stop_token_ids=stops)
    except ValueError as error:
        assert not texts, "it has texts"
        assert "leave no text" in str(error) or isinstance(error, maskwright.LimitError), str(error)
        return

    def check(matcher, written):
        mask = set(allowed(matcher, len(tokens) + 1))
        status = matcher.mask_status
        going_on = {text[len(written)] for text in texts if text[: len(written)] == written and len(text) > len(written)}
        expected = going_on | (ends if written in texts else set())
        assert mask, f"an empty mask after {written}"
        # The mask may also have tokens of texts that are too long to be listed.
        if len(written) < 3:
            missing = expected - mask
            assert not missing or status == "bound", (written, missing)
        for token in mask:
            after = matcher.fork()
            assert after.accept_token(token), (written, token)
            if token in ends and written in texts:
                assert after.is_terminated()
                continue
            if len(written) < 4:
                assert can_end(after, len(tokens) + 1, 7), f"{token} after {written} leads to no end"
            if len(written) < 2:
                check(after, (*written, token))
        for token in range(len(tokens) + 1):
            assert (token in mask) == (matcher.validate_tokens([token]) == 1) or status == "bound"

    check(matcher, ())


@pytest.mark.parametrize("source", SOURCES)
def test_random_walks_end(source):
    """No walk ends in an empty mask, with a limit or without, from a fork, a reset matcher or a pickled one."""
    draw = random.Random(43)
    n_walks = 0
    for tokens, stops in itertools.product((SMALL, JOINED), ([2], [1], [1, 2])):
        compiler = maskwright.Compiler(tokenizer_of(*tokens))
        grammar = SOURCES[source](compiler)
        for limit in (None, 9):
            try:
                start = maskwright.Matcher(grammar, limit, stops)
            except ValueError:
                continue
            for matcher in (start, start.fork(), pickle.loads(pickle.dumps(start))):
                for _ in range(4):
                    matcher.reset()
                    for _ in range(60):
                        choices = allowed(matcher, len(tokens) + 1)
                        assert choices, (tokens, stops, limit, matcher.text)
                        if matcher.is_terminated():
                            break
                        assert matcher.accept_token(draw.choice(choices))
                    n_walks += 1
    assert n_walks or source in ("b at the end", "json", "line feed", "named")


def test_a_stop_token_that_every_text_needs_is_an_error():
    compiler = maskwright.Compiler(tokenizer_of(*SMALL))
    for source, stops in [("line feed", [2]), ("b at the end", [1]), ("rules", [2])]:
        grammar = SOURCES[source](compiler)
        with pytest.raises(ValueError, match="the stop tokens leave no text") as error:
            maskwright.Matcher(grammar, stop_token_ids=stops)
        for stop in stops:
            assert f"{stop} ({SMALL[stop].decode()!r})".replace("'", '"') in str(error.value)
        with pytest.raises(ValueError):
            maskwright.Matcher(grammar, 50, stops)
        # The texts of `rules` need a letter that no token has, with or without stop tokens.
        assert source == "rules" or maskwright.Matcher(grammar).tokens_to_finish()


def test_the_rest_is_as_it_was():
    """If other tokens spell a stop token, it only ends the text."""
    compiler = maskwright.Compiler(tokenizer_of(b"a", b"b", b"ab"))
    matcher = maskwright.Matcher(compiler.compile_regex("(ab)+"), stop_token_ids=[2])
    assert allowed(matcher, 4) == [0] and matcher.accept_bytes(b"ab") and allowed(matcher, 4) == [0, 2, 3]
    assert matcher.mask_status == "exact" and "no tokens but" not in matcher.explain(2)


def test_what_is_refused_is_explained():
    compiler = maskwright.Compiler(tokenizer_of(*JOINED))
    matcher = maskwright.Matcher(SOURCES["two line feeds"](compiler), stop_token_ids=[2])
    assert matcher.accept_tokens([0, 3]) == 2 and allowed(matcher, 7) == [1]
    assert "refused" in matcher.explain(2)
    assert matcher.finish()[-1] in (2, 6) and matcher.tokens_to_finish() >= 1


@pytest.mark.parametrize("name", ["python", "sql", "json", "cpp"])
def test_line_feeds_as_stop_tokens_of_a_real_vocabulary(name):
    path = SHARED / "tokenizers" / "llama2" / "tokenizer.json"
    if not path.is_file():
        count_skipped("stop tokens of a real vocabulary", path)
        pytest.skip(f"MASKWRIGHT_SHARED has no {path}")
    tokenizer = maskwright.Tokenizer.from_file(path)
    assert tokenizer.token_bytes(13) == b"\n" and tokenizer.encode("\n") == [13]
    grammar = maskwright.Compiler(tokenizer).compile_builtin(name)
    draw = random.Random(7)
    for limit in (None, 60):
        matcher = maskwright.Matcher(grammar, limit, [13])
        for _ in range(12):
            choices = allowed(matcher, tokenizer.vocab_size)
            assert choices
            if matcher.is_terminated():
                break
            assert matcher.accept_token(draw.choice(choices))
        assert b"\n" not in matcher.text
        if not matcher.is_terminated():
            finish = matcher.finish()
            assert matcher.accept_tokens(finish) == len(finish) and matcher.is_terminated()
    if name == "python":
        # A module of one line without a line feed is a comment or empty.
        texts = [tokenizer.token_bytes(id) for id in allowed(maskwright.Matcher(grammar, stop_token_ids=[13]), tokenizer.vocab_size) if id not in (2, 13)]
        assert texts and all(text.strip(b" \t\f\r#") == b"" or text.lstrip(b" \t\f").startswith(b"#") for text in texts)

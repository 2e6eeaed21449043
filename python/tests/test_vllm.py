"""The backend for vLLM, in an engine of fakes. `cargo xtask hosts vllm` runs the real one."""

import asyncio
import importlib
import json
import logging
import random
import re
import time
import tomllib
import weakref
from pathlib import Path
from types import SimpleNamespace

import maskwright
import numpy as np
import pytest
from conftest import unpack
from fake_vllm import EOS, THINK_END, Request, VLLMValidationError, config, install
from maskwright.integrations import vllm
from maskwright.integrations._serving import lanes, specs
from maskwright.integrations._serving import text as texts
from maskwright.integrations._serving.text import Text

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["ab", "no", "yes"]}}},
    "required": ["name", "tags"],
    "additionalProperties": False,
}
TAG = {"type": "tag", "begin": "<t>", "content": {"type": "json_schema", "json_schema": {"type": "boolean"}}, "end": "</t>"}
LEGACY = {"structures": [{"begin": "<t>", "schema": {"type": "boolean"}, "end": "</t>"}], "triggers": ["<t"]}
#: What requests ask for, and a judge of their texts that knows nothing of this package.
ASKED = {
    "json": ({"json": PERSON}, lambda text: set(json.loads(text)) == {"name", "tags"}),
    "json text": ({"json": json.dumps(PERSON)}, lambda text: set(json.loads(text)) == {"name", "tags"}),
    "json_object": ({"json_object": True}, lambda text: isinstance(json.loads(text), dict)),
    "regex": ({"regex": r"(?P<a>[ab]{2,9})-(yes|no)*"}, lambda text: re.fullmatch("[ab]{2,9}-(yes|no)*", text)),
    "choice": ({"choice": ["yes", "nobody", 'a "b"']}, lambda text: text in ("yes", "nobody", 'a "b"')),
    "gbnf": ({"grammar": 'root ::= "(" root ")" | [0-9]+'}, lambda text: re.fullmatch(r"\(*\d+\)*", text)),
    "lark of llguidance": ({"grammar": '%llguidance {}\nstart: /a*/ "b"'}, lambda text: re.fullmatch("a*b", text)),
    "lark with a schema": ({"grammar": 'start: "n" %json {"type": "boolean"}'}, lambda text: text in ("ntrue", "nfalse")),
    "lark": ({"grammar": 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[1-9][0-9]*/'}, lambda text: eval(text) > 0),
    "tag": (
        {"structural_tag": json.dumps({"type": "structural_tag", "format": TAG})},
        lambda text: text in ("<t>true</t>", "<t>false</t>"),
    ),
    "legacy tag": ({"structural_tag": json.dumps(LEGACY)}, lambda text: not re.search("<t(?!>(true|false)</t>)", text)),
}


@pytest.fixture
def host(monkeypatch, tokenizer):
    """The fakes with the adapter in them: makes requests that the server's check has let pass, and engines."""
    monkeypatch.setenv(vllm.SWITCH, "1")
    params_class, manager_class, engine_class = install(monkeypatch)
    vllm.register()
    monkeypatch.setattr(vllm, "_read", lambda *_: tokenizer)
    monkeypatch.setattr(vllm, "_GRAMMARS", weakref.WeakKeyDictionary())
    vllm._say_hello.cache_clear()
    hf = type("HfTokenizer", (), {"eos_token_id": EOS})()

    def params(configured=None, **given):
        made = params_class(**given)
        configured = configured or config()
        made._validate_structured_outputs(configured.model_config, configured.structured_outputs_config, hf)
        return made

    return SimpleNamespace(
        params=params,
        unchecked=params_class,
        manager=lambda given: manager_class(given, hf),
        server=lambda: engine_class(config(), hf),
    )


class Engine:
    """Steps of many requests, with random tokens that the masks allow, and random drafts."""

    def __init__(self, host, seed=0, drafts=0, **options):
        self.manager, self.draw, self.n_drafts = host.manager(config(**options)), random.Random(seed), drafts
        #: How many masks were filled.
        self.n_masks = 0

    def add(self, *requests):
        for request in requests:
            self.manager.grammar_init(request)

    def failure(self, request):
        """The exception of compiling the grammar."""
        return request.structured_output_request.future.exception()

    def run(self, requests, stop=EOS):
        """Writes the outputs of all requests. Returns those that were cut off at their limits."""
        running = {request.request_id: request for request in requests}
        cut_off = []
        while running:
            drafts = {name: self.drafts(request) for name, request in running.items() if self.n_drafts}
            mask = self.manager.grammar_bitmask(running, list(running), drafts)
            for request in running.values():
                request.n_steps = getattr(request, "n_steps", 0) + 1
            row = 0
            for name, request in list(running.items()):
                draft = drafts.get(name, [])
                rows, row = mask[row : row + len(draft) + 1], row + len(draft) + 1
                new = self.sample(request, rows, draft)
                request.output += new
                if len(request.output) >= request.max_tokens or new[-1] == stop:
                    new = new[: len(new) - max(len(request.output) - request.max_tokens, 0)]
                    del request.output[request.max_tokens :]
                    del running[name]
                    cut_off += [request] if new[-1] != stop else []
                assert self.manager.accept_tokens(request, new)
        return cut_off

    def drafts(self, request):
        tokens = [self.draw.choice([THINK_END, *range(257, 270), EOS, *b'{":,ab12']) for _ in range(self.n_drafts)]
        forced = request.structured_output_request.grammar._begun().forced_tokens()[: self.n_drafts]
        return self.manager.validate_tokens(request, tokens if self.draw.random() < 0.4 else forced)

    def sample(self, request, rows, draft):
        """A token by each row, as long as they are those of the draft."""
        new = []
        for i, mask_row in enumerate(rows):
            self.n_masks += 1
            allowed = [token for token in range(EOS + 1) if mask_row[token // 32] >> token % 32 & 1]
            assert allowed
            token = self.draw.choice(allowed)
            # Random tokens often close nothing: those of several bytes do.
            token = self.draw.choice([each for each in allowed if each > 256] or [token]) if self.draw.random() < 0.5 else token
            if i < len(draft) and draft[i] in allowed and self.draw.random() < 0.7:
                token = draft[i]
            new.append(token)
            if token == EOS or i == len(draft) or token != draft[i]:
                return new
        raise AssertionError


def text_of(tokenizer, output):
    assert output[-1] == EOS
    return tokenizer.decode(output[:-1]).decode(errors="replace")


@pytest.mark.parametrize("drafts", [0, 3])
def test_all_kinds_in_one_batch_are_complete_within_their_limits(host, tokenizer, drafts):
    n_texts = 0
    for seed in range(6):
        engine = Engine(host, seed, drafts)
        draw = random.Random(seed)
        requests = []
        for name, (asked, _) in ASKED.items():
            requests += [Request(name, host.params(max_tokens=draw.randint(24, 60), **asked))]
        engine.add(*requests)
        assert engine.run(requests) == []
        for request in requests:
            text = text_of(tokenizer, request.output)
            assert ASKED[request.request_id][1](text), (request.request_id, text)
            n_texts += 1
    assert n_texts == 6 * len(ASKED) and engine.n_masks > 100


@pytest.mark.parametrize("drafts", [0, 3])
def test_what_reasoning_takes_is_not_the_text_s(host, tokenizer, drafts):
    """The reasoning ends at a random place, also within drafts."""
    n_with_reasoning = 0
    for seed in range(12):
        engine = Engine(host, seed, drafts)
        request = Request("r", host.params(max_tokens=60, json=PERSON), reasoning=True)
        engine.add(request)
        draw = random.Random(seed)
        while not request.structured_output_request.reasoning_ended:
            # Some steps bring several tokens, as accepted drafts do, and then also the first of the text.
            new = [65] * draw.randint(0, 4) + [THINK_END] * (draw.random() < 0.3 or request.num_output_tokens > 20)
            new = new or [66]
            if new[-1] == THINK_END:
                new += b'{"name"'[: draw.randint(0, drafts)]
            text = request.structured_output_request.grammar
            rows = engine.manager.grammar_bitmask({"r": request}, ["r"], {"r": engine.manager.validate_tokens(request, new)})
            if THINK_END in new:
                # The mask after the drafts is that of a matcher with exactly what is left.
                n_reasoning = request.num_output_tokens + new.index(THINK_END) + 1
                twin = maskwright.Matcher(text._grammar, 60 - n_reasoning)
                assert twin.accept_tokens(new[new.index(THINK_END) + 1 :]) == len(new) - new.index(THINK_END) - 1
                expected = maskwright.allocate_token_bitmask(1, 300)
                twin.fill_next_token_bitmask(expected)
                assert (rows[-1] == expected[0]).all()
            request.output += new
            assert engine.manager.accept_tokens(request, new)
        assert text._begun().max_tokens == 60 - n_reasoning
        assert engine.run([request]) == []
        text = text_of(tokenizer, request.output[n_reasoning:])
        assert json.loads(text)["tags"] is not None and len(request.output) <= 60
        n_with_reasoning += n_reasoning > 3
    assert n_with_reasoning > 6


def test_reasoning_that_leaves_too_little_is_logged(host, caplog):
    engine = Engine(host)
    request = Request("r", host.params(max_tokens=12, choice=["nobody"]), reasoning=True)
    engine.add(request)
    request.output += [65] * 9 + [THINK_END]
    with caplog.at_level(logging.WARNING):
        assert engine.manager.accept_tokens(request, request.output[:])
        assert engine.run([request]) == [request]
    assert "10 tokens were written before the text, which will be cut off: 2 tokens are too few" in caplog.text


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"json": {"properties": {"a": {"type": "text"}}}}, "structured_outputs.json: `type` at /properties/a"),
        ({"json": '{"type":'}, "structured_outputs.json: the schema is not JSON"),
        ({"regex": "(a"}, "this group is not closed"),
        ({"choice": "[1]"}, "expected a JSON list of strings"),
        ({"grammar": "root ::= a"}, "(line 1, column 10)"),
        ({"grammar": "start: a"}, "(line 1, column 8)"),
        ({"structural_tag": '{"type":"structural_tag","format":{"type":"tog"}}'}, "/format"),
        ({"json": {}, "whitespace_pattern": "[ ]?"}, "whitespace_pattern"),
        ({"choice": ["yes"], "max_tokens": 1}, "with max_tokens=1: 1 token is too few for the grammar: 2 are enough"),
        ({"choice": ["yes"], "stop_token_ids": [256, ord("e")]}, "with stop_token_ids=[256, 101]: "),
    ],
)
def test_a_bad_request_is_refused_by_the_server_and_fails_alone(host, tokenizer, asked, place):
    with pytest.raises(VLLMValidationError) as refused:
        host.params(**asked)
    said = str(refused.value)
    assert place in said and "\n" not in said and "parameter=" not in said
    (kind,) = {"json", "regex", "choice", "grammar", "structural_tag"} & asked.keys()
    assert refused.value.parameter == ("max_tokens" if "max_tokens" in asked else f"structured_outputs.{kind}")
    # If it reaches the engine all the same, the others go on.
    good = Request("good", host.params(max_tokens=9, choice=["yes"]))
    bad = Request("bad", host.unchecked(**{"max_tokens": 9} | asked))
    engine = Engine(host)
    engine.add(bad, good)
    assert isinstance(engine.failure(bad), ValueError)
    assert engine.run([good]) == [] and text_of(tokenizer, good.output) == "yes"


def test_a_grammar_that_takes_long_holds_up_no_other_request(host, monkeypatch):
    server, compile_spec, order = host.server(), specs.compile_spec, []

    def slow(compiler, spec, cancel):
        if spec.text != "[]":
            order.append(spec.text)
            return compile_spec(compiler, spec, cancel)
        while lanes.work_here() is None and len(order) < 4:
            time.sleep(0.01)
        order.append(spec.text if lanes.work_here() is None else "later")
        raise maskwright.WorkCancelled

    async def all_of_them():
        requests = [host.unchecked(max_tokens=9, choice=each) for each in ("[]", ["yes"], ["no"], "[1]")]
        adding = [server.add_request(str(n), "prompt", params, priority=n) for n, params in enumerate(requests)]
        return await asyncio.gather(*adding, return_exceptions=True)

    monkeypatch.setattr(specs, "compile_spec", slow)
    refused = asyncio.run(all_of_them())
    assert [str(each) if each else None for each in refused] == [
        "structured_outputs.choice: compiling it takes more work than the limit of 16000000 units allows: a smaller or less ambiguous "
        "one is needed; the server's limit is MASKWRIGHT_COMPILE_WORK",
        None,
        None,
        "structured_outputs.choice: the choices are [1], expected a JSON list of strings",
    ]
    assert order[-1] == "[]" and "later" in order and sorted(server.added) == [("1", 1), ("2", 2)]


def test_what_is_known_is_checked_without_a_thread(host, monkeypatch):
    """But not a limit that may be near, nor stop tokens that are new."""
    server = host.server()

    async def add(**asked):
        await server.add_request("r", "prompt", host.unchecked(choice=["yes"], **asked))

    asyncio.run(add(max_tokens=9))
    monkeypatch.setattr(lanes, "of_process", lambda: pytest.fail("a thread was asked"))
    for limit in (9, 10, 1000):
        asyncio.run(add(max_tokens=limit))
    for asked in ({"max_tokens": 8}, {"max_tokens": 9, "stop_token_ids": [5]}, {"max_tokens": 9, "extra_args": {"maskwright_numbers": "any"}}):
        with pytest.raises(pytest.fail.Exception):
            asyncio.run(add(**asked))


def test_limits(host, monkeypatch):
    def limit(params, max_model_len=1000, **options):
        request = Request("r", params, **options)
        engine = Engine(host, max_model_len=max_model_len)
        engine.add(request)
        failure = engine.failure(request)
        return str(failure) if failure else request.structured_output_request.grammar._begun().max_tokens

    params = host.params(max_tokens=40, choice=["yes"])
    assert limit(params) == 40
    assert limit(params, max_model_len=30, n_prompt=10) == 20
    assert "2 are enough" in limit(params, max_model_len=11, n_prompt=10)
    assert limit(params, resumable=True) is None
    elsewhere = {"kv_transfer_params": {"do_remote_decode": True}}
    assert limit(host.params(max_tokens=1, extra_args=elsewhere, choice=["yes"])) is None
    assert limit(host.params(max_tokens=1, extra_args={"maskwright_limit": 0}, choice=["yes"])) is None
    monkeypatch.setenv("MASKWRIGHT_LIMIT", "0")
    monkeypatch.setattr(vllm, "_GRAMMARS", weakref.WeakKeyDictionary())
    assert limit(host.params(max_tokens=1, choice=["yes"])) is None


def test_stop_tokens_end_the_text_and_nothing_else(host):
    b = ord("b")
    params = host.params(max_tokens=20, regex="a[bc]*", stop_token_ids=[b])
    request = Request("r", params)
    engine = Engine(host)
    engine.add(request)
    text = request.structured_output_request.grammar
    mask = engine.manager.grammar_bitmask({"r": request}, ["r"], {})
    assert unpack(mask[0], 300) == [ord("a"), 267]  # "a" and "ab"
    assert text.validate_tokens([b]) == [] and text.validate_tokens([ord("a"), b, b]) == [ord("a"), b]
    assert text.accept_tokens("r", [ord("a"), ord("c"), b, b]) and text.is_terminated()
    assert text.validate_tokens([b]) == []
    text.rollback(1)
    assert not text.is_terminated() and text.accept_tokens("r", [EOS]) and text.is_terminated()
    text.reset()
    assert not text.is_terminated() and not text.accept_tokens("r", [b])


def test_batched_masks_are_those_of_each_row(host):
    engine = Engine(host)
    requests = {name: Request(name, host.params(max_tokens=40, **asked)) for name, (asked, _) in ASKED.items()}
    engine.add(*requests.values())
    # A row of reasoning among them is left alone.
    requests["thinking"] = Request("thinking", host.params(max_tokens=40, choice=["yes"]), reasoning=True)
    engine.add(requests["thinking"])
    together = engine.manager.grammar_bitmask(requests, list(requests), {}).copy()
    for row, request in enumerate(requests.values()):
        alone = np.full((1, together.shape[1]), -1, dtype=np.int32)
        if request.request_id != "thinking":
            request.structured_output_request.grammar.fill_bitmask(alone, 0)
            assert (alone != -1).any()
        assert (together[row] == alone[0]).all()
    assert not engine.manager.backend.batch.is_open and engine.manager.backend.batch.rows == []


def test_a_mask_that_cannot_be_made_costs_one_request(host, compiler, caplog):
    """The limit on parses of an ambiguous text is reached."""
    few = maskwright.Compiler(compiler.tokenizer, limits={"advanced": {"max_threads": 8}})
    ambiguous = few.compile_lark('start: e\ne: "a" | e e | e e e', lexer="dynamic_complete")
    engine = Engine(host)
    requests = {name: Request(name, host.params(max_tokens=40, choice=["yes"])) for name in ("good", "bad")}
    engine.add(*requests.values())
    text = Text(ambiguous, batch=engine.manager.backend.batch)
    requests["bad"].structured_output_request.future = SimpleNamespace(exception=lambda: None, result=lambda: text)
    n_accepted = 0
    while not text._error and n_accepted < 50:
        mask = engine.manager.grammar_bitmask(requests, list(requests), {})
        assert unpack(mask[0], 300) and (mask[0] != -1).any()
        if not text._error and not text.accept_tokens("bad", [ord("a")]):
            break
        n_accepted += 1
    assert text._error is not None, n_accepted
    mask = engine.manager.grammar_bitmask(requests, list(requests), {})
    assert (mask[1] == -1).all() and (mask[0] != -1).any()
    assert not text.accept_tokens("bad", [ord("a")]) and text.validate_tokens([97]) == [] and not text.is_terminated()
    assert "a request fails" in caplog.text


def test_options_of_white_space_and_properties(host, tokenizer):
    def grammar(asked, **options):
        request = Request("r", host.params(config(**options), max_tokens=80, **asked))
        engine = Engine(host, **options)
        engine.add(request)
        return maskwright.Matcher(request.structured_output_request.grammar._grammar)

    def accepts(matcher, text):
        return matcher.accept_bytes(text) and matcher.is_accepting()

    schema = {"json": {"properties": {"a": {"properties": {"b": {}}, "type": "object"}}, "type": "object"}}
    assert accepts(grammar(schema), '{"a": {"b": 1, "c": 2}, "d": 3}')
    closed = {"disable_additional_properties": True}
    for matcher in [grammar(schema | closed), grammar(schema, **closed)]:
        assert accepts(matcher.fork(), '{"a": {"b": 1}}')
        assert not matcher.accept_bytes('{"d"') and not matcher.accept_bytes('{"a": {"c"')
    compact = {"disable_any_whitespace": True}
    for matcher in [grammar(schema | compact), grammar(schema, **compact), grammar(schema | {"whitespace_pattern": ""})]:
        assert accepts(matcher.fork(), '{"a":{}}') and not matcher.accept_bytes('{"a": ')
    assert not accepts(grammar(schema), '{"a":   {}}')
    assert accepts(grammar(schema | {"whitespace_pattern": r"[\n\t ]*"}), '{"a":   {}}')


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"-?\d+", ["-12", "0"], ["٣", "-"]),
        (r"(?i)ab\w", ["AbC"], ["abé"]),
        (r"(?P<a>a)|(?P<b>b)", ["a"], ["ab"]),
        (r"(?<a>a)\p{L}", ["aé"], ["a1"]),
        (r"^a$", ["a"], ["aa"]),
        (r"(?u)\d", ["٣"], ["a"]),
    ],
)
def test_patterns_are_python_s_or_javascript_s(compiler, pattern, yes, no):
    matcher = maskwright.Matcher(specs.compile_spec(compiler, specs.Spec("regex", pattern)))
    for text, expected in [*((text, True) for text in yes), *((text, False) for text in no)]:
        fork = matcher.fork()
        assert (fork.accept_bytes(text) and fork.is_accepting()) == expected, text


def test_what_is_not_enforced_is_logged_once(host, caplog):
    schema = {"properties": {"a": {"not": {"type": "array", "uniqueItems": True}}}}
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            engine = Engine(host)
            requests = [Request(str(n), host.params(max_tokens=40, json=schema)) for n in range(3)]
            engine.add(*requests)
            assert all(engine.failure(request) is None for request in requests)
    lines = [line for line in caplog.messages if "not enforced in the json" in line]
    assert len(lines) == 1 and "uniqueItems at /properties/a/not: it is not enforced below `not`" in lines[0], caplog.text


@pytest.mark.parametrize(
    ("grammar", "is_gbnf"),
    [
        ('root ::= "a"', True),
        ("# a: comment\nroot ::= x\nx ::= [a-z]", True),
        ('my-rule ::=\n "a"', True),
        ('start: "a" "::="', False),
        ("?start: x\nx.2: /a/", False),
        ("// root ::= comment\nstart: X\nX: /a/i", False),
        ('%import common.INT\nstart: INT', False),
        ('list{x, sep}: x (sep x)*\nstart: list{"a", "::="}', False),
    ],
)
def test_gbnf_and_lark_are_told_apart(grammar, is_gbnf):
    assert specs.is_gbnf(grammar) == is_gbnf


def test_tokenizers_of_transformers(monkeypatch, tokenizer_file):
    import tokenizers

    class Fast:
        backend_tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
        eos_token_id = 7

    model = SimpleNamespace(
        get_vocab_size=lambda: 200_000, try_get_generation_config=lambda: {"eos_token_id": [9, 8]}
    )
    hf = Fast()
    grammars = vllm.grammars_of(hf, model)
    assert grammars is vllm.grammars_of(hf, model)
    made = grammars.compiler.tokenizer
    assert made.eos_token_ids == [7, 8, 9] and made.vocab_size == 200_000
    with pytest.raises(maskwright.TokenizerError, match="fast tokenizer of transformers is expected.*not Slow"):
        vllm.grammars_of(type("Slow", (), {"eos_token_id": 1})(), model)


@pytest.mark.parametrize("process", ["server", "engine"])
def test_the_tokenizer_is_read_while_the_server_starts(host, monkeypatch, caplog, process):
    start = host.server if process == "server" else lambda: host.manager(config())
    start()
    assert len(vllm._GRAMMARS) == 1
    made = []

    def refuse(*_):
        made.append(1)
        raise maskwright.TokenizerError("not this one")

    # A server without structured outputs does not need one.
    monkeypatch.setattr(vllm, "_read", refuse)
    monkeypatch.setattr(vllm, "_GRAMMARS", weakref.WeakKeyDictionary())
    with caplog.at_level(logging.WARNING):
        start()
    assert made == [1] and "requests with structured outputs will be refused: not this one" in caplog.text


def test_register(monkeypatch):
    params, manager, _ = install(monkeypatch)
    before = manager.grammar_init
    for value in (None, "0", ""):
        monkeypatch.setenv(vllm.SWITCH, value) if value is not None else monkeypatch.delenv(vllm.SWITCH, raising=False)
        vllm.register()
        assert manager.grammar_init is before
    monkeypatch.setenv(vllm.SWITCH, "1")
    vllm.register()
    once = manager.grammar_init
    vllm.register()
    assert manager.grammar_init is once is not before
    install(monkeypatch)[1]._get_constraint_bounds = None
    with pytest.raises(RuntimeError, match="no StructuredOutputManager._get_constraint_bounds|no Manager._get"):
        vllm.register()


def test_options_of_a_request(host):
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["a", "b"]}
    extra = {"maskwright_property_order": "any", "maskwright_numbers": "any"}
    requests = [Request(str(n), host.params(max_tokens=60, extra_args=given, json=schema)) for n, given in enumerate((None, extra))]
    Engine(host).add(*requests)
    is_read = [
        request.structured_output_request.grammar._begun().accept_bytes(b'{"b": 1, "a": 1E+4') for request in requests
    ]
    assert is_read == [False, True]
    # vLLM's own ways come first.
    extra["maskwright_whitespace"] = "any"
    compact = Request("c", host.params(max_tokens=60, extra_args=extra, json=schema, disable_any_whitespace=True))
    Engine(host).add(compact)
    assert not compact.structured_output_request.grammar._begun().accept_bytes(b'{ "b"')
    with pytest.raises(VLLMValidationError, match="vllm_xargs: maskwright_threads is no option of a request") as refused:
        host.params(max_tokens=60, extra_args={"maskwright_threads": 3}, json=schema)
    assert refused.value.parameter == "vllm_xargs"


OBJECT = {
    "type": "object",
    "properties": {"first_of_the_names": {"type": "boolean"}, "second_of_the_names": {"type": "boolean"}},
    "required": ["first_of_the_names", "second_of_the_names"],
    "additionalProperties": False,
}
DRAFTING = SimpleNamespace(method="custom_class", num_speculative_tokens=6)


@pytest.mark.parametrize("spelling", ["any", "canonical"])
@pytest.mark.parametrize("method", ["custom_class", "ngram", "eagle"])
def test_forced_tokens_are_drafted(counted, host, tokenizer, spelling, method):
    """Where the grammar leaves one text, its tokens are drafts, after those that others drafted."""
    n_texts, n_steps, n_tokens = 0, 0, 0
    for seed in range(8):
        engine = Engine(host, seed, drafts=1)
        engine.manager.vllm_config.speculative_config = SimpleNamespace(method=method, num_speculative_tokens=6)
        draw = random.Random(seed)
        others = [[] if method == "custom_class" else [draw.choice([*range(257, 270), *b'{":,ab12'])] for _ in range(999)]
        engine.drafts = lambda request, others=others, engine=engine: engine.manager.validate_tokens(request, others.pop())
        extra = {"maskwright_spelling": spelling}
        asked = ({"json": OBJECT}, {"regex": "(yes|no) and nothing else at all(!|[?])"}, {"choice": ["only this one"]})
        requests = [Request(str(n), host.params(max_tokens=60, extra_args=extra, **each)) for n, each in enumerate(asked)]
        engine.add(*requests)
        assert engine.run(requests) == []
        json.loads(text_of(tokenizer, requests[0].output))
        for request in requests:
            n_texts += 1
            n_steps += request.n_steps
            n_tokens += len(request.output)
            if spelling == "canonical":
                check_canonical(engine, request)
    n_drafted = counted("maskwright_forced_tokens_drafted_total")
    n_accepted = counted("maskwright_forced_tokens_accepted_total")
    assert n_texts == 24
    if method == "eagle":
        assert n_drafted == 0
    elif spelling == "canonical":
        # A sampled token that is forced is the one that was drafted.
        assert n_accepted > 200 and n_accepted >= 0.7 * n_drafted, (n_accepted, n_drafted)
        assert n_steps < 0.6 * n_tokens
    else:
        assert 0 < n_accepted < n_drafted


def check_canonical(engine, request):
    """Walks the text again: every token that was forced is the tokenizer's own."""
    grammar = engine.manager.backend._grammars.get(
        vllm.spec_of(*request.structured_output_request.structured_output_key, vllm.Options(), config().structured_outputs_config)
    )
    matcher, forced = maskwright.Matcher(grammar, 60), []
    for token in request.output:
        forced = forced or matcher.forced_tokens()
        if forced:
            assert token == forced.pop(0), request.output
        assert matcher.accept_token(token)


def test_nothing_is_drafted_for_many_requests_nor_while_the_model_reasons(host, monkeypatch):
    def drafted(n_running=1, reasoning=False, **given):
        engine = Engine(host)
        engine.manager.vllm_config.speculative_config = DRAFTING
        requests = {str(n): Request(str(n), host.params(choice=["only this"], **given), reasoning=reasoning) for n in range(n_running)}
        engine.add(*requests.values())
        engine.manager.grammar_bitmask(requests, list(requests), {})
        return engine.manager.validate_tokens(requests["0"], [])

    canonical = {"extra_args": {"maskwright_spelling": "canonical"}, "max_tokens": 60}
    assert drafted(max_tokens=60) and drafted(4, max_tokens=60) and drafted(15, **canonical)
    assert not drafted(5, max_tokens=60) and not drafted(16, **canonical) and not drafted(reasoning=True, max_tokens=60)
    # Nor the end, which the model samples in the same step anyway.
    assert EOS not in drafted(max_tokens=60)
    monkeypatch.setenv("MASKWRIGHT_DRAFTING_REQUESTS", "0")
    monkeypatch.setattr(vllm, "_GRAMMARS", weakref.WeakKeyDictionary())
    assert not drafted(max_tokens=60)


def test_the_class_that_the_command_line_names(monkeypatch):
    monkeypatch.setenv(vllm.SWITCH, "1")
    assert vllm.Drafts(config()).propose([[1], [], [2, 3]], None, token_ids_cpu=None, slot_mappings=None) == [[], [], []]
    monkeypatch.delenv(vllm.SWITCH)
    with pytest.raises(ValueError, match="set MASKWRIGHT_VLLM=1"):
        vllm.Drafts(config())


def test_a_step_with_drafts_fills_the_other_masks_together(host, monkeypatch):
    calls, fill = [], texts.fill_next_token_bitmask_batch
    monkeypatch.setattr(texts, "fill_next_token_bitmask_batch", lambda *given, **work: calls.append(len(given[0])) or fill(*given, **work))
    engine = Engine(host)
    requests = {str(n): Request(str(n), host.params(max_tokens=60, choice=["only this one", "one"])) for n in range(3)}
    engine.add(*requests.values())
    engine.manager.grammar_bitmask(requests, list(requests), {"1": [ord("o")]})
    assert calls == [2]


def test_counters(counted, host):
    """What an operator sees is what was sent."""
    engine = Engine(host)
    requests = []
    for n in range(3):
        requests += [Request(f"{kind} {n}", host.params(max_tokens=60, **asked)) for kind, (asked, _) in ASKED.items()]
    for asked in ({"regex": "("}, {"choice": ["yes"], "max_tokens": 1}, {"choice": ["yes"], "extra_args": {"maskwright_x": 1}}):
        with pytest.raises(VLLMValidationError):
            host.params(**{"max_tokens": 9} | asked)
    engine.add(*requests)
    engine.run(requests)
    n_kinds = len(ASKED) - 1  # "json" and "json text" are the same
    assert counted("maskwright_compilations_total", outcome="compiled") == n_kinds + 1
    assert counted("maskwright_compilations_total", kind="regex", outcome="refused") == 1
    # Each is asked for by the server and by the engine.
    assert counted("maskwright_grammar_cache_hits_total") == 6 * len(ASKED) - n_kinds
    assert counted("maskwright_compile_seconds_count") == n_kinds + 2
    assert counted("maskwright_masks_total") == engine.n_masks
    assert counted("maskwright_mask_seconds_count") < engine.n_masks
    assert counted("maskwright_info", version=maskwright.__version__) == 1


def test_refusals_are_counted_and_logged_once(counted, host, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "maskwright")
    server, compile_spec = host.server(), specs.compile_spec

    def limited(compiler, spec, cancel):
        if spec.text == '["hard"]':
            raise maskwright.LimitError("more work than the limit")
        return compile_spec(compiler, spec, cancel)

    monkeypatch.setattr(specs, "compile_spec", limited)
    no, yes = [ord("n")], [ord("y")]
    refused = {
        "work": {"choice": ["hard"]},
        "limit": {"choice": ["yes"], "max_tokens": 1},
        "tokens": {"choice": ["yes"], "allowed_token_ids": no},
        "options": {"choice": ["yes"], "extra_args": {"maskwright_x": 1}},
        "grammar": {"regex": "("},
    }
    for n, (reason, asked) in enumerate(refused.items()):
        with pytest.raises(Exception, match="structured_outputs|allowed_token_ids|vllm_xargs"):
            asyncio.run(server.add_request(f"r{n}", "prompt", host.unchecked(**{"max_tokens": 9} | asked)))
        assert counted("maskwright_requests_refused_total", reason=reason) == 1, reason
        assert caplog.text.count(f"request r{n} is refused: ") == 1
    asyncio.run(server.add_request("r", "prompt", host.unchecked(max_tokens=9, choice=["yes"], allowed_token_ids=no + yes)))


def test_the_entry_point_is_declared():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, function = project["entry-points"]["vllm.general_plugins"]["maskwright"].split(":")
    assert getattr(importlib.import_module(name), function) is vllm.register

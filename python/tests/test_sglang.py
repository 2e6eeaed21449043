"""The grammar backend for SGLang, in a scheduler of fakes. `cargo xtask hosts sglang` runs the real one."""

import json
import logging
import random
import re
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace

import maskwright
import numpy as np
import pytest
from conftest import unpack
from fake_sglang import EOS, N_VOCAB, THINK_END, Req, install
from maskwright.integrations._serving import text as texts

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["ab", "no", "yes"]}}},
    "required": ["name", "tags"],
    "additionalProperties": False,
}
BOOLEAN = {"type": "json_schema", "json_schema": {"type": "boolean"}}
TAG = {"type": "tag", "begin": "<t>", "content": BOOLEAN, "end": "</t>"}
LEGACY = {"type": "structural_tag", "structures": [{"begin": "<t>", "schema": None, "end": "</t>"}], "triggers": ["<t"]}
LARK = '%llguidance {}\nstart: NUMBER ("+" NUMBER)*\nNUMBER: /[1-9][0-9]*/'
#: What requests ask for, and a judge of their texts that knows nothing of this package.
ASKED = {
    "json": (("json", json.dumps(PERSON)), lambda text: set(json.loads(text)) == {"name", "tags"}),
    "any json": (("json", "$$ANY$$"), lambda text: json.loads(text) or True),
    "regex": (("regex", r"(?P<a>[ab]{2,9})-(yes|no)*"), lambda text: re.fullmatch("[ab]{2,9}-(yes|no)*", text)),
    "gbnf": (("ebnf", 'root ::= "(" root ")" | [0-9]+'), lambda text: re.fullmatch(r"\(*\d+\)*", text)),
    "lark": (("ebnf", LARK), lambda text: eval(text) > 0),
    "tag": (
        ("structural_tag", json.dumps({"type": "structural_tag", "format": TAG})),
        lambda text: text in ("<t>true</t>", "<t>false</t>"),
    ),
    "legacy tag": (
        ("structural_tag", json.dumps(LEGACY | {"at_least_one": True})),
        lambda text: text.startswith("<t>") and all(json.loads(each) or True for each in re.findall("<t>(.*?)</t>", text)),
    ),
}


@pytest.fixture
def host(monkeypatch, tokenizer):
    """Makes managers, for servers with the given options, that have the adapter in them."""

    def manager(tp_size=1, **serving):
        adapter, modules = install(monkeypatch, **serving)
        adapter.register()
        monkeypatch.setattr(adapter, "_read", lambda *_: tokenizer)
        make = modules.base_grammar_backend.GRAMMAR_BACKEND_REGISTRY["maskwright"]
        made = modules.grammar_manager.GrammarManager(make, SimpleNamespace(think_end_ids=[THINK_END]), tp_size)
        made.adapter, made.modules = adapter, modules
        return made

    return manager


def add(manager, *keys, **options):
    reqs = [Req(*key, **options) for key in keys]
    for req in reqs:
        manager.add(req)
    return reqs


def sample(draw, row):
    allowed = [token for token in range(EOS + 1) if row[token // 32] >> token % 32 & 1]
    assert allowed
    # Random tokens often close nothing: those of several bytes do.
    return draw.choice([each for each in allowed if each > 256] if draw.random() < 0.5 and max(allowed) > 256 else allowed)


def run(manager, reqs, draw):
    while running := [req for req in reqs if not req.finish()]:
        for req, row in zip(running, manager.masks(running), strict=True):
            manager.accept(req, [sample(draw, row)])


def text_of(tokenizer, req):
    assert req.error is None and req.output[-1] == EOS, (req.error, req.output)
    return tokenizer.decode(req.output[:-1]).decode(errors="replace")


def inner(req):
    return getattr(req.grammar, "grammar", req.grammar)


@pytest.mark.parametrize("reasoning_parser", [None, "some"])
def test_all_kinds_in_one_batch_are_complete_within_their_limits(host, tokenizer, reasoning_parser):
    n_texts, draw = 0, random.Random(0)
    manager = host(reasoning_parser=reasoning_parser)
    for _ in range(6):  # after the first time from SGLang's cache
        # Two of each, at the same time.
        reqs = add(manager, *(key for key, _ in ASKED.values()), max_new_tokens=draw.randint(24, 60))
        reqs += add(manager, *(key for key, _ in ASKED.values()), max_new_tokens=draw.randint(24, 60))
        run(manager, reqs, draw)
        for (name, (_, judge)), req in zip([*ASKED.items()] * 2, reqs, strict=True):
            text = text_of(tokenizer, req)
            assert judge(text), (name, text)
            n_texts += 1
    assert n_texts == 12 * len(ASKED)


def test_the_masks_of_a_step_are_filled_by_one_call(host, monkeypatch):
    for parser in (None, "some"):
        manager = host(reasoning_parser=parser)
        reqs = add(manager, *(key for key, _ in ASKED.values()))
        expected = np.stack([mask_of(inner(req).text._begun()) for req in reqs])
        calls = []
        fill = maskwright.fill_next_token_bitmask_batch
        monkeypatch.setattr(texts, "fill_next_token_bitmask_batch", lambda *given, **work: calls.append(given) or fill(*given, **work))
        assert (manager.masks(reqs) == expected).all()
        assert len(calls) == 1 and len(calls[0][0]) == len(reqs)


def test_ranks_accept_what_the_mask_of_one_of_them_has(host, tokenizer, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_MASK_WORK", "10000")
    schema = {"type": "string", "minLength": 12, "allOf": [{"pattern": "a.*b"}, {"pattern": "d.{3}e"}]}
    draw, n_bound, n_differ = random.Random(5), 0, 0
    manager = host(tp_size=2)
    for n in range(12):
        # Each rank has a grammar of its own, and only the second remembers the rounds before.
        ranks = add(manager, *(("json", json.dumps({"title": title, **schema})) for title in (str(n), "")), max_new_tokens=40)
        while not any(req.finish() for req in ranks):
            masks = manager.masks(ranks)
            n_bound += sum(inner(req).text._begun().mask_status == "bound" for req in ranks)
            n_differ += (masks[0] != masks[1]).any()
            token = min(sample(draw, mask) for mask in masks)
            for req in ranks:
                manager.accept(req, [token])
                assert not req.error, req.error
        text = json.loads(text_of(tokenizer, ranks[0]))
        assert re.search("a.*b", text) and re.search("d.{3}e", text)
        assert ranks[0].output == ranks[1].output
    assert n_bound > 20 and n_differ > 0


def test_a_mask_that_sglang_narrows_is_filled_before(host):
    manager = host(reasoning_parser="some")
    reqs = add(manager, *(key for key, _ in ASKED.values()))
    expected = np.stack([mask_of(inner(req).text._begun()) for req in reqs])
    for row in (1, 3):
        reqs[row].grammar.reasoning_in_grammar = True
        expected[row, 3:] = 0
    assert (manager.masks(reqs) == expected).all()


def mask_of(matcher):
    mask = maskwright.allocate_token_bitmask(1, N_VOCAB)
    matcher.fill_next_token_bitmask(mask)
    return mask[0]


def random_tree(draw, good, n_nodes):
    """A tree of tokens, some of which continue the text as `good` does; the first token of the list is the root's."""
    child, sibling, tokens, depth = [-1] * n_nodes, [-1] * n_nodes, [1], {0: 0}
    order = list(range(1, n_nodes))
    draw.shuffle(order)  # a parent may have a greater number than its child
    placed = [0]
    for node in order:
        parent = draw.choice(placed[-2:])
        depth[node] = depth[parent] + 1
        child[parent], sibling[node] = node, child[parent]
        placed.append(node)
    for node in range(1, n_nodes):
        place = depth[node] - 1
        likely = good[place] if place < len(good) else EOS
        tokens.append(likely if draw.random() < 0.75 else draw.choice([EOS, 5000, *range(256, 270), *b'{":,ab12']))
    return child, sibling, tokens


def test_lark_of_llguidance(host, tokenizer):
    """A schema within rules, with and without the header."""
    manager = host()
    for header in ("", "%llguidance {}\n"):
        (req,) = add(manager, ("ebnf", header + 'start: "n" %json {"type": "boolean"}'), max_new_tokens=40)
        assert tokenizer.decode(inner(req).text._begun().finish()) in (b"ntrue", b"nfalse")


@pytest.mark.parametrize("reasoning_parser", [None, "some"])
def test_trees_have_the_masks_of_a_walk(host, reasoning_parser):
    draw = random.Random(1)
    manager = host(reasoning_parser=reasoning_parser)
    walk = manager.modules.spec_utils.traverse_tree
    naive = walk.__kwdefaults__["_original"]
    n_trees = n_constrained = 0
    for seed in range(60):
        key, _ = list(ASKED.values())[seed % len(ASKED)]
        (req,) = add(manager, key, max_new_tokens=40)
        for token in inner(req).text._begun().finish()[: draw.randint(0, 6)]:
            manager.accept(req, [token])
        good = inner(req).text._begun().finish()
        tree = random_tree(draw, good, 9)
        masks = manager.tree_masks(req, *tree)
        expected = np.full_like(masks, -1)
        naive(*(np.array(each) for each in tree), req.grammar, expected, N_VOCAB)
        assert (masks == expected).all()
        n_trees += 1
        n_constrained += (masks != -1).any(axis=1).sum() - 1
    assert n_trees == 60 and n_constrained > 60


def test_what_reasoning_takes_is_not_the_text_s(host, tokenizer):
    draw = random.Random(2)
    for _ in range(8):
        manager = host(reasoning_parser="some")
        (req,) = add(manager, ASKED["json"][0], max_new_tokens=60, reasoning=True)
        reasoning = [65] * draw.randint(1, 20) + [THINK_END]
        assert (manager.masks([req]) == -1).all()
        # Drafts that end the reasoning too early are rolled back.
        chain = [65, THINK_END, *b'{"']
        masks = manager.tree_masks(req, [1, 2, 3, -1], [-1] * 4, chain)
        assert (masks[0] == -1).all() and (masks[1] != -1).any() and (masks[3] != -1).any()
        manager.accept(req, reasoning)
        assert inner(req).text._begun().max_tokens == 60 - len(reasoning)
        run(manager, [req], draw)
        assert json.loads(text_of(tokenizer, req).split(chr(THINK_END))[1])["tags"] is not None and len(req.output) <= 60


def test_reasoning_that_leaves_too_little_is_logged(host, caplog):
    manager = host(reasoning_parser="some")
    (req,) = add(manager, ("regex", "nobody"), max_new_tokens=12, reasoning=True)
    with caplog.at_level(logging.WARNING):
        manager.accept(req, [65] * 9 + [THINK_END])
        run(manager, [req], random.Random(0))
    assert len(req.output) == 12
    assert "10 tokens were written before the text, which will be cut off: 2 tokens are too few" in caplog.text


@pytest.mark.parametrize(
    ("key", "options", "place"),
    [
        (("json", '{"properties": {"a": {"type": "text"}}}'), {}, "`type` at /properties/a"),
        (("json", '{"type":'), {}, "the schema is not JSON"),
        (("regex", "(a"), {}, "this group is not closed"),
        (("ebnf", "root ::= a"), {}, "(line 1, column 10)"),
        (("ebnf", "%llguidance {}\nstart: a"), {}, "(line 2, column 8)"),
        (("ebnf", '%llguidance {"allow_invalid_utf8": true}\nstart: "a"'), {}, "allow_invalid_utf8"),
        (("ebnf", '%llguidance {\nstart: "a"'), {}, "the options are not JSON"),
        (("structural_tag", '{"type":"structural_tag","format":{"type":"tog"}}'), {}, "/format"),
        (("structural_tag", "{"), {}, "the structural tag is not JSON"),
        (("structural_tag", "[" * 100_000), {}, "the structural tag is not JSON, or nested too deeply"),
        (("structural_tag", '{"structures": [1], "triggers": ["a"], "at_least_one": true}'), {}, "/structures/0"),
        (("regex", "yes"), {"max_new_tokens": 1}, "regex with max_new_tokens=1: 1 token is too few for the grammar: "),
        (("regex", "yes"), {"stop_token_ids": {256, ord("e")}}, "stop_token_ids=[101, 256]: "),
    ],
)
@pytest.mark.parametrize("reasoning_parser", [None, "some"])
def test_a_bad_request_fails_alone(host, tokenizer, key, options, place, reasoning_parser):
    manager = host(reasoning_parser=reasoning_parser)
    for _ in range(2):  # the second time from SGLang's cache
        (bad,) = add(manager, key, **options)
        assert place in bad.error and bad.grammar is None
        (good,) = add(manager, ("regex", "yes"))
        run(manager, [good], random.Random(0))
        assert text_of(tokenizer, good) == "yes"


def test_a_refused_token_is_a_value_error_and_changes_nothing(host, tokenizer):
    manager = host()
    (req,) = add(manager, ("regex", "yes"))
    with pytest.raises(ValueError, match=r"token 257 was not allowed: "):
        req.grammar.accept_token(257)
    run(manager, [req], random.Random(0))
    assert text_of(tokenizer, req) == "yes"


def test_a_text_whose_masks_cannot_be_made_fails_alone(host, tokenizer, monkeypatch):
    manager = host()
    bad, good = add(manager, ("regex", "[ab]+"), ("regex", "yes"))

    def fail(*_):
        raise maskwright.LimitError("too ambiguous")

    broken = SimpleNamespace(fill_draft_tree=fail, fill_next_token_bitmask=fail, n_tokens=1, is_terminated=lambda: False)
    monkeypatch.setattr(inner(bad).text, "_matcher", broken)
    masks = manager.tree_masks(bad, [1, -1], [-1, -1], [1, ord("a")])
    assert (masks == -1).all()
    manager.accept(bad, [ord("a")])
    assert bad.error == "too ambiguous"
    run(manager, [good], random.Random(0))
    assert text_of(tokenizer, good) == "yes"


def test_limits(host, monkeypatch):
    manager = host()

    def limit(**options):
        (req,) = add(manager, ("regex", "yes"), **options)
        return req.error or inner(req).text._begun().max_tokens

    assert limit(max_new_tokens=40) == 40
    assert "2 are enough" in limit(max_new_tokens=1)
    assert limit(max_new_tokens=0) is None  # only the prompt is read
    assert limit(max_new_tokens=1, custom_params={"maskwright_limit": False}) is None
    monkeypatch.setenv("MASKWRIGHT_LIMIT", "0")
    manager = host()
    assert limit(max_new_tokens=1) is None


@pytest.mark.parametrize("reasoning_parser", [None, "some"])
def test_a_limit_that_takes_time_is_looked_up_in_a_thread(host, monkeypatch, reasoning_parser):
    manager = host(reasoning_parser=reasoning_parser)
    backend, adapter = manager.grammar_backend, manager.adapter
    threads = []
    first_matcher = texts.first_matcher
    monkeypatch.setattr(
        adapter, "first_matcher", lambda *given: threads.append(threading.current_thread()) or first_matcher(*given)
    )
    key, _ = ASKED["json"]
    waits = []
    given = [(60, None), (60, None), (90, None), (30, None), (45, None), (0, None), (2, None), (2, None), (30, {ord("b")})]
    for limit, stops in given:
        req = Req(*key, limit, stops, False)
        waits.append(manager.process_req_with_grammar(req))
        if waits[-1]:
            req.grammar = req.grammar.result()
            backend.set_cache(key, req.grammar.copy())
            manager._ready(req)
        assert bool(req.error) == (limit == 2)
    # Limits that are not less than one before are ready at once; stop tokens are looked up each time.
    assert waits == [True, False, False, True, False, False, True, False, True]
    assert len(threads) == sum(waits) and threading.current_thread() not in threads


def test_stop_tokens_end_the_text_and_nothing_else(host):
    manager, draw = host(), random.Random(3)
    n_stopped = 0
    for _ in range(30):
        (req,) = add(manager, ("regex", "[abc]{4}"), stop_token_ids={ord("b")})
        run(manager, [req], draw)
        assert ord("b") not in req.output[:-1]
        n_stopped += req.output[-1] == ord("b")
    assert n_stopped > 3


@pytest.mark.parametrize(
    ("serving", "allowed", "refused"),
    [
        ({}, '{"name": ""', '{"name":  ""'),
        ({"constrained_json_disable_any_whitespace": True}, '{"name":""', '{"name": ""'),
        ({"constrained_json_max_whitespace_cnt": 0}, '{"name":""', '{"name": ""'),
        ({"constrained_json_max_whitespace_cnt": 1}, '{"name": ""', '{"name":  ""'),
        ({"constrained_json_whitespace_pattern": ""}, '{"name":""', '{"name": ""'),
        ({"constrained_json_whitespace_pattern": r"[ \n]*"}, '{"name":  ""', "{\v"),
    ],
)
def test_white_space_is_what_the_command_line_says(host, serving, allowed, refused):
    manager = host(**serving)
    for text, is_allowed in ((allowed, True), (refused, False)):
        (req,) = add(manager, ASKED["json"][0])
        assert inner(req).text._begun().accept_bytes(text) is is_allowed


def test_a_white_space_pattern_that_is_not_supported_stops_the_server(host):
    with pytest.raises(maskwright.GrammarError, match="whitespace_pattern"):
        host(constrained_json_whitespace_pattern="[ ]?")


def test_what_is_not_enforced_is_logged_once(host, caplog):
    manager = host()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            add(manager, ("json", '{"properties": {"a": {"not": {"type": "array", "uniqueItems": true}}}}'))
    assert caplog.text.count("not enforced in the json") == 1


def test_structural_tags_are_those_of_xgrammar(host):
    adapter = host().adapter
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [TAG | {"content": {"type": "json_schema"}}]}}
    made = json.loads(adapter.as_structural_tag(json.dumps(tag)))
    assert made["format"]["elements"][0]["content"] == {"type": "json_schema", "json_schema": {}}
    # What looks like a format within a schema is none.
    schema = {"const": {"type": "json_schema"}}
    tag["format"] = {"type": "json_schema", "json_schema": schema}
    assert json.loads(adapter.as_structural_tag(json.dumps(tag)))["format"]["json_schema"] == schema
    assert "at_least_one" not in adapter.as_structural_tag(json.dumps(LEGACY | {"at_least_one": False}))


def test_answers_in_the_frame_of_a_model(host):
    """SGLang asks for the text of a grammar within the messages of some models."""
    backend = host().grammar_backend
    for name, (key, _) in ASKED.items():
        grammar = backend._init_value_dispatch(key, False)
        framed = backend.compile_framed_grammar(
            grammar, lambda content: {"type": "structural_tag", "format": {"type": "tag", "begin": "[[", "content": content, "end": "]]"}}
        )
        if name == "lark":
            assert framed is None
            continue
        text = grammar.text._begun()
        completion = b"[[" + text.grammar.tokenizer.decode(text.finish()[:-1]) + b"]]"
        assert framed.text._begun().accept_bytes(completion) and framed.text._begun().is_accepting(), name


def test_strict_reasoning_changes_masks(host):
    backend = host().grammar_backend
    assert backend.is_support_token_filter
    mask = backend.allocate_vocab_mask(N_VOCAB, 2, "cpu")
    backend.set_token_filter(mask, [5, 40], 1)
    assert (mask[0] == -1).all() and unpack(mask[1], N_VOCAB) == [5, 40]
    backend.set_token_filter(mask, [40], 1, is_allowed=False, reset_vocab_mask=False)
    assert unpack(mask[1], N_VOCAB) == [5]


def test_caches_are_bounded(host, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_GRAMMARS", "5")
    manager = host()
    add(manager, *(("regex", "a" * n) for n in range(1, 20)))
    assert list(manager.grammar_backend.cache) == [("regex", "a" * n) for n in range(15, 20)]


def test_without_the_name_nothing_of_sglang_changes(monkeypatch):
    adapter, modules = install(monkeypatch)
    before = [vars(modules.spec_utils)["traverse_tree"], vars(modules.grammar_manager.GrammarManager).copy()]
    adapter.register()
    adapter.register()
    assert modules.choices.CHOICES == ["xgrammar", "none", "maskwright"]
    assert before == [vars(modules.spec_utils)["traverse_tree"], vars(modules.grammar_manager.GrammarManager).copy()]


def test_a_version_that_lacks_a_hooked_function_is_named(monkeypatch, tokenizer):
    adapter, _ = install(monkeypatch, without=("spec_utils", "traverse_tree"))
    monkeypatch.setattr(adapter, "_read", lambda *_: tokenizer)
    with pytest.raises(RuntimeError, match=r"has no sglang\.srt\.speculative\.spec_utils\.traverse_tree, .* made for SGLang 0\.5\.23"):
        adapter.make_backend(None, None, N_VOCAB, {EOS})


def test_ends_of_texts_are_those_at_which_sglang_stops(monkeypatch, tokenizer_file):
    import tokenizers

    adapter, _ = install(monkeypatch)
    hf = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    hf = type("Hf", (), {"backend_tokenizer": hf, "eos_token_id": 3, "additional_stop_token_ids": {5}, "is_fast": True})()
    made = adapter._read(hf, 200_000, {4})
    assert made.eos_token_ids == [3, 4, 5] and made.vocab_size == 200_000
    with pytest.raises(maskwright.TokenizerError, match="a fast tokenizer of transformers is expected, not SimpleNamespace"):
        adapter._read(SimpleNamespace(eos_token_id=3), 300, None)


def test_sglang_finds_the_adapter_by_its_entry_point(host):
    manifest = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    entry = manifest["project"]["entry-points"]["sglang.srt.plugins"]["maskwright"]
    adapter = host().adapter
    assert entry == f"{adapter.register.__module__}:{adapter.register.__name__}"

"""vLLM's server with Maskwright as its backend: `cargo xtask hosts vllm`. One server at a time.

Figures are printed, also those of xgrammar in the same server; what must hold for ours is asserted.
"""

import json
import re
import time
from pathlib import Path

import pytest
from vllm_server import FOLDER, Server, extra, is_json, of_json, requests

ON = {"MASKWRIGHT_VLLM": "1"}
#: Without the adapter, `auto` would choose another backend for some requests.
XGRAMMAR = ["--structured-outputs-config", '{"backend": "xgrammar"}']
NGRAM = ["--speculative-config", json.dumps({"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 1})]
BAD = "bad", extra(json={"type": "object", "properties": {"a": {"type": "text"}}}), None
N_LIMITED = 100


@pytest.fixture(scope="module")
def server():
    with Server("ours", **ON) as server:
        yield server


def limited():
    """100 requests whose texts are to fit few tokens."""
    jobs = requests()
    jobs = [job for job in jobs if "tool" not in job[0]]
    return [jobs[n % len(jobs)] for n in range(N_LIMITED)]


def summary(answers):
    """How many answers are valid, invalid, cut off and refused."""
    kinds = {
        "valid": [each for each in answers if not each.error and not each.wrong and each.finish != "length"],
        "invalid": [each for each in answers if each.wrong],
        "valid but cut off": [each for each in answers if not each.error and not each.wrong and each.finish == "length"],
        "refused": [each for each in answers if each.error],
    }
    return ", ".join(f"{len(each)} {name}" for name, each in kinds.items())


def all_valid(answers):
    wrong = [each for each in answers if each.error or each.wrong or each.finish == "length"]
    assert not wrong, "\n".join(map(repr, wrong))


def test_60_requests_at_once_and_a_bad_one(server):
    jobs = requests()
    start = time.monotonic()
    *answers, bad = server.run([*jobs, BAD], max_tokens=400)
    print(f"\n60 requests at once: {summary(answers)} in {time.monotonic() - start:.1f} s; a bad one: {bad.error}")
    assert len(answers) == 60
    all_valid(answers)
    assert "structured_outputs.json: `type` at /properties/a" in bad.error
    assert sum(bool(each.calls) for each in answers) >= 6


def test_texts_are_complete_within_their_limits(server):
    answers = server.run(limited(), max_tokens=(24, 64))
    print(f"\n{N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
    for each in answers:
        if each.error:
            assert re.search(r"max_tokens: no text of the grammar fits \d+ tokens: the shortest takes \d+", each.error), each
        else:
            assert each.wrong is None and each.finish == "stop", each
            assert each.n_tokens <= 64
    assert sum(not each.error for each in answers) >= 90


def test_a_limit_that_is_too_low_is_refused(server):
    for can_stream in (True, False):
        (answer,) = server.run([of_json("order")], max_tokens=8, can_stream=can_stream)
        assert re.search(r"no text of the grammar fits 8 tokens: the shortest takes \d+", answer.error)
        assert answer.error.startswith("stream" if can_stream else "400")


def test_stop_tokens_do_not_cut_a_text_off(server):
    """The ids of some letters: without the backend's care, texts end where one of them comes."""
    jobs = [(name, asked | {"extra_body": {"stop_token_ids": list(range(0, 300, 7))}}, judge) for name, asked, judge in
            (of_json(name) for name in ("point", "tree", "words", "boolean"))]
    answers = server.run(jobs, max_tokens=200)
    print(f"\nwith stop tokens that are text: {summary(answers)}")
    all_valid(answers)


def test_xgrammar_beside_ours(server):
    """Ours and xgrammar's servers side by side: how many texts are valid, and tokens per second."""
    with Server("xgrammar", *XGRAMMAR) as peer:
        answers = peer.run(limited(), max_tokens=(24, 64))
        print(f"\nxgrammar, {N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
        answers = peer.run([*requests(), BAD], max_tokens=400)
        print(f"xgrammar, the 60 requests and the bad one: {summary(answers)}")
        # Texts of the same length for all: nothing may end before.
        schema = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 999}, "minItems": 60, "maxItems": 60}
        judge = is_json(schema)
        constrained = [("list", {"response_format": {"type": "json_schema", "json_schema": {"name": "list", "schema": schema}}}, judge)]
        free = [("free", {"extra_body": {"ignore_eos": True}}, lambda text: None)]
        for kind in range(3):
            for name, each, job in (("none", peer, free), ("ours", server, constrained), ("xgrammar", peer, constrained)):
                start = time.monotonic()
                answers = each.run(job * 16, max_tokens=256, can_stream=False)
                seconds = time.monotonic() - start
                print(f"{name} {kind}: {sum(a.n_tokens for a in answers) / seconds:.0f} tokens/s, {summary(answers)}")
                assert all(a.error is None for a in answers)


def test_drafts_by_ngrams():
    with Server("ngram", *NGRAM, **ON) as server:
        *answers, bad = server.run([*requests(), BAD], max_tokens=400)
        print(f"\nwith drafts, 60 requests at once: {summary(answers)}")
        all_valid(answers)
        assert "at /properties/a" in bad.error
        answers = server.run(limited(), max_tokens=(24, 64))
        print(f"with drafts, {N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
        all_valid([each for each in answers if not each.error])
        n_drafted = server.metric("vllm:spec_decode_num_draft_tokens_total")
        n_accepted = server.metric("vllm:spec_decode_num_accepted_tokens_total")
        print(f"{n_drafted:.0f} tokens drafted, {n_accepted:.0f} accepted")
        assert n_accepted > 50
        assert "Unexpected: grammar" not in server.log.read_text()


def test_preempted_requests_go_on():
    """There is room for a fraction of the requests, so some are put off in the middle of their texts."""
    with Server("preempting", "--num-gpu-blocks-override", "12", **ON) as server:
        answers = server.run(requests(), max_tokens=300)
        n_preempted = server.metric("vllm:num_preemptions_total")
        print(f"\n{n_preempted:.0f} preemptions: {summary(answers)}")
        all_valid(answers)
        assert n_preempted >= 5


def test_reasoning_and_its_tokens():
    """The reasoning ends with a token that a bias makes likely; what it took is missing from the text's limit."""
    plugin = str(Path(__file__).parent / "reasoning.py")
    options = ["--reasoning-parser-plugin", plugin, "--reasoning-parser", "file_sep"]
    vocabulary = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    (end,) = [token["id"] for token in vocabulary if token["content"] == "<file_sep>"]
    body = {"logit_bias": {str(end): 18}, "extra_body": {"skip_special_tokens": False}}
    for drafts in ([], NGRAM):
        with Server("reasoning", *options, *drafts, **ON) as server:
            jobs = [of_json(name) for name in ["person", "point", "order", "tree", "price", "tuple"] * 8]
            jobs = [(name, asked | body, judge) for name, asked, judge in jobs]
            answers = server.run(jobs, max_tokens=120, can_stream=False)
            whole = [each for each in answers if each.finish == "stop"]
            begun = [each for each in answers if each.finish == "length" and each.text]
            print(f"\nreasoning{' and drafts' if drafts else ''}: {len(whole)} whole texts, {len(begun)} cut off, ", end="")
            print(f"{len(answers) - len(whole) - len(begun)} without a text; {[len(each.reasoning) for each in answers]}")
            for each in answers:
                assert each.error is None, each
            assert not [each for each in whole if each.wrong], [each for each in whole if each.wrong]
            assert len(whole) >= 16 and any(each.reasoning for each in whole)
            assert len(begun) <= server.log.read_text().count("which will be cut off: no text of the grammar")

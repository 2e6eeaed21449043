"""Forced tokens as drafts in vLLM's server: `cargo xtask hosts vllm-drafts`. Figures are printed, what must hold is asserted.

Three servers are up at once, and are asked in turn, so that a busy machine is busy for all of them: "plain" without drafts, "same law" with
drafts, and "canonical", where forced text is spelled as the tokenizer does. "no grammar" are texts of the plain server that are as long as its
texts under the grammar.
"""

import json
import statistics
import time

import pytest
from vllm_server import Server, check_calls, is_json

N_DRAFTED = 8
SPECULATION = {"method": "custom_class", "model": "maskwright.integrations.vllm.Drafts", "num_speculative_tokens": N_DRAFTED}
DRAFTING = ["--speculative-config", json.dumps(SPECULATION)]
N_ROUNDS = 2
#: Logits are of bfloat16, which has 8 bits: those of up to 32 differ by 0.125 if they differ at all. Two roundings, and a sum.
TIE = 0.26

WORDS = ["identifier_of_the_customer", "preferred_delivery_address", "is_a_returning_customer", "number_of_items_in_basket"]
WORDS += ["total_amount_before_taxes", "date_of_the_first_purchase", "newsletter_subscription", "reason_for_the_return"]
KINDS = [{"type": "integer", "minimum": 0, "maximum": 999}, {"type": "boolean"}, {"enum": ["low", "medium", "high"]}]
KINDS += [{"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"}]


def of_keys(keys, shift):
    properties = {key: KINDS[(n + shift) % len(KINDS)] for n, key in enumerate(keys)}
    return {"type": "object", "properties": properties, "required": keys, "additionalProperties": False}


LONG = {f"long {n}": of_keys(WORDS[n:] + WORDS[:n], n) for n in range(5)}
SHORT = {f"short {n}": of_keys([f"{letter}{n}" for letter in "abcdefgh"], n) for n in range(5)}
TOOLS = [
    {"type": "function", "function": {"name": f"look_up_{n}", "description": "Looks something up", "parameters": schema, "strict": True}}
    for n, schema in enumerate([of_keys(WORDS[n : n + 4], n) for n in range(5)])
]
GROUPS = ("long keys", "short keys", "tools")


def jobs(group):
    if group == "tools":
        names = [tool["function"]["name"] for tool in TOOLS]
        choices = [{"type": "function", "function": {"name": name}} for name in names]
        return [("tool", {"tools": TOOLS, "tool_choice": choice}, None) for choice in choices]
    made = []
    for name, schema in (LONG if group == "long keys" else SHORT).items():
        asked = {"type": "json_schema", "json_schema": {"name": name.replace(" ", "_"), "schema": schema, "strict": True}}
        made.append((name, {"response_format": asked, "logprobs": True, "top_logprobs": 5}, is_json(schema)))
    return made


def free(group, n_tokens):
    return [("free", {"extra_body": {"ignore_eos": True}, "max_tokens": n}, lambda text: None) for n in n_tokens]


@pytest.fixture(scope="module")
def servers():
    given = {"MASKWRIGHT_VLLM": "1"}
    with (
        Server("plain", **given) as plain,
        Server("same-law", *DRAFTING, **given) as same,
        Server("canonical", *DRAFTING, **given, MASKWRIGHT_SPELLING="canonical") as canonical,
    ):
        yield {"plain": plain, "same law": same, "canonical": canonical}


def run(server, made, n_at_once, temperature):
    """Seconds for the requests, so many at once, and the answers."""
    made = (made * 4)[: max(n_at_once, len(made))]
    start, answers = time.monotonic(), []
    for begin in range(0, len(made), n_at_once):
        answers += server.run(made[begin : begin + n_at_once], max_tokens=None, temperature=temperature, stream_every=None)
    return time.monotonic() - start, answers


def test_seconds(servers):
    for server in servers.values():
        run(server, jobs("long keys") + jobs("short keys") + jobs("tools"), 8, 1.0)
    print("\n| texts | temperature | at once | no grammar | plain | same law | canonical | tokens: plain, canonical |")
    print("|---|---|---|---|---|---|---|---|")
    slower = []
    for group in GROUPS:
        for temperature in (0.0, 1.0):
            for n_at_once in (1, 4, 8, 16):
                seconds, n_tokens = {name: [] for name in ("no grammar", *servers)}, {}
                for turn in range(N_ROUNDS):
                    order = list(servers.items())
                    for name, server in order if turn % 2 else reversed(order):
                        took, answers = run(server, jobs(group), n_at_once, temperature)
                        for each in answers:
                            assert not each.error and not each.wrong and each.finish in ("stop", "tool_calls"), each
                            if group == "tools":
                                check_calls(each.calls, "tool")
                        seconds[name].append(took)
                        n_tokens[name] = [each.n_tokens for each in answers]
                    took, _ = run(servers["plain"], free(group, n_tokens["plain"]), n_at_once, temperature)
                    seconds["no grammar"].append(took)
                least = {name: min(each) for name, each in seconds.items()}
                cells = [f"{each:.2f}" for each in least.values()]
                tokens = f"{sum(n_tokens['plain'])}, {sum(n_tokens['canonical'])}"
                print(f"| {group} | {temperature:.0f} | {n_at_once} | {' | '.join(cells)} | {tokens} |")
                slower += [least[name] / least["plain"] for name in ("same law", "canonical")]
    print(f"of plain's seconds: median {statistics.median(slower):.2f}, most {max(slower):.2f}")
    for name in ("same law", "canonical"):
        n_drafted = servers[name].metric("maskwright_forced_tokens_drafted_total")
        n_accepted = servers[name].metric("maskwright_forced_tokens_accepted_total")
        by_vllm = servers[name].metric("vllm:spec_decode_num_accepted_tokens_total")
        print(f"{name}: {n_drafted:.0f} tokens drafted, {n_accepted:.0f} accepted; by vLLM's count {by_vllm:.0f}")
        assert n_accepted == by_vllm > 0
        assert "Unexpected: grammar" not in servers[name].log.read_text()


def test_the_same_law_at_temperature_0(servers):
    """The texts are those of the plain server, or differ first where two tokens are as likely, as far as bfloat16 can tell."""
    n_same = 0
    for group in GROUPS[:2]:
        answers = {name: run(servers[name], jobs(group), 1, 0.0)[1] for name in ("plain", "same law")}
        for plain, drafted in zip(answers["plain"], answers["same law"], strict=True):
            if plain.text == drafted.text:
                n_same += 1
                continue
            at = next(i for i, (a, b) in enumerate(zip(plain.logprobs, drafted.logprobs, strict=False)) if a.token != b.token)
            likely = {each.token: each.logprob for each in plain.logprobs[at].top_logprobs}
            taken, other = plain.logprobs[at], drafted.logprobs[at]
            print(f"{plain.name} differs first at token {at}: {taken.token!r} {taken.logprob:.3f}, {other.token!r} {likely.get(other.token)}")
            assert other.token in likely and abs(taken.logprob - likely[other.token]) <= TIE
    print(f"{n_same} of 10 texts are the same")


def test_beside_ngrams():
    """Tokens that the grammar forces come after those that n-grams draft."""
    method = {"method": "ngram", "num_speculative_tokens": N_DRAFTED, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    with Server("forced-ngram", "--speculative-config", json.dumps(method), MASKWRIGHT_VLLM="1", MASKWRIGHT_SPELLING="canonical") as server:
        for temperature in (0.0, 1.0):
            _, answers = run(server, jobs("long keys") + jobs("tools"), 8, temperature)
            assert all(not each.error and not each.wrong for each in answers), answers
        n_accepted = server.metric("maskwright_forced_tokens_accepted_total")
        by_vllm = server.metric("vllm:spec_decode_num_accepted_tokens_total")
        print(f"\nbeside n-grams: {n_accepted:.0f} forced tokens accepted, {by_vllm:.0f} in all")
        assert 0 < n_accepted <= by_vllm
        assert "Unexpected: grammar" not in server.log.read_text()

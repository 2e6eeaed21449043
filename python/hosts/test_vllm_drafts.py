"""Forced tokens as drafts in vLLM's server: `cargo xtask hosts vllm-drafts`. Figures are printed, what must hold is asserted.

Three servers, one after the other, since one that waits still takes time of the processor: "plain" without drafts, "same law" with
drafts, and "canonical", where forced text is spelled as the tokenizer does. "no grammar" are texts of the plain server that are as long as its
texts under the grammar.
"""

import collections
import itertools
import json
import statistics
import time

from vllm_server import Server, is_json

N_DRAFTED = 8
SPECULATION = {"method": "custom_class", "model": "maskwright.integrations.vllm.Drafts", "num_speculative_tokens": N_DRAFTED}
DRAFTING = ["--speculative-config", json.dumps(SPECULATION)]
N_ROUNDS = 1
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
OF_TOOLS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
GROUPS = ("long keys", "short keys", "tools")


def jobs(group):
    if group == "tools":
        names = [tool["function"]["name"] for tool in TOOLS]
        choices = [{"type": "function", "function": {"name": name}} for name in names]
        return [("tool", {"tools": TOOLS, "tool_choice": choice}, lambda text: None) for choice in choices]
    made = []
    for name, schema in (LONG if group == "long keys" else SHORT).items():
        asked = {"type": "json_schema", "json_schema": {"name": name.replace(" ", "_"), "schema": schema, "strict": True}}
        made.append((name, {"response_format": asked, "logprobs": True, "top_logprobs": 5}, is_json(schema)))
    return made


def check(answers):
    for each in answers:
        assert not each.error and not each.wrong and each.finish in ("stop", "tool_calls"), each
        assert each.calls or each.name != "tool", each
        for name, arguments in each.calls:
            is_json(OF_TOOLS[name])(arguments)


def free(n_tokens):
    return [("free", {"extra_body": {"ignore_eos": True}, "max_tokens": n}, lambda text: None) for n in n_tokens]


SERVERS = {"plain": ([], {}), "same law": (DRAFTING, {}), "canonical": (DRAFTING, {"MASKWRIGHT_SPELLING": "canonical"})}
SETTINGS = list(itertools.product(GROUPS, (0.0, 1.0), (1, 4, 8, 16)))
COUNTERS = ["maskwright_forced_tokens_drafted_total", "maskwright_forced_tokens_accepted_total", "vllm:spec_decode_num_accepted_tokens_total"]


def run(server, made, n_at_once, temperature):
    """Seconds for the requests, so many at once, and the answers."""
    made = (made * 4)[: max(n_at_once, len(made))]
    start, answers = time.monotonic(), []
    for begin in range(0, len(made), n_at_once):
        answers += server.run(made[begin : begin + n_at_once], max_tokens=None, temperature=temperature, stream_every=None)
    return time.monotonic() - start, answers


def test_seconds_and_texts():
    seconds, n_tokens, texts = collections.defaultdict(list), {}, {}
    for turn in range(N_ROUNDS):
        for name, (options, environment) in list(SERVERS.items())[:: 1 if turn % 2 == 0 else -1]:
            with Server(name.replace(" ", "-"), *options, MASKWRIGHT_VLLM="1", **environment) as server:
                for group in GROUPS:
                    run(server, jobs(group), 8, 1.0)
                for setting in SETTINGS:
                    group, temperature, n_at_once = setting
                    took, answers = run(server, jobs(group), n_at_once, temperature)
                    check(answers)
                    seconds[name, *setting].append(took)
                    n_tokens[name, *setting] = [each.n_tokens for each in answers]
                    if (temperature, n_at_once) == (0.0, 1) and group != "tools":
                        texts[name, group] = answers
                    if name == "plain" and n_at_once in (1, 8):
                        took, _ = run(server, free(n_tokens[name, *setting]), n_at_once, temperature)
                        seconds["no grammar", *setting].append(took)
                check_counters(name, server)
    print_seconds(seconds, n_tokens)
    check_same_law(texts)


def check_counters(name, server):
    n_drafted, n_accepted, by_vllm = map(server.metric, COUNTERS)
    print(f"{name}: {n_drafted:.0f} tokens drafted, {n_accepted:.0f} accepted; by vLLM's count {by_vllm:.0f}")
    assert n_accepted == by_vllm and (n_accepted > 0) == (name != "plain")
    assert "Unexpected: grammar" not in server.log.read_text()


def print_seconds(seconds, n_tokens):
    print("\n| texts | temperature | at once | no grammar | plain | same law | canonical | tokens: plain, canonical |")
    print("|---|---|---|---|---|---|---|---|")
    for setting in SETTINGS:
        group, temperature, n_at_once = setting
        least = {name: min(seconds[name, *setting], default=None) for name in ("no grammar", *SERVERS)}
        cells = " | ".join("" if each is None else f"{each:.1f}" for each in least.values())
        tokens = f"{sum(n_tokens['plain', *setting])}, {sum(n_tokens['canonical', *setting])}"
        print(f"| {group} | {temperature:.0f} | {n_at_once} | {cells} | {tokens} |")
    for name in ("same law", "canonical"):
        ratios = [min(seconds[name, *setting]) / min(seconds["plain", *setting]) for setting in SETTINGS]
        print(f"{name}: of plain's seconds, median {statistics.median(ratios):.2f}, most {max(ratios):.2f}")


def check_same_law(texts):
    """The texts are those of the plain server, or differ first where two tokens are as likely, as far as bfloat16 can tell."""
    n_same = n_texts = 0
    for group in GROUPS[:2]:
        for plain, drafted in zip(texts["plain", group], texts["same law", group], strict=True):
            n_texts += 1
            if plain.text == drafted.text:
                n_same += 1
                continue
            at = next(i for i, (a, b) in enumerate(zip(plain.logprobs, drafted.logprobs, strict=False)) if a.token != b.token)
            likely = {each.token: each.logprob for each in plain.logprobs[at].top_logprobs}
            taken, other = plain.logprobs[at], drafted.logprobs[at]
            print(f"{plain.name} differs first at token {at}: {taken.token!r} {taken.logprob:.3f}, {other.token!r} {likely.get(other.token)}")
            assert other.token in likely and abs(taken.logprob - likely[other.token]) <= TIE
    print(f"{n_same} of {n_texts} texts are the same")


def test_beside_ngrams():
    """Tokens that the grammar forces come after those that n-grams draft."""
    method = {"method": "ngram", "num_speculative_tokens": N_DRAFTED, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    with Server("forced-ngram", "--speculative-config", json.dumps(method), MASKWRIGHT_VLLM="1", MASKWRIGHT_SPELLING="canonical") as server:
        for temperature in (0.0, 1.0):
            _, answers = run(server, jobs("long keys") + jobs("tools"), 8, temperature)
            check(answers)
        n_accepted = server.metric("maskwright_forced_tokens_accepted_total")
        by_vllm = server.metric("vllm:spec_decode_num_accepted_tokens_total")
        print(f"\nbeside n-grams: {n_accepted:.0f} forced tokens accepted, {by_vllm:.0f} in all")
        assert 0 < n_accepted <= by_vllm
        assert "Unexpected: grammar" not in server.log.read_text()

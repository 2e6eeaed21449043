"""vLLM's server with Maskwright as its backend: `cargo xtask hosts vllm`. One server at a time.

Figures are printed, also those of xgrammar in the same server; what must hold for ours is asserted.
"""

import asyncio
import itertools
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from statistics import mean

import hostile
import pytest
from conftest import run_page
from openai import AsyncOpenAI
from pages import run_by
from prometheus import OPERATING, Prometheus
from server_process import load, memory_of
from tokenizers import Tokenizer
from vllm_server import (
    FOLDER,
    LOGS,
    LONG,
    MODEL,
    PATTERNS,
    SCHEMAS,
    Server,
    ask,
    extra,
    is_json,
    is_match,
    is_one_of,
    least_number,
    limited,
    of_json,
    requests,
)

ON = {"MASKWRIGHT_VLLM": "1"}
#: Without the adapter, `auto` would choose another backend for some requests.
XGRAMMAR = ["--structured-outputs-config", '{"backend": "xgrammar"}']
DRAFTS = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
NGRAM = ["--speculative-config", json.dumps(DRAFTS)]
BAD = "bad", extra(json={"type": "object", "properties": {"a": {"type": "text"}}}), None
N_LIMITED = 100


@pytest.fixture(scope="module")
def server():
    with Server("ours", **ON) as server:
        yield server


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


def complete_or_refused(answers):
    """Every text is whole and valid; refused are those whose least number of tokens is over their limit, with that number."""
    least = {text: least_number(text) for text in LONG}
    expected = {n: least[LONG[n // 8 % len(LONG)]] for n in range(0, len(answers), 8)}
    for n, each in enumerate(answers):
        if each.limit < expected.get(n, 0):
            words = rf"max_tokens={each.limit}: {each.limit} tokens? (is|are) too few for the grammar: {expected[n]} (is|are) enough,"
            assert each.error and re.search(words, each.error), each
        else:
            all_valid([each])
            assert expected.get(n, 0) <= each.n_tokens <= each.limit, each
    n_refused = sum(each.error is not None for each in answers)
    assert 5 <= n_refused <= 10, n_refused


def test_60_requests_at_once_and_a_bad_one(server):
    jobs = requests()
    start = time.monotonic()
    *answers, bad = server.run([*jobs, BAD], max_tokens=400)
    print(f"\n60 requests at once: {summary(answers)} in {time.monotonic() - start:.1f} s; a bad one: {bad.error}")
    assert len(answers) == 60
    all_valid(answers)
    assert "structured_outputs.json: `type` at /properties/a" in bad.error
    assert sum(bool(each.calls) for each in answers) >= 6


def gaps(server, beside=()):
    """The largest gap in a stream of free text, in seconds, beside requests that begin after its first parts; and their answers."""

    async def both():
        address = f"http://127.0.0.1:{server.port}/v1"
        async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0, timeout=280) as client:
            messages = [{"role": "user", "content": "Tell a long story."}]
            given = {"model": MODEL, "messages": messages, "max_tokens": 900, "extra_body": {"min_tokens": 900}}
            stream = await client.chat.completions.create(**given, stream=True)
            moments, asked = [], []
            async for _ in stream:
                moments.append(time.monotonic())
                if len(moments) == 10:
                    asked = [asyncio.create_task(ask(client, 1, *job, **options)) for job, options in beside]
                if len(moments) > 60 and all(task.done() for task in asked):
                    break
            await stream.close()
            return max(b - a for a, b in itertools.pairwise(moments)), [await task for task in asked]

    return asyncio.run(both())


def hostile_job(each):
    kind = {"gbnf": "grammar", "lark": "grammar"}.get(each.kind, each.kind)
    source = json.dumps(each.source) if kind == "structural_tag" else each.source
    asked = extra(**{kind: source}) | {"max_tokens": each.max_tokens}
    asked["extra_body"] |= {"vllm_xargs": each.options} if each.options else {}
    return each.name, asked, each.judge


def test_hostile_requests_beside_a_stream(server):
    """Each alone, so that the stream's gaps are its own."""
    gaps(server)
    idle = max(gaps(server)[0] for _ in range(3))
    print(f"\nlargest gap of a free stream alone: {idle:.2f} s")
    worst = 0
    for each in hostile.REQUESTS:
        job = hostile_job(each)
        for temperature in (0.0, 1.0):
            gap, (answer,) = gaps(server, [(job, {"temperature": temperature, "stream_every": None})])
            worst = max(worst, gap)
            said = answer.error or answer.wrong or f"valid, {answer.n_tokens} tokens"
            print(f"{each.name}, temperature {temperature:.0f}: gap {gap:.2f} s, {answer.seconds:.1f} s, {said[:150]}")
            assert answer.error is None or answer.error.startswith("400"), answer
            assert answer.wrong is None and (answer.error or answer.finish == "stop"), answer
            assert gap <= idle + 0.5, each.name
    print(f"largest gap beside a hostile request: {worst:.2f} s")
    n_bounds = server.metric("maskwright_masks_total", status="bound")
    print(f"masks: {server.metric('maskwright_masks_total', status='exact'):.0f} exact, {n_bounds:.0f} bounds")
    assert n_bounds > 0


def test_86_mixed_requests_beside_xgrammar():
    """Those of `requests`, the hostile ones, a wrong one and one that cannot fit, all at once."""
    jobs = requests() + [hostile_job(each) for each in hostile.REQUESTS]
    jobs += [BAD, ("impossible", extra(choice=["0123456789" * 90]) | {"max_tokens": 60}, None)]
    assert len(jobs) == 86
    for backend, options, environment in (("ours", [], ON), ("xgrammar", XGRAMMAR, {})):
        with Server(f"mixed-{backend}", *options, **environment) as server:
            start = time.monotonic()
            answers = server.run(jobs, max_tokens=400)
            print(f"\n{backend}, 86 mixed requests: {summary(answers)} in {time.monotonic() - start:.0f} s; ", end="")
            print(f"usual ones: {summary(answers[:60])}; hostile ones: {summary(answers[60:84])}")
            failed = [each for each in answers if each.error and not re.match("400|stream", each.error)]
            print(f"refused with another status than 400: {[(each.name, each.error[:60]) for each in failed]}")
            if backend == "ours":
                assert not failed and not any(each.wrong for each in answers), answers
                all_valid(answers[:60])
                assert answers[84].error and answers[85].error


def test_the_page_of_metrics_shows_what_was_sent():
    """In a server of its own: compilations count in both processes."""
    with Server("metrics", **ON) as server:
        jobs = requests()
        refused = [BAD, ("limit", extra(choice=["0123456789" * 90]), None)]
        answers = server.run([*jobs, *refused], max_tokens=400)
        n_refused = sum(each.error is not None for each in answers)
        assert n_refused == 2
        counted = {name: server.metric(f"maskwright_{name}") for name in METRICS}
        print("\n" + ", ".join(f"{name} {value:g}" for name, value in counted.items()))
        # In both processes, but for the one that does not fit. The same grammar may be asked for by several requests.
        n_grammars = (server.metric("maskwright_compilations_total", outcome="compiled") - 1) / 2
        assert 40 <= n_grammars <= len(jobs) and n_grammars == int(n_grammars)
        assert server.metric("maskwright_requests_refused_total", reason="grammar") == 1
        assert server.metric("maskwright_requests_refused_total", reason="limit") == 1
        # A mask for each sampled token; those after the end of a text are not filled.
        n_tokens = sum(each.n_tokens for each in answers)
        assert 0.9 * n_tokens <= counted["masks_total"] <= 1.1 * n_tokens + 100, n_tokens
        assert counted["info"] == 1 and counted["mask_seconds_sum"] > 0
        log = server.log.read_text()
        for process in ("APIServer", "EngineCore"):
            assert re.search(rf"{process} .*maskwright: structured outputs are those of Maskwright", log)


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed")
def test_alerts_and_the_dashboard_s_queries(tmp_path):
    """The rules over series that were made up, then all queries over what Prometheus reads from a server."""
    subprocess.run(["promtool", "test", "rules", Path(__file__).parent / "alerts_test.yml"], check=True)
    dashboard = json.loads((OPERATING / "dashboard.json").read_text(encoding="utf-8"))
    queries = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    with Server("prometheus", **ON) as server, Prometheus(tmp_path, server.port, OPERATING / "alerts.yml") as prometheus:
        # What comes before it has read the page is no increase.
        prometheus.wait_for("maskwright_info")
        for _ in range(3):
            server.run([*requests(), BAD], max_tokens=200)
            time.sleep(5)
        for title, query in queries:
            query = query.replace("$instance", ".*").replace("$__rate_interval", "5m")
            found = prometheus.ask("query", query=query)["result"]
            print(f"{title}: {[(each['metric'], each['value'][1]) for each in found]}"[:300])
            assert found or title == "Not enforced", (title, query)
        (group,) = prometheus.ask("rules")["groups"]
        assert {rule["health"] for rule in group["rules"]} == {"ok"}
        assert {rule["name"] for rule in group["rules"] if rule["state"] == "firing"} == set()


METRICS = ["info", "compilations_total", "compile_seconds_sum", "grammar_cache_hits_total", "masks_total", "mask_seconds_count"]
METRICS += ["mask_seconds_sum", "requests_refused_total", "grammars_not_enforced_total", "texts_failed_total"]


def test_options_of_a_request(server):
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"], "additionalProperties": False}
    of = {"structured_outputs": {"json": schema}}
    orders = set()
    for n in range(12):
        body = {"extra_body": of | {"vllm_xargs": {"maskwright_property_order": "any"}}, "seed": n}
        (answer,) = server.run([("order", body, is_json(schema))], max_tokens=40, temperature=1.5)
        all_valid([answer])
        orders.add(tuple(json.loads(answer.text)))
    assert orders == {("a", "b"), ("b", "a")}
    not_enforced = {"not": {"type": "array", "uniqueItems": True}}
    for given, status in [({}, None), ({"maskwright_unenforced": "refuse"}, "400"), ({"maskwright_unenforced": "x"}, "400")]:
        body = {"extra_body": {"structured_outputs": {"json": not_enforced}, "vllm_xargs": given}}
        (answer,) = server.run([("unenforced", body, lambda text: json.loads(text))], max_tokens=40, stream_every=None)
        assert (answer.error or "None")[:3] == (status or "Non"), answer
    log = server.log.read_text()
    assert re.search(r"maskwright: request \S+: not enforced in the json: .*uniqueItems at /not", log)


def test_texts_are_complete_within_their_limits(server):
    answers = server.run(limited(N_LIMITED), max_tokens=(24, 64))
    print(f"\n{N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
    complete_or_refused(answers)


def test_a_limit_that_is_too_low_is_refused(server):
    (text, *_) = LONG
    least = least_number(text)
    job = "long", extra(choice=[text]), is_one_of([text])
    for stream_every in (1, None):
        (answer,) = server.run([job], max_tokens=least - 1, stream_every=stream_every)
        assert f"{least - 1} tokens are too few for the grammar: {least} are enough," in answer.error
        assert answer.error.startswith("stream" if stream_every else "400")
        all_valid(server.run([job], max_tokens=least, stream_every=stream_every))


@pytest.mark.parametrize("page", run_by("cargo xtask hosts vllm"))
def test_pages(server, page, tmp_path):
    replaced = {"127.0.0.1:8000": f"127.0.0.1:{server.port}", "HuggingFaceTB/SmolLM2-135M-Instruct": MODEL, '"MODEL"': f'"{MODEL}"'}
    names = run_page(page, "cargo xtask hosts vllm", tmp_path, replaced).names
    if page == "docs/guides/vllm.md":
        assert names["done"].choices[0].finish_reason == "stop"
        is_json(names["schema"])(names["done"].choices[0].message.content)


def test_stop_tokens_do_not_cut_a_text_off(server):
    """Without the backend's care, a text would end at the first of these letters that is a token of its own."""
    vocabulary = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    body = {"extra_body": {"stop_token_ids": [vocabulary[letter] for letter in "aeiou1"]}}
    names = ["person", "tree", "words", "boolean"]
    jobs = [(name, asked | body, judge) for name, asked, judge in map(of_json, names * 4)]
    answers = server.run(jobs, max_tokens=200)
    print(f"\nwith stop tokens that are text: {summary(answers)}")
    all_valid(answers)


def test_xgrammar_in_the_same_server():
    """How many texts are valid with vLLM's default."""
    with Server("xgrammar", *XGRAMMAR) as peer:
        answers = peer.run(limited(N_LIMITED), max_tokens=(24, 64))
        print(f"\nxgrammar, {N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
        answers = peer.run([*requests(), BAD], max_tokens=400)
        print(f"xgrammar, the 60 requests and the bad one: {summary(answers)}")


def test_tokens_per_second():
    """16 texts of the same length at once; in each round a fresh server for each backend, whose first request counts."""
    # A token for each digit, and no white space: texts that end early would leave the others a smaller batch.
    compact = ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    schema = {"type": "array", "items": {"type": "integer", "minimum": 100, "maximum": 999}, "minItems": 60, "maxItems": 60}
    asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "list", "schema": schema}}}
    constrained = [("list", asked, is_json(schema))]
    free = [("free", {"extra_body": {"ignore_eos": True}}, lambda text: None)]
    backends = [("ours", ON), ("xgrammar", {})]
    for kind in range(3):
        for backend, environment in backends:
            with Server(f"{backend}-{kind}", *compact, **environment) as server:
                server.run(free * 16, max_tokens=16)
                for name, job in (("none", free), (backend, constrained), (f"{backend} again", constrained)):
                    start = time.monotonic()
                    # One is streamed, so that its first token is seen.
                    answers = server.run(job * 16, max_tokens=256, stream_every=16)
                    seconds, n_tokens = time.monotonic() - start, sum(each.n_tokens for each in answers)
                    print(f"{name} {kind}: {n_tokens} tokens, {n_tokens / seconds:.0f} a second, ", end="")
                    print(f"the first after {answers[0].first:.2f} s, {summary(answers)}")
                    assert all(each.error is None for each in answers)
        backends.reverse()


def test_256_sequences_at_once():
    """All of them in one batch, over 32 schemas, and the time that the constraint takes in a step."""
    schemas = {**SCHEMAS, "one": {"const": "one"}, "flags": {"type": "array", "items": {"type": "boolean"}, "minItems": 2}}
    assert len(schemas) == 32
    jobs = []
    for n in range(256):
        name, schema = list(schemas.items())[n % 32]
        asked = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
        jobs.append((name, {"response_format": asked}, is_json(schema)))
    plugin = str(Path(__file__).parent / "step_times.py")
    for backend, options, environment in (("ours", [], ON), ("xgrammar", XGRAMMAR, {})):
        times = LOGS / f"steps-{backend}.txt"
        # On a CPU, vLLM cannot read a prompt in parts if its request has a seed.
        options = [*options, "--max-num-seqs", "256", "--no-enable-chunked-prefill", "--reasoning-parser-plugin", plugin]
        with Server(f"many-{backend}", *options, **environment, STEP_TIMES=str(times)) as server:
            for turn in range(2):
                times.unlink(missing_ok=True)
                start = time.monotonic()
                answers = server.run(jobs, max_tokens=(32, 64), stream_every=None)
                print(f"\n{backend} {turn}: 256 requests: {summary(answers)} in {time.monotonic() - start:.1f} s")
                print_steps([tuple(map(float, line.split())) for line in times.read_text().splitlines()])
                if backend == "ours":
                    all_valid(answers)


def print_steps(steps):
    """What `step_times.py` has noted of each step."""
    full = [step for step in steps if step[0] >= 128]
    print(f"{len(steps)} steps, {len(full)} of them with 128 texts and more, {max(step[0] for step in steps):.0f} at most")
    for kind, column in (("masks", 1), ("tokens accepted", 2)):
        by_time = sorted(step[column] * 1e3 for step in full)
        whole = sum(step[column] for step in steps)
        print(f"{kind}: p50 {by_time[len(by_time) // 2]:.2f} ms, most {by_time[-1]:.2f} ms, all steps {whole:.2f} s")


def test_drafts_by_ngrams():
    with Server("ngram", *NGRAM, **ON) as server:
        *answers, bad = server.run([*requests(), BAD], max_tokens=400)
        print(f"\nwith drafts, 60 requests at once: {summary(answers)}")
        all_valid(answers)
        assert "at /properties/a" in bad.error
        answers = server.run(limited(N_LIMITED), max_tokens=(24, 64))
        print(f"with drafts, {N_LIMITED} requests of 24 to 64 tokens: {summary(answers)}")
        complete_or_refused(answers)
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


def test_what_reasoning_takes_is_not_the_text_s():
    """The text begins after the first full stop, and is complete within the tokens that are left then."""
    plugin = str(Path(__file__).parent / "reasoning.py")
    options = ["--reasoning-parser-plugin", plugin, "--reasoning-parser", "full_stop"]
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    full_stop = tokenizer.token_to_id(".")
    for drafts in ([], NGRAM):
        with Server("reasoning", *options, *drafts, **ON) as server:
            jobs = [of_json(name) for name in ["person", "point", "order", "tree", "price", "tuple"] * 10]
            jobs = [(name, asked | {"extra_body": {"return_token_ids": True}}, lambda text: None) for name, asked, _ in jobs]
            answers = server.run(jobs, max_tokens=100, stream_every=None)
            n_whole = n_thinking = n_cut_off = 0
            for each in answers:
                assert each.error is None, each
                if full_stop not in each.token_ids:
                    n_thinking += 1
                    continue
                n_before = each.token_ids.index(full_stop) + 1
                if each.finish == "stop":
                    of_json(each.name)[2](tokenizer.decode(each.token_ids[n_before:]))
                    n_whole += 1
                else:
                    n_cut_off += 1
            print(f"\nreasoning{' and drafts' if drafts else ''}: {n_whole} whole texts, {n_thinking} without a text, ", end="")
            print(f"{n_cut_off} of whose limit too little was left")
            assert n_whole >= 20
            assert n_cut_off <= server.log.read_text().count("which will be cut off: no text of the grammar")


def test_compilations_hold_up_no_known_grammar():
    """24 schemas that take long or are refused, at once beside ten requests whose grammar is known and ten free ones."""
    pattern = extra(regex="[0-9]{24}")
    known = [("known", pattern, is_match("[0-9]{24}"))] * 10
    free = [("free", {"extra_body": {"ignore_eos": True}}, lambda text: None)] * 10
    hostile_ones = [(f"hard {n}", extra(json=hostile.hard_to_compile(n)), lambda text: json.loads(text)) for n in range(24)]
    # The answer comes from the check alone: of a grammar and a limit that are known, with a wrong option, and of a limit that is not known.
    wrong = {"extra_body": {**pattern["extra_body"], "vllm_xargs": {"maskwright_numbers": "x"}}}
    checks = [("check", wrong, None) for n in range(10)]
    limits = [("limit", {**pattern, "max_tokens": 3 + n}, None) for n in range(10)]
    with Server("hard", **ON) as server:
        all_valid(server.run(known[:1], max_tokens=40))
        server.run(free, max_tokens=25)
        before = memory_of(server.process.pid)
        idle = verdicts(server.run(hostile_ones[:3], max_tokens=60, stream_every=None))
        most, answers = before, []

        async def all_at_once():
            nonlocal most

            async def some(jobs, first, **options):
                return await asyncio.gather(*(ask(client, first + n, *job, **options) for n, job in enumerate(jobs)))

            async def watch():
                nonlocal most
                while True:
                    most = max(most, memory_of(server.process.pid))
                    await asyncio.sleep(0.05)

            async with AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0, timeout=280) as client:
                watching = asyncio.create_task(watch())
                hard_ones = asyncio.create_task(some(hostile_ones, 0, max_tokens=60, stream_every=None))
                await asyncio.sleep(0.3)
                both = asyncio.gather(some(known, 0, max_tokens=25, stream_every=None), some(free, 0, max_tokens=25, stream_every=None))
                await asyncio.sleep(0.2)
                for jobs in (checks, limits):
                    answers.append(await some(jobs, 0, max_tokens=25, stream_every=None))
                answers.extend(await both)
                answers.append(await hard_ones)
                watching.cancel()

        asyncio.run(all_at_once())
        checked, of_limits, of_known, of_free, of_hard = answers
        seconds = [[each.seconds for each in some] for some in answers]
        print(f"\nchecks {max(seconds[0]):.2f} s, with unknown limits {max(seconds[1]):.2f} s, ", end="")
        print(f"known {mean(seconds[2]):.2f} s, free {mean(seconds[3]):.2f} s, ", end="")
        print(f"hard {max(seconds[4]):.1f} s; memory {before} MB, at most {most} MB")
        print("checked:", server.metric("maskwright_check_seconds_count"), "in all", server.metric("maskwright_check_seconds_sum"), "s")
        all_valid(of_known)
        assert all("maskwright_numbers" in each.error for each in checked), checked
        assert all("are enough, the end" in each.error for each in of_limits), of_limits
        assert {each.error is None for each in of_free} == {True}
        assert not [each for each in of_hard if each.error and each.error.startswith("500")]
        assert max(seconds[0]) <= 0.3 and mean(seconds[2]) <= 1.3 * mean(seconds[3])
        assert most - before <= 600
        assert server.metric("maskwright_requests_refused_total", reason="work") == 16 + 2
        with load(8):
            again = server.run(hostile_ones[:3], max_tokens=60, stream_every=None)
        assert verdicts(again) == idle == verdicts(of_hard[:3])
        after = memory_of(server.process.pid)
        print(f"memory after it: {after} MB")
        assert after - before <= 250


def test_offline_texts_and_beams(monkeypatch):
    """`LLM` in this process."""
    monkeypatch.setenv("MASKWRIGHT_VLLM", "1")
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "2", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import BeamSearchParams, StructuredOutputsParams

    options = {"dtype": "bfloat16", "max_model_len": 256, "enforce_eager": True, "gpu_memory_utilization": 0.4}
    llm = LLM(model=str(FOLDER), structured_outputs_config={"backend": "outlines"}, **options)
    asked = [({"json": SCHEMAS["person"]}, is_json(SCHEMAS["person"])), ({"choice": ["yes", "no"]}, is_one_of(["yes", "no"]))]
    asked += [({"regex": PATTERNS[0]}, is_match(PATTERNS[0])), ({"json_object": True}, is_json({"type": "object"}))]
    params = [
        SamplingParams(max_tokens=32, temperature=1, seed=n, structured_outputs=StructuredOutputsParams(**each))
        for n, (each, _) in enumerate(asked * 4)
    ]
    outputs = llm.generate(["Ada Lovelace is"] * len(params), params, use_tqdm=False)
    for output, (_, judge) in zip(outputs, asked * 4, strict=True):
        judge(output.outputs[0].text)
    refused = SamplingParams(max_tokens=3, structured_outputs=StructuredOutputsParams(json=SCHEMAS["person"]))
    with pytest.raises(VLLMValidationError, match=r"3 tokens are too few for the grammar: \d+ are enough"):
        llm.generate(["Ada"], refused, use_tqdm=False)
    # Without a max_tokens, what the context leaves is the limit.
    for given in (None, 1000):
        unlimited = SamplingParams(max_tokens=given, temperature=1, structured_outputs=StructuredOutputsParams(json_object=True))
        prompt = {"prompt_token_ids": [100 + n for n in range(230)]}
        (output,) = llm.generate([prompt], unlimited, use_tqdm=False)
        assert isinstance(json.loads(output.outputs[0].text), dict) and output.outputs[0].finish_reason == "stop"
    beams = BeamSearchParams(beam_width=3, max_tokens=20, structured_outputs=StructuredOutputsParams(regex=PATTERNS[0]))
    (output,) = llm.beam_search([{"prompt": "The war ended on "}], beams)
    print(f"\nbeams: {[sequence.text for sequence in output.sequences]}")
    for sequence in output.sequences:
        is_match(PATTERNS[0])(sequence.text.removeprefix("The war ended on ").removesuffix("<|im_end|>"))


def verdicts(answers):
    return [each.error for each in answers]

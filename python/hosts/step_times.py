"""How long the constraint takes in each step of vLLM's engine, whichever backend does it: `--reasoning-parser-plugin step_times.py`.

vLLM imports the file in its engine. A line of the file that `STEP_TIMES` names is a step: how many texts had masks made, the
seconds for the masks, and the seconds for the tokens that were accepted before.
"""

import os
import time

from vllm.v1.structured_output import StructuredOutputManager as Manager

_fill, _accept = Manager.grammar_bitmask, Manager.accept_tokens
_accepting = 0.0


def _timed_fill(self, requests, structured_output_request_ids, scheduled_spec_decode_tokens):
    global _accepting
    start = time.perf_counter()
    mask = _fill(self, requests, structured_output_request_ids, scheduled_spec_decode_tokens)
    seconds = time.perf_counter() - start
    if mask is not None:
        with open(os.environ["STEP_TIMES"], "a", encoding="utf-8") as file:
            file.write(f"{len(structured_output_request_ids)} {seconds:.6f} {_accepting:.6f}\n")
    _accepting = 0.0
    return mask


def _timed_accept(self, *given):
    global _accepting
    start = time.perf_counter()
    try:
        return _accept(self, *given)
    finally:
        _accepting += time.perf_counter() - start


Manager.grammar_bitmask, Manager.accept_tokens = _timed_fill, _timed_accept

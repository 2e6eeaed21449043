"""The parsers of tool calls that vLLM and SGLang have, out of their wheels: from the text of a message to its calls.

Each is made with a vocabulary that has whatever it asks for, so no model is needed.
"""

import json
import logging
import os
from unittest.mock import MagicMock

os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
logging.disable(logging.CRITICAL)

#: The parsers of our families in vLLM.
VLLM = {
    "deepseek_r1": "deepseek_v3",
    "deepseek_v3_1": "deepseek_v31",
    "deepseek_v3_2": "deepseek_v32",
    "deepseek_v4": "deepseek_v4",
    "deepseek_v4_1": "deepseek_v41",
    "ernie": "ernie45",
    "exaone": "hermes",
    "functools": "phi4_mini_json",
    "gemma_3_json": "llama3_json",
    "gemma_4": "gemma4",
    "glm_4_5": "glm45",
    "glm_4_7": "glm47",
    "granite_3": "granite",
    "hunyuan": "hunyuan_a13b",
    "internlm": "internlm",
    "jamba": "jamba",
    "kimi": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "lfm_2": "lfm2",
    "llama": "llama3_json",
    "llama_4": "llama4_json",
    "llama_4_pythonic": "llama4_pythonic",
    "longcat": "longcat",
    "mimo": "mimo",
    "minimax": "minimax_m2",
    "minimax_m3": "minimax_m3",
    "mistral_v11": "mistral",
    "mistral_v13": "mistral",
    "mistral_v3": "mistral",
    "mistral_v7": "mistral",
    "olmo_3": "olmo3",
    "nemotron_3": "qwen3_xml",
    "pythonic": "pythonic",
    "qwen_3": "hermes",
    "step_3_5": "step3p5",
    "qwen_3_coder": "qwen3_xml",
    "seed_oss": "seed_oss",
    "xlam": "xlam",
}

#: And in SGLang.
SGLANG = {
    "deepseek_r1": "deepseekv3",
    "deepseek_v3_1": "deepseekv31",
    "deepseek_v3_2": "deepseekv32",
    "deepseek_v4": "deepseekv4",
    "deepseek_v4_1": "deepseekv41",
    "command_a": "cohere_command4",
    "exaone": "hermes",
    "gemma_4": "gemma4",
    "glm_4_5": "glm45",
    "glm_4_7": "glm47",
    "harmony": "gpt-oss",
    "internlm": "interns1",
    "kimi": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "lfm_2": "lfm2",
    "llama": "llama3",
    "llama_4_pythonic": "pythonic",
    "mimo": "mimo",
    "minimax": "minimax-m2",
    "minimax_m3": "minimax-m3",
    "mistral_v11": "mistral",
    "mistral_v13": "mistral",
    "mistral_v3": "mistral",
    "mistral_v7": "mistral",
    "nemotron_3": "qwen3_coder",
    "pythonic": "pythonic",
    "qwen_3": "qwen25",
    "step_3_5": "step3p5",
    "qwen_3_coder": "qwen3_coder",
}


class AnyVocabulary(dict):
    """Has every token that it is asked for."""

    def get(self, token, default=None):
        return self[token]

    def __missing__(self, token):
        self[token] = 1000 + len(self)
        return self[token]

    def __contains__(self, token):
        return True


def read_vllm(family, text, tools):
    """The calls that vLLM finds, as pairs of name and arguments; arguments that are no JSON stay text."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers import ToolParserManager

    tokenizer = MagicMock()
    vocabulary = AnyVocabulary({"[TOOL_CALLS]": 5} if family in ("mistral_v3", "mistral_v7") else {})
    if family in ("mistral_v3", "mistral_v7"):
        vocabulary = dict(vocabulary)
    tokenizer.get_vocab.return_value = tokenizer.vocab = vocabulary
    tokenizer.chat_template = ""
    request = ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], model="m", tools=tools)
    parser = ToolParserManager.get_tool_parser(VLLM[family])(tokenizer, request.tools)
    found = parser.extract_tool_calls(text, request)
    return [(call.function.name, loads(call.function.arguments)) for call in found.tool_calls]


def read_sglang(family, text, tools):
    """The calls that SGLang finds."""
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    if family == "harmony":
        text = "<|start|>assistant" + text  # The end of the prompt.
    detector = FunctionCallParser.ToolCallParserEnum[SGLANG[family]]()
    found = detector.detect_and_parse(text, [Tool(**tool) for tool in tools])
    return [(call.name, loads(call.parameters)) for call in found.calls]


def loads(arguments):
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments


SERVERS = {"vllm": (VLLM, read_vllm), "sglang": (SGLANG, read_sglang)}

"""A parser of reasoning for a model without any: the reasoning is all until `<file_sep>`, which the model seldom writes."""

from vllm.reasoning import ReasoningParserManager
from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser


@ReasoningParserManager.register_module("file_sep")
class FileSep(BaseThinkingReasoningParser):
    start_token = "<repo_name>"
    end_token = "<file_sep>"

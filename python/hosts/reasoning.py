"""A parser of reasoning for a model without any: the reasoning is all until the first token that is a full stop."""

from vllm.reasoning import ReasoningParserManager
from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser


@ReasoningParserManager.register_module("full_stop")
class FullStop(BaseThinkingReasoningParser):
    start_token = "<repo_name>"
    end_token = "."

    def is_reasoning_end(self, input_ids):
        """Full stops of the prompt end no reasoning."""
        return False

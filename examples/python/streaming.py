"""Shows a tool call while the model writes it.

A matcher knows in which call, at which argument and inside which string the text is, so `events` says what the text says so far. An event
is there as soon as it is certain. Nothing parses the text a second time, and nothing waits for its end.
"""

import json

import maskwright
import stand_in

TOOL = {
    "name": "send_mail",
    "description": "Sends a mail",
    "parameters": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string", "maxLength": 30}, "minItems": 1, "maxItems": 3},
            "subject": {"type": "string", "maxLength": 60},
            "urgent": {"type": "boolean"},
        },
        "required": ["to", "subject"],
        "additionalProperties": False,
    },
}
SCRIPT = """<assistant>I'll write to both.
<tool_call>
<function=send_mail>
<parameter=to>
["ada@example.org", "alan@example.org"]
</parameter>
<parameter=subject>
Tea at four
</parameter>
<parameter=urgent>
false
</parameter>
</function>
</tool_call></s>"""


def stream(model, grammar, prompt_ids, max_tokens):
    """The events of a text, each as soon as it is certain."""
    matcher = maskwright.Matcher(grammar, max_tokens=max_tokens)
    mask = maskwright.allocate_token_bitmask(1, model.tokenizer.vocab_size)
    n_told = 0
    while not matcher.is_terminated():
        logits = model.logits([[*prompt_ids, *matcher.steps]])
        matcher.fill_next_token_bitmask(mask)
        maskwright.apply_token_bitmask_inplace(logits, mask)
        matcher.accept_token(int(logits[0].argmax()))
        new = matcher.events(since=n_told)
        n_told += len(new)
        yield from new


def main():
    parser = stand_in.parser(__doc__)
    parser.add_argument("--format", help="how the model writes calls, by default as its chat template does")
    arguments = parser.parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    format = arguments.format or (None if arguments.model else "qwen_3_coder")
    grammar = maskwright.Compiler(model.tokenizer).compile_tool_calls([TOOL], format=format)
    prompt_ids = model.prompt([{"role": "user", "content": "Ask Ada and Alan to tea."}], [{"type": "function", "function": TOOL}])

    events = []
    for event in stream(model, grammar, prompt_ids, max_tokens=300):
        events.append(event)
        print(f"{event.name}: " if event.kind == "tool" else event.delta or "", end="", flush=True)
    # What a form in a window would have shown halfway: the arguments so far, as values.
    print("\nhalfway:", maskwright.partial(events[: len(events) // 2], index=0))
    # The same events, as the message that the next request sends back, in OpenAI's form.
    message = maskwright.collect(events)
    print("at the end:", [call["function"] for call in message.get("tool_calls", [])])
    if not arguments.model:
        [call] = message["tool_calls"]
        given = json.loads(call["function"]["arguments"])
        assert given == {"to": ["ada@example.org", "alan@example.org"], "subject": "Tea at four", "urgent": False}


if __name__ == "__main__":
    main()

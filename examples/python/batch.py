"""Many sequences with grammars of their own, as a server has them.

Each step asks the model for all running sequences at once, and one call fills their masks, in parallel and without Python's lock. A
sequence that has ended leaves its row to the next request, so there are never more than `N_ROWS`.
"""

from datetime import date

import maskwright
import stand_in

N_ROWS = 3
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 130}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
REQUESTS = [
    ("Who was Ada Lovelace?", lambda compiler: compiler.compile_json_schema(SCHEMA)),
    ("When did people land on the moon?", lambda compiler: compiler.compile_regex(r"19[0-9]{2}-0[1-9]-[0-2][0-9]")),
    ("Is the sky blue?", lambda compiler: compiler.compile_choice(["yes", "no"])),
    ("What is two plus three, as a sum?", lambda compiler: compiler.compile_gbnf('root ::= [0-9]+ (" + " [0-9]+)+')),
    ("Who was Alan Turing?", lambda compiler: compiler.compile_json_schema(SCHEMA)),
    ("All names, please.", lambda compiler: compiler.compile_builtin("sql")),
]
SCRIPT = """Lovelace?\n<assistant>{"name": "Ada", "age": 36}</s>moon?\n<assistant>1969-07-20</s>blue?\n<assistant>yes</s>
sum?\n<assistant>2 + 3</s>Turing?\n<assistant>{"name": "Alan", "age": 41}</s>please.\n<assistant>SELECT name FROM people</s>"""


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    compiler = maskwright.Compiler(model.tokenizer)  # one for all requests; it keeps what they share
    mask = maskwright.allocate_token_bitmask(N_ROWS, model.tokenizer.vocab_size)
    waiting = list(enumerate(REQUESTS))
    running = {}  # row of the mask -> number of the request, its prompt, its matcher
    texts, n_steps = {}, 0
    while waiting or running:
        for row in range(N_ROWS):
            if row not in running and waiting:
                number, (question, compile_grammar) = waiting.pop(0)
                prompt_ids = model.prompt([{"role": "user", "content": question}])
                running[row] = number, prompt_ids, maskwright.Matcher(compile_grammar(compiler), max_tokens=60)
        rows = list(running)
        logits = model.logits([[*prompt_ids, *matcher.steps] for _, prompt_ids, matcher in running.values()])
        # The mask of the i-th matcher goes into row `rows[i]`.
        maskwright.fill_next_token_bitmask_batch([matcher for _, _, matcher in running.values()], mask, rows)
        maskwright.apply_token_bitmask_inplace(logits, mask[rows])
        for row, token in zip(rows, logits.argmax(axis=-1).tolist(), strict=True):
            number, _, matcher = running[row]
            assert matcher.accept_token(token)
            if matcher.is_terminated():
                texts[number] = matcher.text.decode()
                print(f"row {row}: {REQUESTS[number][0]}  ->  {texts[number]}")
                del running[row]
        n_steps += 1
    print(f"{len(texts)} texts in {n_steps} steps of at most {N_ROWS} rows")
    assert len(texts) == len(REQUESTS) and texts[2] in ("yes", "no")
    for number, (_, compile_grammar) in enumerate(REQUESTS):
        assert compile_grammar(compiler).check(texts[number])
    assert arguments.model or date.fromisoformat(texts[1]).year == 1969


if __name__ == "__main__":
    main()

"""An answer that quotes a document, and nothing else.

What stands between the quotation marks can only be words of the document, in their order: the grammar has a rule for each word, which leads
to the next. So a quotation is never made up. What the model says around the quotations is free.
"""

import json

import maskwright
import stand_in

DOCUMENT = """The bridge was opened in 1932. It is 1,149 metres long and carries eight lanes of traffic.
The summit of the arch is 134 metres above the water, and rises by 18 centimetres on hot days."""

QUESTION = "How high is the bridge?"

# It quotes wrongly: the document says "134 metres above the water".
SCRIPT = """<assistant>It is high: “The summit of the arch is 134 meters over the sea, and rises by 18 centimetres on hot days.” And it
is long, “1,149 metres long”.</s>"""


def citing(document):
    """The grammar of answers that quote the document, in Lark."""
    words = document.split()
    rules = [
        "start: TEXT (quote TEXT?)*",
        'TEXT: /[^“”"]+/',
        f'quote: "“" ({" | ".join(f"word_{number}" for number in range(len(words)))}) "”"',
    ]
    for number, word in enumerate(words):
        more = f' (" " word_{number + 1})?' if number + 1 < len(words) else ""
        rules.append(f"word_{number}: {json.dumps(word, ensure_ascii=False)}{more}")
    return "\n".join(rules)


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    # `capture` names rules whose texts `parse` returns.
    grammar = maskwright.Compiler(model.tokenizer).compile_lark(citing(DOCUMENT), lexer="dynamic_complete", capture=["quote"])
    request = f"{QUESTION} Quote the document between “ and ”.\n\n{DOCUMENT}"
    tokens = model.write(grammar, model.prompt([{"role": "user", "content": request}]), max_tokens=250)
    print(model.tokenizer.decode(tokens).decode())

    plain = " ".join(DOCUMENT.split())
    quotes = [capture.text.strip("“”") for capture in grammar.parse(tokens).captures]
    for quote in quotes:
        at = plain.index(quote)
        print(f"characters {at} to {at + len(quote)}: {quote}")
    assert not grammar.check("It is “134 meters” high.")
    assert quotes or arguments.model


if __name__ == "__main__":
    main()

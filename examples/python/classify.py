"""One label for a text, with the probability of each.

A choice is a grammar too: under its mask the model can only write a label. Here no text is drawn. All ways to write a label are followed,
and their probabilities, from the softmax of the masked logits, added up: how often a sample under the mask would be each label.

The mask hides what else the model would have said. So the first number says how much of the model's probability it left at the first token.
If that is tiny, the prompt doesn't lead to a label, and the probabilities mean little.
"""

from collections import Counter
from enum import Enum

import maskwright
import numpy as np
import stand_in

TEXTS = ["I was charged twice this month.", "The app closes when I open a photo.", "How do I change my address?"]


class Topic(Enum):
    BILLING = "billing"
    DEFECT = "defect"
    ACCOUNT = "account"


SCRIPT = "twice this month.\n<assistant>billing</s>open a photo.\n<assistant>defect</s>my address?\n<assistant>account</s>"


def softmax(logits):
    exponentials = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def probabilities(model, grammar, prompt_ids, least=1e-3):
    """The probability of each text of a grammar with few texts, and what the mask left at the first token.

    Ways that are less probable than `least` are not followed, so the sum is a little less than 1.
    """
    found, left = Counter(), None
    ways = [(1.0, maskwright.Matcher(grammar))]
    while ways:
        matchers = [matcher for _, matcher in ways]
        logits = model.logits([[*prompt_ids, *matcher.steps] for matcher in matchers])
        mask = maskwright.allocate_token_bitmask(len(ways), model.tokenizer.vocab_size)
        maskwright.fill_next_token_bitmask_batch(matchers, mask)
        unmasked = softmax(logits)
        maskwright.apply_token_bitmask_inplace(logits, mask)
        left = unmasked[logits > -np.inf].sum() if left is None else left
        longer = []
        for (probability, matcher), row in zip(ways, softmax(logits), strict=True):
            for token in np.flatnonzero(probability * row >= least).tolist():
                way = matcher.fork()
                assert way.accept_token(token)
                if way.is_terminated():
                    found[way.text.decode()] += probability * row[token]
                else:
                    longer.append((probability * row[token], way))
        ways = longer
    return found, left


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    grammar = maskwright.Compiler(model.tokenizer).compile_choice(Topic)
    labels = [topic.value for topic in Topic]
    for text in TEXTS:
        question = f"{text}\n\nWhat is this about? Answer with one of the words {', '.join(labels)}, in small letters.\n\n{text}"
        found, left = probabilities(model, grammar, model.prompt([{"role": "user", "content": question}]))
        [(best, _)] = found.most_common(1)
        print(f"{text}  ->  {best}")
        print(f"    {left:.3f} of the model's probability was left; " + ", ".join(f"{label} {found[label]:.2f}" for label in labels))
        assert Topic(best) in Topic and set(found) <= set(labels)
        assert 0.9 < sum(found.values()) < 1 + 1e-9


if __name__ == "__main__":
    main()

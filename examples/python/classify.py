"""One label for a text, with the probability of each.

A choice is a grammar too. Under its mask the model can only write one of the labels, so its probabilities are those of the labels. They are
computed along each label: at every token, the softmax of the logits that the mask leaves.

Two numbers for each label say different things:

* "sampled": how often a sample under the mask is this label.
* "model": how likely the model was to write it anyway. The sum says whether the model wanted any of the labels; if it is tiny, the prompt
  doesn't ask for them, and the label means little.
"""

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


def log_softmax(logits):
    logits = logits.astype(np.float64)
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def probabilities(model, grammar, prompt_ids, label):
    """The probability of a label when sampled under the mask, and the model's own."""
    matcher = maskwright.Matcher(grammar)
    mask = maskwright.allocate_token_bitmask(1, model.tokenizer.vocab_size)
    sampled = own = 0.0
    for token in model.tokenizer.encode(label):
        logits = model.logits([[*prompt_ids, *matcher.steps]])
        own += log_softmax(logits[0])[token]
        matcher.fill_next_token_bitmask(mask)
        maskwright.apply_token_bitmask_inplace(logits, mask)
        sampled += log_softmax(logits[0])[token]
        assert matcher.accept_token(token)
    return np.exp(sampled), np.exp(own)


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    grammar = maskwright.Compiler(model.tokenizer).compile_choice(Topic)
    for text in TEXTS:
        prompt_ids = model.prompt([{"role": "user", "content": f"Is this about billing, a defect or the account? {text}"}])
        table = {topic: probabilities(model, grammar, prompt_ids, topic.value) for topic in Topic}
        best = max(Topic, key=lambda topic: table[topic][0])
        print(f"{text}  ->  {best.value}")
        for topic, (sampled, own) in table.items():
            print(f"    {topic.value:8} sampled {sampled:.3f}  model {own:.3f}")

        # The labels share all of the probability, but for other ways to cut a label into tokens.
        assert sum(sampled for sampled, _ in table.values()) <= 1 + 1e-6
        # A text under the grammar is a label.
        written = model.tokenizer.decode(model.write(grammar, prompt_ids, max_tokens=20)).decode()
        assert Topic(written) in Topic


if __name__ == "__main__":
    main()

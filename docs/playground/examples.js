/** Grammars to begin with. */

const tools = [
  {
    name: "ring_bell",
    description: "Rings a bell",
    inputSchema: {
      type: "object",
      properties: { tower: { enum: ["north", "south"] }, times: { type: "integer", minimum: 1, maximum: 12 } },
      required: ["tower", "times"],
      additionalProperties: false,
    },
  },
  {
    name: "write_log",
    description: "Writes a line into the log",
    inputSchema: { type: "object", properties: { line: { type: "string", maxLength: 80 } }, required: ["line"], additionalProperties: false },
  },
];

const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 30 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    tags: { type: "array", items: { enum: ["new", "old"] }, maxItems: 2, uniqueItems: true },
  },
  required: ["name", "age"],
  additionalProperties: false,
};

const pydantic = {
  $defs: { Size: { enum: ["small", "large"], title: "Size", type: "string" } },
  properties: { item: { maxLength: 20, title: "Item", type: "string" }, size: { $ref: "#/$defs/Size" }, paid: { default: false, title: "Paid", type: "boolean" } },
  required: ["item", "size"],
  title: "Order",
  type: "object",
};

const written = (value) => JSON.stringify(value, null, 2);
const calls = (format) => ({ name: `Tool calls: ${format}`, kind: "tool_calls", source: written(tools), options: { format, tool_choice: "required" } });

export const EXAMPLES = [
  { name: "JSON Schema: a person", kind: "json_schema", source: written(person), options: {}, text: '{"name": "Ada", "age": 3' },
  { name: "JSON Schema: what Pydantic writes", kind: "json_schema", source: written(pydantic), options: {}, text: '{"item": "tea", ' },
  { name: "Regular expression: a date", kind: "regex", source: "(19|20)\\d{2}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])", options: {}, text: "2026-1" },
  {
    name: "Lark: sums",
    kind: "lark",
    source: 'start: sum\nsum: product ("+" product)*\nproduct: atom ("*" atom)*\natom: NUMBER | "(" sum ")"\nNUMBER: /[0-9]{1,4}/\n%ignore " "\n',
    options: {},
    text: "1 + (2",
  },
  { name: "GBNF: a list", kind: "gbnf", source: 'root ::= item+\nitem ::= "- " [a-z ]{1,20} "\\n"\n', options: { capture: ["item"] }, text: "- milk\n- " },
  { name: "Choices", kind: "choice", source: '["north", "northeast", "south"]', options: {}, text: "nor" },
  ...["qwen_3", "qwen_3_coder", "llama", "mistral_v13", "harmony", "deepseek_v3_1", "glm_4_5", "gemma_4", "kimi", "minimax"].map(calls),
];

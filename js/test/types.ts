// Checked by the TypeScript compiler, not run.
import { Compiler, load, Tokenizer, type Event, type Message } from "../package/index.js";
import { compilerOf, grammarProcessor } from "../package/transformers.js";

await load(new Uint8Array());
const tokenizer = Tokenizer.fromTokens(["a", new Uint8Array()], { eosTokenIds: [1] });
const compiler: Compiler = new Compiler(tokenizer, { compile_work: 5 });
const grammar = compiler.compile("tool_calls", [{ name: "f" }], { format: "qwen_3", reasoning: "auto" });
const message: Message = grammar.parse("text");
const name: string | undefined = message.calls[0]?.name;
const matcher = grammar.matcher({ maxTokens: 5 });
const logits: Float32Array = matcher.applyTo(new Float32Array(2));
const events: Event[] = matcher.events();
for (const event of events) if (event.kind === "tool") console.log(event.name, name, logits);
// @ts-expect-error: tool calls need a format
compiler.compile("tool_calls", []);
// @ts-expect-error: no such kind
compiler.compile("xml", "");
// @ts-expect-error: no such option of this kind
compiler.compile("regex", "a", { lexer: "basic" });
class Base {}
new (grammarProcessor(Base))(grammar, { maxTokens: 3 }).reset();
compilerOf({}).compile("choice", ["a"]);

// Writes the tools made of Zod 4, Zod 3 and TypeBox types to standard output, as {library: [tool, …]}.
//
// Each tool is as a server of MCP lists it: {name, inputSchema}. Types that a library cannot write as a schema are told
// on standard error, and left out.

import { z as z4 } from "zod";
import { z as z3 } from "zod/v3";
import { zodToJsonSchema } from "zod-to-json-schema";

import { types as typebox } from "./typebox_types.mjs";
import { both, four } from "./zod_types.mjs";

// The name of the library's own schema, as `JSON.stringify` writes it: symbols and functions go.
const plain = (schema) => JSON.parse(JSON.stringify(schema));

function tools(library, types, convert) {
  const found = [];
  for (const [name, type] of Object.entries(types)) {
    try {
      found.push({ name: `${library}_${name}`, inputSchema: plain(convert(type, name)) });
    } catch (error) {
      console.error(`${library}: ${name}: ${error.message.split("\n")[0]}`);
    }
  }
  return found;
}

// As servers do: what a caller writes, and what cannot be said in a schema is any value.
const inputOf = (target) => (type) => z4.toJSONSchema(type, { io: "input", unrepresentable: "any", target });
const everyOther = (types, rest) => Object.fromEntries(Object.entries(types).filter((_, index) => index % 2 === rest));
const types4 = { ...both(z4), ...four(z4) };

console.log(JSON.stringify({
  zod4: tools("zod4", types4, inputOf("draft-2020-12")),
  // The older draft, and without `$ref` where that goes, as some servers choose.
  zod4_draft7: tools("zod4d7", everyOther(types4, 0), inputOf("draft-7")),
  zod3: tools("zod3", both(z3), (type) => zodToJsonSchema(type, { strictUnions: true })),
  zod3_openai: tools("zod3oa", everyOther(both(z3), 1), (type, name) => zodToJsonSchema(type, { target: "openAi", name })),
  typebox: tools("typebox", typebox, (type) => type),
}));

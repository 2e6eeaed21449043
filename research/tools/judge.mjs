// Ajv as a judge: a process that answers line by line.
//
// A line is JSON: {"schema": …} makes this the schema to judge by, and is answered by {"ok": true} or {"error": "…"};
// {"texts": […]} is answered by {"valid": […]}: true, false, or null where Ajv itself fails.

import readline from "node:readline";

import Ajv7 from "ajv";
import Ajv2019 from "ajv/dist/2019.js";
import Ajv2020 from "ajv/dist/2020.js";
import Ajv4 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { createRequire } from "node:module";

const draft6 = createRequire(import.meta.url)("ajv/dist/refs/json-schema-draft-06.json");
const made = (constructor) => constructor.default ?? constructor;

function judgeOf(schema) {
  const named = typeof schema === "object" && schema !== null && typeof schema.$schema === "string" ? schema.$schema : "";
  const [Judge] = [["draft-04", Ajv4], ["draft-06", Ajv7], ["draft-07", Ajv7], ["2019-09", Ajv2019], ["", Ajv2020]]
    .filter(([part]) => named.includes(part)).map(([, judge]) => judge);
  const build = (unicodeRegExp) => {
    const ajv = new (made(Judge))({ strict: false, logger: false, unicodeRegExp });
    made(addFormats)(ajv);
    if (named.includes("draft-06")) ajv.addMetaSchema(draft6);
    return ajv.compile(schema);
  };
  try {
    return build(true);
  } catch (error) {
    // A pattern that is one only without the flag "u", as browsers' `pattern` had it for long.
    if (/regular expression/i.test(error.message)) return build(false);
    throw error;
  }
}

let judge = null;
for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const message = JSON.parse(line);
  let answer;
  if ("schema" in message) {
    try {
      judge = judgeOf(message.schema);
      answer = { ok: true };
    } catch (error) {
      judge = null;
      answer = { error: String(error.message).slice(0, 300) };
    }
  } else {
    answer = { valid: message.texts.map((text) => {
      try {
        return judge(JSON.parse(text));
      } catch {
        return null;
      }
    }) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}

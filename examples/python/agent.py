"""An agent: a model calls tools of an MCP server until it can answer.

The grammar comes from the server's list of tools, as `tools/list` gives it. So every call names a tool that exists, with arguments that
fit its schema, and `grammar.parse` reads it without a parser of the model's format.

By default the server is `Server`, a stub in this file with the two methods of MCP's client that an agent needs: no process, no protocol.
`--server "COMMAND"` starts a real one (`pip install "mcp>=2"`). For a real model without tools in its chat template, name a format:
`--model HuggingFaceTB/SmolLM2-135M-Instruct --format qwen_3`.
"""

import asyncio
import contextlib
import json
import shlex
from types import SimpleNamespace

import maskwright
import stand_in

QUESTION = "Is it warmer in Rome or in Oslo?"
CITY = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo", "Bern"]}}, "required": ["city"], "additionalProperties": False}


class Server:
    """A stub with one tool."""

    async def list_tools(self):
        tool = {"name": "get_temperature", "description": "The temperature of a city, in degrees Celsius", "inputSchema": CITY}
        return SimpleNamespace(tools=[tool])

    async def call_tool(self, name, arguments):
        assert name == "get_temperature"
        text = str({"Rome": 24, "Oslo": 11, "Bern": 17}[arguments["city"]])
        return SimpleNamespace(content=[SimpleNamespace(type="text", text=text)], is_error=False)


SCRIPT = """or in Oslo?
<assistant>I'll look both up.
<tool_call>
{"name": "get_temperature", "arguments": {"city": "Rome"}}
</tool_call>
<tool_call>
{"name": "get_temperature", "arguments": {"city": "Oslo"}}
</tool_call></s><tool>24
<tool>11
<assistant>It is warmer in Rome: 24 degrees, and 11 in Oslo.</s>"""


@contextlib.asynccontextmanager
async def connected(command):
    if command is None:
        yield Server()
        return
    import mcp

    program, *arguments = shlex.split(command)
    async with mcp.Client(mcp.StdioServerParameters(command=program, args=arguments)) as client:
        yield client


async def run(model, server, format, n_turns=4):
    """Asks the model until it answers without a call."""
    tools = (await server.list_tools()).tools
    compiler = maskwright.Compiler(model.tokenizer)
    # A tool whose schema cannot be enforced costs this tool, not the agent; the report says which.
    grammar = compiler.compile_tool_calls(tools, format=format, on_error="leave_out")
    described = [tool if isinstance(tool, dict) else tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
    functions = [
        {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["inputSchema"]} for tool in described
    ]
    functions = [{"type": "function", "function": function} for function in functions]
    messages = [{"role": "user", "content": QUESTION}]
    for _ in range(n_turns):
        message = grammar.parse(model.write(grammar, model.prompt(messages, functions), max_tokens=200))
        calls = [{"type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in message.calls]
        messages.append({"role": "assistant", "content": message.text, "tool_calls": calls})
        if not message.calls:
            break
        for call in message.calls:
            result = await server.call_tool(call.name, call.arguments)
            text = "\n".join(part.text for part in result.content if part.type == "text")
            print(f"{call.name}({json.dumps(call.arguments)}) -> {text}")
            messages.append({"role": "tool", "name": call.name, "content": text})
    return messages


async def main():
    parser = stand_in.parser(__doc__)
    parser.add_argument("--server", metavar="COMMAND", help="starts an MCP server, by default a stub")
    parser.add_argument("--format", help="how the model writes calls, by default as its chat template does")
    arguments = parser.parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    format = arguments.format or (None if arguments.model else "qwen_3")
    async with connected(arguments.server) as server:
        messages = await run(model, server, format)
    print(messages[-1]["content"])
    if not (arguments.model or arguments.server):
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]


if __name__ == "__main__":
    asyncio.run(main())

"""The official client of OpenAI for Python, talking to the agents of a daemon.

Usage: openai_sdk.py URL TOKEN POWERLESS_TOKEN
"""

import json
import sys

import openai

URL, TOKEN, POWERLESS = sys.argv[1:]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
WISH = [{"role": "user", "content": 'use weather {"city": "Brno"}'}]


def client(token):
    # What is to be asked again and what is not the daemon says; a retry would be a second run.
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=token)


def check_models(palyra):
    assert "default" in [model.id for model in palyra.models.list()]
    assert palyra.models.retrieve("default").owned_by == "palyra"


def check_chat(palyra):
    hello = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello there"}]
    whole = palyra.chat.completions.create(model="default", messages=hello)
    said = whole.choices[0].message.content
    assert "hello there" in said and whole.choices[0].finish_reason == "stop", whole
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0
    assert whole.id.startswith("chatcmpl-") and whole.model == "default", whole

    stream = palyra.chat.completions.create(
        model="default", messages=hello, stream=True, stream_options={"include_usage": True}
    )
    text, usage, finish = "", None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert text == said and finish == "stop" and usage.prompt_tokens > 0, (text, usage, finish)

    told = [*hello, {"role": "assistant", "content": said}, {"role": "user", "content": "and now?"}]
    again = palyra.chat.completions.create(model="default", messages=told, max_tokens=64)
    assert "and now?" in again.choices[0].message.content, again


def check_tools(palyra):
    whole = palyra.chat.completions.create(model="default", messages=WISH, tools=[WEATHER])
    assert whole.choices[0].finish_reason == "tool_calls", whole
    # The helper puts the pieces together, and knows what may come in which order.
    with palyra.chat.completions.stream(model="default", messages=WISH, tools=[WEATHER]) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert "tool_calls.function.arguments.done" in kinds, kinds
    for message in (whole.choices[0].message, final.choices[0].message):
        call = message.tool_calls[0]
        assert call.function.name == "weather", call
        assert json.loads(call.function.arguments) == {"city": "Brno"}, call
        made = {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]}
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        answer = palyra.chat.completions.create(
            model="default", messages=[*WISH, made, result], tools=[WEATHER]
        )
        said = answer.choices[0].message.content
        assert said.startswith("The tool said:") and "sunny" in said, answer


def refused(kind, code, ask):
    try:
        ask()
    except kind as error:
        assert error.code == code, (code, error.body)
        assert error.type and error.message, error.body
        return error
    raise AssertionError(f"nobody refused {code}")


def check_errors(palyra):
    def ask(of=palyra, **more):
        request = {"model": "default", "messages": WISH, **more}
        return lambda: of.chat.completions.create(**request)

    refused(openai.NotFoundError, "chat/model_not_found", ask(model="gpt-4o"))
    refused(openai.NotFoundError, "chat/model_not_found", lambda: palyra.models.retrieve("nobody"))
    refused(openai.BadRequestError, "common/invalid_input", ask(n=2))
    refused(openai.BadRequestError, "common/invalid_input", ask(messages=[]))
    own = {"type": "function", "function": {"name": "fs_read"}}
    refused(openai.BadRequestError, "common/invalid_input", ask(tools=[own]))
    refused(openai.BadRequestError, "http/malformed", ask(messages=[{"role": "nobody"}]))
    refused(openai.AuthenticationError, "auth/invalid", ask(client("ply_wrong")))
    refused(openai.PermissionDeniedError, "auth/forbidden", ask(client(POWERLESS)))
    wish = [{"role": "user", "content": 'use fs.write {"path": "a.md", "content": "x"}'}]
    asks = refused(openai.ConflictError, "chat/approval_needed", ask(messages=wish))
    assert "palyra approvals approve" in asks.message and asks.body["details"]["link"], asks.body
    try:
        for _ in ask(messages=wish, stream=True)():
            pass
        raise AssertionError("a stream ended without a word about what it waits for")
    except openai.APIError as error:
        assert error.code == "chat/approval_needed", error.body


palyra = client(TOKEN)
check_models(palyra)
check_chat(palyra)
check_tools(palyra)
check_errors(palyra)
print("content")

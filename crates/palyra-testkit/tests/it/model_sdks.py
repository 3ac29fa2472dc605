"""The official clients of OpenAI and Anthropic, talking to the model simulator.

Usage: model_sdks.py URL KEY
"""

import json
import sys

import anthropic
import openai

URL, KEY = sys.argv[1], sys.argv[2]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
WISH = 'use fs_read {"path": "notes.txt"}'


def check_openai():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    assert [model.id for model in client.models.list()] == ["sim-1"]
    hello = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello there"}]
    whole = client.chat.completions.create(model="sim-1", messages=hello)
    assert whole.choices[0].message.content == "You said: hello there", whole
    assert whole.choices[0].finish_reason == "stop" and whole.usage.total_tokens > 0, whole

    stream = client.chat.completions.create(
        model="sim-1", messages=hello, stream=True, stream_options={"include_usage": True}
    )
    text, usage = "", None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
    assert text == "You said: hello there" and usage.prompt_tokens > 0, (text, usage)

    tool = {"type": "function", "function": {"name": "fs_read", "parameters": SCHEMA}}
    wish = [{"role": "user", "content": WISH}]
    whole = client.chat.completions.create(model="sim-1", messages=wish, tools=[tool])
    assert whole.choices[0].finish_reason == "tool_calls", whole

    # The helper puts the pieces together, and knows what may come in which order.
    with client.chat.completions.stream(model="sim-1", messages=wish, tools=[tool]) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert "tool_calls.function.arguments.done" in kinds, kinds
    for message in (whole.choices[0].message, final.choices[0].message):
        call = message.tool_calls[0]
        assert call.function.name == "fs_read", call
        assert json.loads(call.function.arguments) == {"path": "notes.txt"}, call
        result = {"role": "tool", "tool_call_id": call.id, "content": "milk, bread"}
        made = {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]}
        answer = client.chat.completions.create(
            model="sim-1", messages=[*wish, made, result], tools=[tool]
        )
        assert answer.choices[0].message.content == "The tool said: milk, bread", answer

    try:
        wrong = openai.OpenAI(base_url=f"{URL}/v1", api_key="wrong", max_retries=0)
        wrong.chat.completions.create(model="sim-1", messages=hello)
        raise AssertionError("a wrong key was taken")
    except openai.AuthenticationError as error:
        assert error.code == "authentication_error", error


def check_anthropic():
    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    assert [model.id for model in client.models.list()] == ["sim-1"]
    hello = [{"role": "user", "content": "hello there"}]
    asked = {"model": "sim-1", "max_tokens": 100, "system": "be kind"}
    whole = client.messages.create(messages=hello, **asked)
    assert whole.content[0].text == "You said: hello there", whole
    assert whole.stop_reason == "end_turn" and whole.usage.output_tokens > 0, whole

    with client.messages.stream(messages=hello, **asked) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "You said: hello there" == final.content[0].text, (text, final)
    assert final.stop_reason == "end_turn" and final.usage.input_tokens > 0, final

    tool = {"name": "fs_read", "input_schema": SCHEMA}
    wish = [{"role": "user", "content": WISH}]
    whole = client.messages.create(messages=wish, tools=[tool], **asked)
    with client.messages.stream(messages=wish, tools=[tool], **asked) as stream:
        final = stream.get_final_message()
    for message in (whole, final):
        assert message.stop_reason == "tool_use", message
        call = message.content[0]
        assert (call.name, call.input) == ("fs_read", {"path": "notes.txt"}), call
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "milk, bread"}
        made = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
        turns = [
            *wish,
            {"role": "assistant", "content": [made]},
            {"role": "user", "content": [result]},
        ]
        answer = client.messages.create(messages=turns, tools=[tool], **asked)
        assert answer.content[0].text == "The tool said: milk, bread", answer

    try:
        wrong = anthropic.Anthropic(base_url=URL, api_key="wrong", max_retries=0)
        wrong.messages.create(messages=hello, **asked)
        raise AssertionError("a wrong key was taken")
    except anthropic.AuthenticationError:
        pass


check_openai()
check_anthropic()
print("both are content")

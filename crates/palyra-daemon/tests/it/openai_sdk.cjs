// The official client of OpenAI for Node, talking to the agents of a daemon.
//
// Usage: openai_sdk.cjs FOLDER URL TOKEN POWERLESS_TOKEN
"use strict";

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");

const [folder, url, token, powerless] = process.argv.slice(2);
const OpenAI = createRequire(`${folder}/`)("openai");

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { type: "function", function: { name: "weather", parameters } };
const wish = [{ role: "user", content: 'use weather {"city": "Brno"}' }];
// What is to be asked again and what is not the daemon says; a retry would be a second run.
const client = (apiKey) => new OpenAI({ baseURL: `${url}/v1`, apiKey });
const palyra = client(token);
const ask = (more, of = palyra) =>
  of.chat.completions.create({ model: "default", messages: wish, ...more });

async function checkModels() {
  const ids = [];
  for await (const model of palyra.models.list()) ids.push(model.id);
  assert(ids.includes("default"), `${ids}`);
  assert.equal((await palyra.models.retrieve("default")).owned_by, "palyra");
}

async function checkChat() {
  const messages = [
    { role: "developer", content: "be kind" },
    { role: "user", content: [{ type: "text", text: "hello there" }] },
  ];
  const whole = await ask({ messages });
  const said = whole.choices[0].message.content;
  assert(said.includes("hello there"), said);
  assert.equal(whole.choices[0].finish_reason, "stop");
  assert(whole.usage.total_tokens > 0);

  const stream = await ask({ messages, stream: true, stream_options: { include_usage: true } });
  let [text, usage, finish] = ["", null, null];
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      text += choice.delta.content ?? "";
      finish = choice.finish_reason ?? finish;
    }
  }
  assert.equal(text, said);
  assert.equal(finish, "stop");
  assert(usage.prompt_tokens > 0);
}

async function checkTools() {
  const whole = await ask({ tools: [weather] });
  assert.equal(whole.choices[0].finish_reason, "tool_calls");
  // The helper puts the pieces together.
  const helper = palyra.chat.completions.stream({
    model: "default",
    messages: wish,
    tools: [weather],
  });
  const final = await helper.finalChatCompletion();
  for (const { message } of [whole.choices[0], final.choices[0]]) {
    const [call] = message.tool_calls;
    assert.equal(call.function.name, "weather");
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "Brno" });
    const made = { role: "assistant", content: null, tool_calls: message.tool_calls };
    const result = { role: "tool", tool_call_id: call.id, content: "sunny" };
    const answer = await ask({ messages: [...wish, made, result], tools: [weather] });
    assert.match(answer.choices[0].message.content, /^The tool said:[^]*sunny/);
  }
}

async function refused(kind, code, asked) {
  const error = await asked.then(
    () => assert.fail(`nobody refused ${code}`),
    (error) => error,
  );
  assert(error instanceof kind, `${code}: ${error}`);
  assert.equal(error.code, code);
  return error;
}

async function checkErrors() {
  await refused(OpenAI.NotFoundError, "chat/model_not_found", ask({ model: "gpt-4o" }));
  await refused(OpenAI.NotFoundError, "chat/model_not_found", palyra.models.retrieve("nobody"));
  await refused(OpenAI.BadRequestError, "common/invalid_input", ask({ n: 2 }));
  await refused(OpenAI.AuthenticationError, "auth/invalid", ask({}, client("ply_wrong")));
  await refused(OpenAI.PermissionDeniedError, "auth/forbidden", ask({}, client(powerless)));
  const messages = [{ role: "user", content: 'use fs.write {"path": "b.md", "content": "x"}' }];
  const asks = await refused(OpenAI.ConflictError, "chat/approval_needed", ask({ messages }));
  assert.match(asks.message, /palyra approvals approve/);
  const streamed = async () => {
    for await (const _ of await ask({ messages, stream: true })) continue;
  };
  await refused(OpenAI.APIError, "chat/approval_needed", streamed());
}

(async () => {
  await checkModels();
  await checkChat();
  await checkTools();
  await checkErrors();
  console.log("content");
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});

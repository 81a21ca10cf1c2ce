// LangChain's chat models; the first argument selects one.

import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { ASK, EMPTY_KEY, KEY, model, run, URL, WEATHER } from './cases.mjs';

const KIND = process.argv[2];

function chat(name = 'chat', { key = KEY, ...more } = {}) {
  const shared = { model: model(name), apiKey: key, maxRetries: 0, ...more };
  return KIND === 'anthropic'
    ? new ChatAnthropic({ ...shared, anthropicApiUrl: URL, maxTokens: 200 })
    : new ChatOpenAI({
        ...shared,
        configuration: { baseURL: `${URL}/api/v1` },
        useResponsesApi: KIND === 'responses',
      });
}

const finish = ({ response_metadata: told }) => told.finish_reason ?? told.stop_reason ?? undefined;

await run({
  async simple() {
    const answer = await chat().invoke(ASK);
    return { text: answer.text, finish: finish(answer) };
  },
  async stream() {
    let whole;
    for await (const chunk of await chat().stream(ASK)) {
      whole = whole === undefined ? chunk : whole.concat(chunk);
    }
    return { text: whole.text };
  },
  async tools() {
    const weather = { name: 'weather', description: 'Tells the weather', schema: WEATHER };
    const bound = chat().bindTools([weather]);
    const call = await bound.invoke(ASK);
    const [{ id, args }] = call.tool_calls;
    const result = new ToolMessage({ content: 'sunny', tool_call_id: id });
    const answer = await bound.invoke([new HumanMessage(ASK), call, result]);
    return { city: args.city, text: answer.text };
  },
  async structured() {
    const wanted = chat('structured').withStructuredOutput(WEATHER, {
      name: 'weather',
      method: 'jsonSchema',
    });
    return { city: (await wanted.invoke(ASK)).city };
  },
  async usage() {
    const { usage_metadata: told } = await chat('cached').invoke(ASK);
    return {
      input: told.input_tokens,
      output: told.output_tokens,
      cached: told.input_token_details?.cache_read,
    };
  },
  'wrong key': () => chat('chat', { key: 'sk-tg-v1-wrong' }).invoke(ASK),
  'no credits': () => chat('chat', { key: EMPTY_KEY }).invoke(ASK),
  'bad request': () => chat('chat', { temperature: 9 }).invoke(ASK),
  'unknown model': () => chat('none').invoke(ASK),
  'rate limit': () => chat('limited').invoke(ASK),
  'provider fails': () => chat('failing').invoke(ASK),
  async 'breaks off'() {
    for await (const _ of await chat('breaking').stream(ASK)) {
      // read to the end, which never comes
    }
  },
  async cancel() {
    const left = new AbortController();
    let chunks = 0;
    try {
      for await (const _ of await chat('patient').stream(ASK, { signal: left.signal })) {
        chunks += 1;
        if (chunks === 3) {
          left.abort();
          break;
        }
      }
    } catch (error) {
      if (!left.signal.aborted) {
        throw error;
      }
    }
    return { chunks };
  },
  'time-out': () => chat('slow').invoke(ASK, { timeout: 500 }),
  async embeddings() {
    const embeddings = new OpenAIEmbeddings({
      model: 'tollgate/embed',
      apiKey: KEY,
      configuration: { baseURL: `${URL}/api/v1` },
    });
    return { dimensions: (await embeddings.embedQuery(ASK)).length };
  },
});

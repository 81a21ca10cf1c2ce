import type { ZodType } from 'zod';
import { validateInSteps } from '../../src/http/input/validate-in-steps.ts';
import { chatRequest } from '../../src/invocation/chat.schema.ts';
import { chatRequestToMessages } from '../../src/invocation/dialects/chat-request-to-messages.ts';
import { PLAIN_RULES } from '../../src/invocation/dialects/model-rules.ts';
import { isStrictSchema } from '../../src/invocation/dialects/strict-schema.ts';
import { translateRequest } from '../../src/invocation/dialects/translate-request.ts';
import { untranslatedMembers } from '../../src/invocation/dialects/untranslated-members.ts';
import { inputContent } from '../../src/invocation/input-content.ts';
import { messagesRequest } from '../../src/invocation/messages.schema.ts';
import { applyRequestPolicy } from '../../src/invocation/request-policy.ts';
import { type ResponsesBody, responsesRequest } from '../../src/invocation/responses/responses.schema.ts';
import { responsesRequestToChat } from '../../src/invocation/responses/responses-request-to-chat.ts';
import { jsonInSteps } from '../../src/lib/json-text.ts';
import { atOnce } from '../../src/lib/steps.ts';
import type { JsonObject } from '../../src/providers/json.ts';

/** As many as one list of an admissible body can hold. */
const COUNT = 32_000;

const many = <T>(item: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, index) => item(index));
const named = (index: number) => ({ type: 'function', function: { name: `f${index}` } });
const say = (content: string) => ({ type: 'message', role: 'system' as const, content });
const callItem = (index: number) => ({
  type: 'function_call',
  call_id: `c${index}`,
  name: 'f',
  arguments: '{}',
});

const allowed = {
  messages: [{ role: 'user', content: 'x' }],
  tools: many(named),
  tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: many(named) } },
};
const schema = {
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(many((index) => [`p${index}`, {}])),
  required: many((index) => `p${index}`),
};

/** Returns what the work returns, and the processor time of this process meanwhile, in ms. */
function processorTime<T>(work: () => T): { result: T; ms: number } {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return { result, ms: (user + system) / 1000 };
}

/** These took seconds each when every item was compared with, or copied behind, every other one. */
test.each<[string, () => unknown]>([
  [
    'calls in a row',
    () => atOnce(responsesRequestToChat({ model: 'm', input: many(callItem) })).chat.messages,
  ],
  [
    'instructions in a row',
    () =>
      atOnce(responsesRequestToChat({ model: 'm', input: many((index) => say(`${index}`)) })).chat.messages,
  ],
  ['a choice of many tools', () => atOnce(applyRequestPolicy('chat', allowed))],
  ['a choice of many tools, for messages', () => atOnce(chatRequestToMessages(allowed, 1, PLAIN_RULES))],
  ['a schema of many members', () => isStrictSchema(schema)],
])('needs only linear work for %s', (_, work) => {
  // the fastest of three: the first run compiles the code, and any of them may include a garbage collection
  const runs = Array.from({ length: 3 }, () => processorTime(work));
  expect(runs.every(({ result }) => Boolean(result))).toBe(true);
  expect(Math.min(...runs.map(({ ms }) => ms))).toBeLessThan(1_000);
});

test('merges consecutive items into one message', () => {
  const input = [say('a'), say('b'), say('c'), callItem(0), callItem(1), callItem(2)];
  const { messages } = atOnce(responsesRequestToChat({ model: 'm', input })).chat;
  expect(messages).toEqual([
    { role: 'system', content: ['a', 'b', 'c'].map((text) => ({ type: 'text', text })) },
    {
      role: 'assistant',
      content: null,
      tool_calls: ['c0', 'c1', 'c2'].map((id) => ({
        id,
        type: 'function',
        function: { name: 'f', arguments: '{}' },
      })),
    },
  ]);
});

describe('in steps', () => {
  const TEXT = 'word '.repeat(8);
  const part = (index: number) => ({ type: 'text', text: `${TEXT}${index}` });
  const turn = (index: number) => ({ role: index % 2 ? 'assistant' : 'user', content: `${TEXT}${index}` });
  const messages = { model: 'm', messages: many(turn) };
  const parts = { model: 'm', messages: [{ role: 'user', content: many(part) }] };
  const items = many((index) => ({ type: 'message', role: 'user' as const, content: `${TEXT}${index}` }));

  /** On a busy or slow machine all steps take longer, and garbage collections hit some of them, but no step takes most of its stage. */
  const MOST_OF_STAGE = 0.7;

  /** Ms of processor time. */
  interface Stage {
    readonly longest: number;
    readonly total: number;
  }

  const isLong = ({ longest, total }: Stage) => longest >= 20 && longest > total * MOST_OF_STAGE;

  /** Measures each stage of a request until it is sent. */
  class Stopwatch {
    readonly stages = new Map<string, Stage>();

    run<T>(stage: string, steps: Iterator<unknown, T>): T {
      for (;;) {
        const {
          result: { done, value },
          ms,
        } = processorTime(() => steps.next());
        const { longest, total } = this.stages.get(stage) ?? { longest: 0, total: 0 };
        this.stages.set(stage, { longest: Math.max(longest, ms), total: total + ms });
        if (done) {
          return value;
        }
      }
    }
  }

  function pass(dialect: 'chat' | 'messages', schema: ZodType, sent: object): Stopwatch {
    const watch = new Stopwatch();
    const checked = watch.run('validate', validateInSteps(schema, sent)) as JsonObject;
    const asked =
      schema === responsesRequest
        ? watch.run('responses to chat', responsesRequestToChat(checked as ResponsesBody))
        : { chat: checked, native: undefined };
    const { body } = watch.run('policy', applyRequestPolicy(dialect, asked.chat));
    for (const to of ['chat', 'messages', 'responses'] as const) {
      const more = { maxOutputTokens: 1, reasoning: true, rules: PLAIN_RULES, betas: [] };
      const translation = { from: dialect, to, native: asked.native, ...more };
      const outgoing = watch.run(`translate to ${to}`, translateRequest(body, translation));
      watch.run(`unsaid in ${to}`, untranslatedMembers(body, translation));
      watch.run('take apart', inputContent(outgoing));
      watch.run('write', jsonInSteps(outgoing));
    }
    return watch;
  }

  test.each<[string, 'chat' | 'messages', ZodType, object]>([
    ['messages of a chat', 'chat', chatRequest, messages],
    ['parts of a chat', 'chat', chatRequest, parts],
    ['messages', 'messages', messagesRequest, messages],
    ['items', 'chat', responsesRequest, { model: 'm', input: items }],
  ])('32,000 %s never hold the event loop for 20 ms', (_, dialect, schema, sent) => {
    const longStages = () =>
      new Map([...pass(dialect, schema, sent).stages].filter(([, stage]) => isLong(stage)));
    let long = longStages();
    // garbage of other code and compilation are not steps of this work, so only a stage that is long three times counts
    for (let run = 2; run <= 3 && long.size > 0; run += 1) {
      const before = long;
      long = new Map([...longStages()].filter(([stage]) => before.has(stage)));
    }
    expect(long).toEqual(new Map());
  });
});

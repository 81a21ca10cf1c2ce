import fc from 'fast-check';
import { around, type MeteredCall, max_tokens, spoken, text } from './metering-calls.ts';

const image = fc.record({
  type: fc.constant('input_image'),
  image_url: fc.constantFrom('https://x.example/a.png', 'data:image/png;base64,AAAA'),
  detail: text,
});
const file = fc.record(
  {
    type: fc.constant('input_file'),
    file_data: fc.constantFrom('data:application/pdf;base64,JVBE', 'AAAA'),
    file_url: fc.constant('https://x.example/y.pdf'),
    filename: text,
    file_id: text,
  },
  { requiredKeys: ['type'] },
);
const part = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constantFrom('input_text', 'output_text'), text }) },
  image,
  file,
  fc.record({ type: fc.constantFrom('refusal', 'summary_text', 'odd'), text, refusal: text }),
);
const content = fc.oneof(text, fc.array(part, { minLength: 1, maxLength: 3 }));
const message = fc.record({
  type: fc.constantFrom('message', undefined),
  role: fc.constantFrom('user', 'user', 'assistant', 'system', 'developer'),
  content,
  id: text,
});
const call_id = fc.oneof(text, fc.constant('call_1'));
const item = fc.oneof(
  { weight: 6, arbitrary: message },
  fc.record({ type: fc.constant('function_call'), call_id, name: fc.constant('f'), arguments: text }),
  fc.record({ type: fc.constant('custom_tool_call'), call_id, name: fc.constant('f'), input: text }),
  fc.record({ type: fc.constant('function_call_output'), call_id, output: content }),
  fc.record({
    type: fc.constant('reasoning'),
    summary: fc.array(fc.record({ type: fc.constant('summary_text'), text }), { maxLength: 1 }),
    encrypted_content: text,
  }),
  fc.record({ type: fc.constantFrom('item_reference', 'web_search_call', 'odd'), id: text, content: text }),
);
const named = { name: fc.constant('f'), description: text, parameters: fc.record({ description: text }) };
const tool = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('function'), ...named }) },
  fc.record({ type: fc.constant('custom'), ...named, format: fc.record({ definition: text }) }),
  fc.record({
    type: fc.constant('namespace'),
    name: text,
    tools: fc.array(fc.record({ type: fc.constant('function'), ...named }), { maxLength: 1 }),
  }),
);
const more = fc.record(
  {
    instructions: text,
    tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
    text: fc.record({
      format: fc.record({
        type: fc.constant('json_schema'),
        name: fc.constant('n'),
        schema: fc.record({ a: text }),
      }),
    }),
    metadata: fc.record({ a: text }),
    prompt_cache_key: text,
    n_predict: fc.constant(20_000),
    service_tier: fc.constant('priority'),
    max_tool_calls: fc.constant(9),
    documents: fc.array(fc.record({ text }), { maxLength: 2 }),
    chat_template_kwargs: fc.record({ a: text }),
    messages: text,
    stop: fc.array(text, { maxLength: 1 }),
  },
  { requiredKeys: [] },
);

/** Calls in the Responses dialect, of every shape. */
export const responsesCall: fc.Arbitrary<MeteredCall> = fc
  .record({
    input: fc.oneof(text, { weight: 4, arbitrary: fc.array(item, { minLength: 1, maxLength: 4 }) }),
    kind: fc.constantFrom('bounded', 'bounded', 'unbounded', 'text'),
    to: spoken('chat', 'messages'),
    stream: fc.boolean(),
    max_output_tokens: max_tokens,
    more,
    ...around,
  })
  .map(({ input, kind, to, stream, max_output_tokens, more: others, ...rest }) => {
    const body = { ...others, model: `${to}-${kind}`, stream, max_output_tokens, input };
    return { path: '/api/v1/responses', bodyOf: (user) => ({ ...body, user }), ...rest };
  });

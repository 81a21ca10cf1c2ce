import fc from 'fast-check';

/** A call that a hostile tenant might make. */
export interface MeteredCall {
  readonly path: '/api/v1/chat/completions' | '/v1/messages' | '/api/v1/responses';
  /** The provider bills it under the name of `user`. */
  readonly bodyOf: (user: string) => object;
  /** USD text. */
  readonly maxCost: string | undefined;
  /** The balance of its account, USD text. */
  readonly balance: string;
  /** Bytes of the answer after which the client hangs up; a value below 20 also hangs up after that many ms. */
  readonly leaveAfter: number | undefined;
}

const LONG = 'the quick brown fox jumps over the lazy dog '.repeat(60);
export const text = fc.oneof(
  fc.constantFrom(
    '',
    'hi',
    LONG,
    LONG.repeat(4),
    '条约是在双方多年耐心工作之后',
    '{"a":[1,2]}'.repeat(40),
    'x9Kq'.repeat(200),
    '40213,71998\n'.repeat(60),
    '\n'.repeat(1_500),
  ),
  fc.string({ maxLength: 40 }),
);
const type = fc.constantFrom(
  'text',
  'image',
  'image_url',
  'tool_use',
  'document',
  'file',
  'tool_result',
  'odd',
);
const oddMembers = fc.dictionary(
  fc.constantFrom('type', 'id', 'documents', 'input', 'x', 'annotations', 'tool_call_id', 'name'),
  text,
  { maxKeys: 1 },
);
const part = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('text'), text }) },
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: fc.constantFrom('https://x.example/a.png', 'data:image/png;base64,AAAA') }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({
      file_data: fc.constantFrom('data:application/pdf;base64,JVBE', 'https://x.example/y.pdf'),
    }),
  }),
  fc.record({ type: fc.constant('file'), file: fc.record({ file_id: text }) }),
  fc.record({
    type: fc.constant('video_url'),
    video_url: fc.record({ url: fc.constantFrom('https://x.example/v.mp4', `https://x.example/${LONG}`) }),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: fc.constant('AAAA'), format: fc.constant('wav') }),
  }),
  fc.record({
    type,
    text,
    source: fc.record({
      type: fc.constantFrom('url', 'text', 'base64', 'file'),
      data: text,
      media_type: text,
    }),
  }),
);
const chatMessage = fc.tuple(
  fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'developer'),
    content: fc.oneof(
      { weight: 2, arbitrary: text },
      { weight: 2, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }) },
    ),
  }),
  oddMembers,
);

/** Picks about every fourth member. */
function some<Value>(members: Record<string, fc.Arbitrary<Value>>): fc.Arbitrary<object> {
  return fc
    .record(members, { requiredKeys: [] })
    .map((value) => Object.fromEntries(Object.entries(value).filter((_, index) => index % 4 === 0)));
}

const moreOfChat = some<unknown>({
  n_predict: fc.constant(20_000),
  min_tokens: fc.constant(300),
  priority: fc.constant(-5),
  unknown: fc.oneof(text, fc.record({ a: text })),
  extra_body: fc.record({ documents: text }),
  chat_template: text,
  chat_template_kwargs: fc.record({ a: text }),
  documents: fc.array(fc.record({ text }), { maxLength: 2 }),
  functions: fc.array(fc.record({ name: text, description: text }), { minLength: 1, maxLength: 2 }),
  stop: fc.array(text, { maxLength: 2 }),
  metadata: fc.record({ a: text }),
  logit_bias: fc.dictionary(text, fc.constant(1), { maxKeys: 1 }),
  response_format: fc.record({
    type: fc.constant('json_schema'),
    json_schema: fc.record({ name: text }),
  }),
  tools: fc.array(
    fc.record({
      type: fc.constant('function'),
      function: fc.record({ name: fc.constant('f'), description: text }),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  prompt_cache_key: text,
  seed: fc.oneof({ weight: 7, arbitrary: fc.constant(7) }, text),
});

const source = fc.oneof(
  fc.record({
    type: fc.constant('base64'),
    media_type: fc.constantFrom('image/png', 'application/pdf', 'text/plain', LONG),
    data: fc.constantFrom('AAAA', 'JVBE'),
  }),
  fc.record({
    type: fc.constant('url'),
    url: fc.constantFrom('https://x.example/a', `https://x.example/${LONG}`),
  }),
  fc.record({ type: fc.constant('text'), media_type: fc.constant('text/plain'), data: text }),
  fc.record({ type: fc.constant('content'), content: text }),
  fc.record({ type: fc.constantFrom('file', 'odd'), file_id: text }),
);
const mark = fc.option(
  fc.record(
    { type: fc.constantFrom('ephemeral', LONG), ttl: fc.constantFrom('5m', '1h') },
    { requiredKeys: ['type'] },
  ),
  { nil: undefined },
);
const textBlock = fc.record(
  { type: fc.constant('text'), text, cache_control: mark, citations: fc.constant(null) },
  { requiredKeys: ['type', 'text'] },
);
const image = fc.record({ type: fc.constant('image'), source });
const document = fc.record(
  { type: fc.constant('document'), source, title: text, context: text, cache_control: mark },
  { requiredKeys: ['type', 'source'] },
);
const block = fc.oneof(
  { weight: 10, arbitrary: textBlock },
  { weight: 3, arbitrary: image },
  { weight: 3, arbitrary: document },
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.oneof(text, fc.constant('toolu_1')),
    name: fc.constantFrom('f', 'look_up'),
    input: fc.oneof(fc.record({ a: text }), fc.dictionary(text, text, { maxKeys: 1 })),
  }),
  fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: fc.oneof(text, fc.constant('toolu_1')),
    content: fc.oneof(text, fc.array(fc.oneof(textBlock, image, document), { maxLength: 2 })),
  }),
  fc.record({ type: fc.constant('thinking'), thinking: text, signature: text }),
  fc.record({ type: fc.constant('redacted_thinking'), data: text }),
  fc.record({
    type: fc.constant('search_result'),
    source: text,
    title: text,
    content: fc.array(textBlock, { maxLength: 2 }),
  }),
  // members of other types, and types that do not exist
  fc.record({ type, text, source, content: text, input: fc.record({ a: text }) }, { requiredKeys: ['type'] }),
);
const turn = fc.tuple(
  fc.record({
    role: fc.constantFrom(
      'user',
      'user',
      'user',
      'assistant',
      'assistant',
      'assistant',
      'assistant',
      'system',
    ),
    content: fc.oneof(text, fc.array(block, { minLength: 1, maxLength: 3 })),
  }),
  oddMembers,
);
const moreOfMessages = some<unknown>({
  system: fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: 2 })),
  tools: fc.array(
    fc.record(
      { name: fc.constant('f'), description: text, input_schema: fc.record({ description: text }), x: text },
      { requiredKeys: ['name'] },
    ),
    { minLength: 1, maxLength: 2 },
  ),
  stop_sequences: fc.array(text, { maxLength: 2 }),
  service_tier: fc.constant('priority'),
  thinking: fc.record({ type: fc.constantFrom('enabled', 'adaptive'), budget_tokens: fc.constant(1_024) }),
  output_config: fc.record({
    format: fc.record({ type: fc.constant('json_schema'), schema: fc.record({ a: text }) }),
  }),
  cache_control: mark,
  context_management: fc.record({ edits: fc.array(text, { maxLength: 1 }) }),
  top_k: fc.nat(),
  unknown: fc.oneof(text, fc.record({ a: text })),
  documents: fc.array(fc.record({ text }), { maxLength: 2 }),
});

/** Members rejected by their name alone. */
const refusedMembers = fc.oneof(
  { weight: 15, arbitrary: fc.constant({}) },
  fc.record({ mcp_servers: fc.array(fc.record({ url: text }), { minLength: 1, maxLength: 1 }) }),
  fc.record({ container: text }),
);

const kind = fc.constantFrom('bounded', 'bounded', 'unbounded', 'text');
export const spoken = <Own extends string>(own: Own, other: string) => fc.constantFrom(own, own, own, other);
export const max_tokens = fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined });
export const around = {
  maxCost: fc.option(fc.constantFrom('0.0002', '0.002', '0.02'), { nil: undefined }),
  balance: fc.constantFrom('0.0005', '0.003', '0.01', '1', '1', '1'),
  leaveAfter: fc.option(
    fc.oneof(fc.integer({ min: 0, max: 19 }), { weight: 3, arbitrary: fc.integer({ min: 20, max: 3_000 }) }),
    { nil: undefined },
  ),
};

/** Calls in the chat dialect, of every shape. Most providers speak chat, the others messages. */
export const chatCall: fc.Arbitrary<MeteredCall> = fc
  .record({
    said: fc.array(chatMessage, { minLength: 1, maxLength: 4 }),
    kind,
    to: spoken('chat', 'messages'),
    stream: fc.boolean(),
    max_tokens,
    more: moreOfChat,
    ...around,
  })
  .map(({ said, kind: of, to, stream, max_tokens: cap, more, ...rest }) => {
    const messages = said.map(([message, odd]) => ({ ...odd, ...message }));
    const body = { ...more, model: `${to}-${of}`, stream, max_tokens: cap, messages };
    return { path: '/api/v1/chat/completions', bodyOf: (user) => ({ ...body, user }), ...rest };
  });

/** Calls in the messages dialect, of every shape. Most providers speak messages, the others chat. */
export const messagesCall: fc.Arbitrary<MeteredCall> = fc
  .record({
    said: fc.array(turn, { minLength: 1, maxLength: 4 }),
    kind,
    to: spoken('messages', 'chat'),
    stream: fc.boolean(),
    max_tokens,
    more: moreOfMessages,
    refused: refusedMembers,
    ...around,
  })
  .map(({ said, kind: of, to, stream, max_tokens: cap, more, refused, ...rest }) => {
    const messages = said.map(([message, odd]) => ({ ...odd, ...message }));
    const body = { ...more, ...refused, model: `${to}-${of}`, stream, max_tokens: cap, messages };
    return { path: '/v1/messages', bodyOf: (user) => ({ ...body, metadata: { user_id: user } }), ...rest };
  });

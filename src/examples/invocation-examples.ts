import { GENERATION, USAGE } from './example-ids.ts';

const RESPONSES_USAGE = {
  ...USAGE,
  input_tokens_details: { cached_tokens: 1000 },
  output_tokens_details: { reasoning_tokens: 0 },
  cost: 0.000315,
};

/** Examples for chat, messages, responses, embeddings and rerank, by schema. */
export const INVOCATION_EXAMPLES = {
  RerankRequest: {
    model: 'acme/rank',
    query: 'Where do I pay?',
    documents: ['The toll gate is at the bridge.', 'The bridge is closed on Sundays.'],
    top_n: 1,
    return_documents: true,
  },
  RerankAnswer: {
    id: GENERATION,
    model: 'acme/rank',
    results: [{ index: 0, relevance_score: 0.91, document: { text: 'The toll gate is at the bridge.' } }],
    usage: {
      ...USAGE,
      output_tokens: 0,
      total_tokens: 1200,
      cache_read_tokens: 0,
      reasoning_tokens: 0,
      prompt_tokens: 1200,
      cost: 0.000024,
    },
  },
  ChatRequest: {
    model: 'tollgate/small',
    messages: [
      { role: 'system', content: 'Answer in one sentence.' },
      { role: 'user', content: 'What is a toll gate?' },
    ],
    max_tokens: 100,
  },
  ChatCompletion: {
    id: GENERATION,
    object: 'chat.completion',
    created: 1_795_253_400,
    model: 'tollgate/small',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'A gate that opens for those who have paid.' },
        finish_reason: 'stop',
      },
    ],
    usage: {
      ...USAGE,
      prompt_tokens: 1200,
      completion_tokens: 350,
      prompt_tokens_details: { cached_tokens: 1000 },
      completion_tokens_details: { reasoning_tokens: 0 },
      cost: 0.000315,
    },
  },
  MessagesRequest: {
    model: 'tollgate/small',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'What is a toll gate?' }],
  },
  MessageTokenCount: { input_tokens: 12 },
  ResponseTokenCount: { object: 'response.input_tokens', input_tokens: 12 },
  Message: {
    id: GENERATION,
    type: 'message',
    role: 'assistant',
    model: 'tollgate/small',
    content: [{ type: 'text', text: 'A gate that opens for those who have paid.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      ...USAGE,
      input_tokens: 200,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 0,
      cost: 0.000315,
    },
  },
  ResponsesRequest: {
    model: 'tollgate/small',
    instructions: 'Answer in one sentence.',
    input: 'What is a toll gate?',
    max_output_tokens: 100,
    store: false,
  },
  Response: {
    id: GENERATION,
    object: 'response',
    created_at: 1_795_253_400,
    completed_at: 1_795_253_400,
    status: 'completed',
    model: 'tollgate/small',
    output: [
      {
        id: `msg_${GENERATION.slice('gen-'.length)}_0`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'A gate that opens for those who have paid.',
            annotations: [],
            logprobs: [],
          },
        ],
      },
    ],
    incomplete_details: null,
    error: null,
    usage: RESPONSES_USAGE,
  },
  ResponseCompaction: {
    id: GENERATION,
    object: 'response.compaction',
    created_at: 1_795_253_400,
    output: [
      {
        id: 'msg_0',
        type: 'message',
        status: 'completed',
        role: 'user',
        content: [{ type: 'input_text', text: 'What is a toll gate?' }],
      },
      {
        id: `cmp_${GENERATION.slice('gen-'.length)}`,
        type: 'compaction',
        encrypted_content: 'tg1.eyJzdW1tYXJ5IjoiVGhlIHVzZXIgYXNrcyBhYm91dCB0b2xsIGdhdGVzLiJ9',
      },
    ],
    usage: RESPONSES_USAGE,
  },
  EmbeddingsRequest: { model: 'tollgate/embed', input: ['a toll gate', 'a bridge'], dimensions: 4 },
  EmbeddingsAnswer: {
    id: GENERATION,
    object: 'list',
    data: [
      { object: 'embedding', index: 0, embedding: [0.5, -0.5, 0.5, 0.5] },
      { object: 'embedding', index: 1, embedding: [0.5, 0.5, -0.5, 0.5] },
    ],
    model: 'tollgate/embed',
    usage: {
      input_tokens: 5,
      output_tokens: 0,
      total_tokens: 5,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      prompt_tokens: 5,
      cost: 0.0000001,
    },
  },
};

const chunk = (members: object): string =>
  `data: ${JSON.stringify({
    id: GENERATION,
    object: 'chat.completion.chunk',
    created: 1_795_253_400,
    model: 'tollgate/small',
    ...members,
  })}\n\n`;

/** A short chat completion with `stream: true`. */
export const CHAT_STREAM = [
  chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: { content: 'A gate.' }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: INVOCATION_EXAMPLES.ChatCompletion.usage }),
  'data: [DONE]\n\n',
].join('');

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** The same stream in the format of the messages API. */
export const MESSAGE_STREAM = [
  event('message_start', { message: { ...INVOCATION_EXAMPLES.Message, content: [], stop_reason: null } }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'A gate.' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: INVOCATION_EXAMPLES.Message.usage }),
  event('message_stop', {}),
].join('');

const [RESPONSE_ITEM] = INVOCATION_EXAMPLES.Response.output;
const response = (members: object) => ({ response: { ...INVOCATION_EXAMPLES.Response, ...members } });

/** The same stream in the format of the responses API, without the events about content parts. */
export const RESPONSE_STREAM = [
  event('response.created', {
    sequence_number: 0,
    ...response({ status: 'in_progress', output: [], usage: null }),
  }),
  event('response.output_item.added', { sequence_number: 1, output_index: 0, item: RESPONSE_ITEM }),
  event('response.output_text.delta', {
    sequence_number: 2,
    output_index: 0,
    content_index: 0,
    delta: 'A gate.',
  }),
  event('response.output_item.done', { sequence_number: 3, output_index: 0, item: RESPONSE_ITEM }),
  event('response.completed', { sequence_number: 4, ...response({}) }),
].join('');

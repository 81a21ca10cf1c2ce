/**
 * Requests as they are sent by clients that no test suite runs. Fields, order and headers are copied as facts from their source code.
 * When a client changes what it sends, change its row here.
 */

export interface ClientShape {
  readonly client: string;
  readonly call: string;
  readonly path: string;
  /** Headers in addition to the key and the content type. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Fields that have no effect and are listed in X-Ignored-Parameters, whatever protocol the provider speaks. */
  readonly told?: readonly string[];
  /** Paths into the usage that the client reads. Each must be a number. */
  readonly usage?: readonly string[];
}

const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const MARK = { cache_control: { type: 'ephemeral' } };
const OPENAI_USAGE = ['prompt_tokens', 'completion_tokens', 'total_tokens'];
const CACHED = 'prompt_tokens_details.cached_tokens';

function tool(name: string, strict?: boolean) {
  const parameters = {
    type: 'object',
    properties: { path: { type: 'string', description: 'Relative to the workspace' } },
    required: ['path'],
    additionalProperties: false,
  };
  return {
    type: 'function',
    function: {
      name,
      description: 'Reads a file',
      ...(strict !== undefined && { strict }),
      parameters,
    },
  };
}

/** A chat in which the assistant has read a file. */
function turns(id: string, content: unknown = 'contents') {
  return [
    { role: 'user', content: 'What is in notes.txt?' },
    {
      role: 'assistant',
      content: 'I read it.',
      tool_calls: [
        { id, type: 'function', function: { name: 'read_file', arguments: '{"path":"notes.txt"}' } },
      ],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
}

const CHAT = '/api/v1/chat/completions';
const STREAM = { stream: true, stream_options: { include_usage: true } };

/** Open WebUI: routers/openai.py, utils/payload.py, utils/task.py, retrieval/utils.py. */
const OPEN_WEBUI: readonly ClientShape[] = [
  {
    client: 'Open WebUI',
    call: 'a chat with an image and every setting of its panel',
    path: CHAT,
    headers: {
      'X-OpenWebUI-User-Name': 'Ada%20Lovelace',
      'X-OpenWebUI-User-Id': '6a0c2f1e-9d7f-4a55-9c5c-0d2f5c7b1a11',
      'X-OpenWebUI-User-Email': 'ada@example.com',
      'X-OpenWebUI-User-Role': 'user',
      'X-OpenWebUI-Chat-Id': '3f6f2d52-33aa-4b7a-8ed3-a4c1f3d2f0aa',
    },
    body: {
      ...STREAM,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: PICTURE } },
          ],
        },
      ],
      temperature: 0.8,
      top_p: 0.9,
      max_tokens: 128,
      frequency_penalty: 0,
      presence_penalty: 0,
      seed: 7,
      stop: ['###'],
      logit_bias: { 5432: 100 },
      response_format: { type: 'text' },
    },
    usage: OPENAI_USAGE,
  },
  {
    client: 'Open WebUI',
    call: 'tools of its own, called natively',
    path: CHAT,
    body: { ...STREAM, messages: turns('call_8fK2mQ1xZpL0'), tools: [tool('read_file')] },
    usage: OPENAI_USAGE,
  },
  {
    client: 'Open WebUI',
    call: 'what custom parameters, filters and pipes add',
    path: CHAT,
    body: {
      ...STREAM,
      messages: [{ role: 'user', content: 'hi' }],
      chat_id: '3f6f2d52-33aa-4b7a-8ed3-a4c1f3d2f0aa',
      session_id: 'kZ8vAAAB',
      id: '5f0d',
      features: { web_search: false, image_generation: false },
      metadata: { user_id: '6a0c', chat_id: '3f6f', files: null, features: { web_search: false } },
      num_ctx: 8_192,
      keep_alive: '5m',
    },
    told: ['chat_id', 'features', 'id', 'keep_alive', 'metadata', 'num_ctx', 'session_id'],
    usage: OPENAI_USAGE,
  },
  {
    client: 'Open WebUI',
    call: 'a connection of type Responses',
    path: '/api/v1/responses',
    body: {
      stream: true,
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: PICTURE, detail: 'auto' },
          ],
        },
        { type: 'function_call', call_id: 'call_8fK2', name: 'read_file', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_8fK2', output: 'contents' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A dot.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And this?' }] },
      ],
      temperature: 0.8,
      max_output_tokens: 128,
      tools: [{ type: 'function', name: 'read_file', parameters: { type: 'object' }, strict: false }],
    },
    usage: ['input_tokens', 'output_tokens', 'total_tokens'],
  },
  {
    client: 'Open WebUI',
    call: 'a title for the chat',
    path: CHAT,
    body: {
      stream: false,
      max_completion_tokens: 1_000,
      messages: [{ role: 'user', content: '### Task:\nGenerate a concise, 3-5 word title' }],
    },
    usage: OPENAI_USAGE,
  },
  {
    client: 'Open WebUI',
    call: 'texts for its search',
    path: '/api/v1/embeddings',
    body: { model: 'vectors', input: ['a page', 'another page'] },
  },
];

/** n8n: nodes-langchain, LmChatOpenAi.node.ts with @langchain/openai, and the OpenAI node's v2/actions/text. */
const N8N: readonly ClientShape[] = [
  {
    client: 'n8n',
    call: 'the chat model of an agent',
    path: CHAT,
    headers: { 'x-stainless-lang': 'js', 'x-stainless-retry-count': '0' },
    body: {
      temperature: 0.7,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      n: 1,
      ...STREAM,
      tools: [tool('read_file')],
      messages: turns('call_8fK2mQ1xZpL0'),
    },
    usage: [...OPENAI_USAGE, CACHED],
  },
  {
    client: 'n8n',
    call: 'the chat model of a chain, answers as JSON',
    path: CHAT,
    body: {
      temperature: 0.7,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      n: 1,
      stream: false,
      response_format: { type: 'json_object' },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Answer in JSON.' }] }],
    },
    usage: OPENAI_USAGE,
  },
  {
    client: 'n8n',
    call: 'the OpenAI node, which speaks Responses',
    path: '/api/v1/responses',
    body: {
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'Answer in JSON.' }] },
        {
          role: 'user',
          content: [{ type: 'input_image', detail: 'auto', image_url: PICTURE }],
        },
      ],
      parallel_tool_calls: true,
      store: true,
      max_output_tokens: 16,
      service_tier: 'auto',
      temperature: 1,
      top_p: 1,
      max_tool_calls: 15,
      background: false,
      truncation: 'disabled',
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tools: [
        {
          type: 'function',
          name: 'read_file',
          description: 'Reads a file',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
    },
    told: ['max_tool_calls', 'service_tier', 'truncation'],
    usage: ['input_tokens', 'output_tokens', 'input_tokens_details.cached_tokens'],
  },
];

const CLINE_HEADERS = {
  'HTTP-Referer': 'https://cline.bot',
  'X-Title': 'Cline',
  'x-stainless-lang': 'js',
  'x-stainless-retry-count': '0',
};

/** Cline: src/core/api/providers/openai.ts, openrouter.ts with transform/openrouter-stream.ts, anthropic.ts. */
const CLINE: readonly ClientShape[] = [
  {
    client: 'Cline',
    call: 'OpenAI compatible',
    path: CHAT,
    body: {
      messages: [{ role: 'system', content: 'You are Cline.' }, ...turns('call_8fK2mQ1xZpL0')],
      temperature: 0,
      max_tokens: 128,
      ...STREAM,
      tools: [tool('read_file', false)],
    },
    usage: ['prompt_tokens', 'completion_tokens', CACHED],
  },
  {
    client: 'Cline',
    call: 'OpenAI compatible, a model that reasons',
    path: CHAT,
    body: {
      messages: [
        { role: 'developer', content: 'You are Cline.' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      ],
      reasoning_effort: 'medium',
      ...STREAM,
    },
    usage: ['prompt_tokens', 'completion_tokens', CACHED],
  },
  {
    client: 'Cline',
    call: 'OpenRouter',
    path: CHAT,
    headers: CLINE_HEADERS,
    body: {
      temperature: 0,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'You are Cline.', ...MARK }] },
        { role: 'user', content: [{ type: 'text', text: 'hi', ...MARK }] },
      ],
      ...STREAM,
      include_reasoning: true,
      tools: [tool('read_file', false)],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      provider: { sort: 'price' },
    },
    told: ['provider'],
    usage: ['prompt_tokens', 'completion_tokens', CACHED, 'cost'],
  },
  {
    client: 'Cline',
    call: 'Anthropic',
    path: '/v1/messages',
    headers: {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-1m-2025-08-07',
      'x-stainless-lang': 'js',
    },
    body: {
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      max_tokens: 8_192,
      system: [{ text: 'You are Cline.', type: 'text', ...MARK }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'What is in notes.txt?', ...MARK }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I read it.', signature: 'EqoBCkgIARABGAIiQL8x2Vh0w1' },
            { type: 'tool_use', id: 'toolu_01A9fK2mQ', name: 'read_file', input: { path: 'notes.txt' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_01A9fK2mQ',
              content: [{ type: 'text', text: 'contents' }],
              ...MARK,
            },
          ],
        },
      ],
      stream: true,
      tools: [
        {
          name: 'read_file',
          description: 'Reads a file',
          input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        },
      ],
    },
    usage: ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  },
];

/** aider: models.py (send_completion, set_reasoning_effort), coders/base_coder.py; over LiteLLM's `openai/…`. */
const AIDER: readonly ClientShape[] = [
  {
    client: 'aider',
    call: 'a turn with an image, effort and headers of its settings',
    path: CHAT,
    headers: { 'x-stainless-lang': 'python', 'HTTP-Referer': 'https://aider.chat', 'X-Title': 'Aider' },
    body: {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Act as an expert developer.', ...MARK }] },
        { role: 'user', content: 'I switched to a new code base.' },
        { role: 'assistant', content: 'Ok.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Image file: a.png' },
            { type: 'image_url', image_url: { url: PICTURE, detail: 'high' } },
          ],
        },
      ],
      reasoning_effort: 'low',
      stream: true,
      temperature: 0,
    },
    usage: OPENAI_USAGE,
  },
  {
    client: 'aider',
    call: 'a commit message',
    path: CHAT,
    body: {
      messages: [
        { role: 'system', content: 'Write one line.' },
        { role: 'user', content: '# Diffs' },
      ],
      stream: false,
      temperature: 0,
    },
    usage: [...OPENAI_USAGE, CACHED],
  },
];

/** Roo Code: src/api/providers/openai.ts; Qwen Code: openaiContentGenerator. */
const EDITORS: readonly ClientShape[] = [
  {
    client: 'Roo Code',
    call: 'OpenAI compatible, with cache markers',
    path: CHAT,
    headers: { 'HTTP-Referer': 'https://github.com/RooVetGit/Roo-Cline', 'X-Title': 'Roo Code' },
    body: {
      temperature: 0,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'You are Roo.', ...MARK }] },
        { role: 'user', content: [{ type: 'text', text: 'hi', ...MARK }] },
      ],
      ...STREAM,
      tools: [tool('read_file', true)],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      max_completion_tokens: 128,
    },
    usage: ['prompt_tokens', 'completion_tokens'],
  },
  {
    client: 'Qwen Code',
    call: 'OpenAI compatible, with the ids of its session',
    path: CHAT,
    body: {
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 1,
      ...STREAM,
      metadata: { sessionId: '4d6c', promptId: '4d6c########0' },
    },
    told: ['metadata'],
    usage: OPENAI_USAGE,
  },
];

export const CLIENT_SHAPES: readonly ClientShape[] = [...OPEN_WEBUI, ...N8N, ...CLINE, ...AIDER, ...EDITORS];

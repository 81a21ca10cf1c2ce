/** Requests like those of agents, in both dialects: many tools, long histories, images, cache markers. */

export interface AgentRequest {
  readonly name: string;
  readonly dialect: 'chat' | 'messages';
  readonly body: { readonly max_tokens: number; readonly [member: string]: unknown };
}

const CODE = `export async function readLines(path: string, limit = 2_000): Promise<string[]> {
  const handle = await open(path, 'r');
  try {
    const lines: string[] = [];
    for await (const line of handle.readLines()) {
      if (lines.push(line.slice(0, limit)) >= limit) {
        break;
      }
    }
    return lines;
  } finally {
    await handle.close();
  }
}
`;
const INSTRUCTIONS = `You work in a repository of a warehouse. Read before you write, keep changes small, and run the tests of what you
touched. Say what you did in two sentences. Never delete data, never push, and ask when an order is ambiguous.
`;
const LETTER = `Dear team, the shipment of 14 March arrived two pallets short, and the delivery note does not mention it. Could you find
out whether the rest was sent separately? Our order number is 88-1304; the driver signed at 07:40. `;
const CHINESE =
  '您好，我们三月十四日的货物少了两个托盘，送货单上没有说明。请帮我们查一下其余的货物是否另外发出。';
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = 'JVBERi0xLjQKJcOkw7zDtsOfCjIgMCBvYmoKPDwvTGVuZ3RoIDMgMCBSL0ZpbHRlci9GbGF0ZURlY29kZT4+';
const MARK = { cache_control: { type: 'ephemeral' } };

const TOOL_NAMES =
  'read_file write_file list_folder search run_tests run_command fetch_page open_ticket'.split(' ');

function schemaOf(name: string): object {
  return {
    type: 'object',
    properties: {
      path: { type: 'string', description: `Where ${name} works, relative to the repository` },
      pattern: { type: 'string', description: 'A regular expression; everything when it is left out' },
      limit: { type: 'integer', minimum: 1, maximum: 2_000, description: 'Most lines of the result' },
      mode: { type: 'string', enum: ['quick', 'thorough'] },
    },
    required: ['path'],
    additionalProperties: false,
  };
}

const describe = (name: string) => `Runs ${name.replace('_', ' ')} and tells the result. ${INSTRUCTIONS}`;
const chatTools = TOOL_NAMES.map((name) => ({
  type: 'function',
  function: { name, description: describe(name), parameters: schemaOf(name) },
}));
const messagesTools = TOOL_NAMES.map((name, index) => ({
  name,
  description: describe(name),
  input_schema: schemaOf(name),
  ...(index === TOOL_NAMES.length - 1 && MARK),
}));

const steps = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Turns of a chat agent that reads a file in each step. */
function chatSteps(count: number): object[] {
  return steps(count).flatMap((step) => {
    const id = `call_8fK2mQ${step}xZpL0`;
    const call = {
      name: 'read_file',
      arguments: JSON.stringify({ path: `src/stock/part-${step}.ts`, limit: 200 }),
    };
    return [
      {
        role: 'assistant',
        content: `Reading part ${step}.`,
        tool_calls: [{ id, type: 'function', function: call }],
      },
      { role: 'tool', tool_call_id: id, content: CODE.repeat(3) },
    ];
  });
}

function messagesSteps(count: number): object[] {
  return steps(count).flatMap((step) => {
    const id = `toolu_01A9fK2mQ${step}xZpL0`;
    const input = { path: `src/stock/part-${step}.ts`, limit: 200 };
    const result = {
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: CODE.repeat(3) }],
    };
    return [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: `Reading part ${step}.` },
          { type: 'tool_use', id, name: 'read_file', input },
        ],
      },
      { role: 'user', content: [{ ...result, ...(step === count && MARK) }] },
    ];
  });
}

const talk = (text: string, count: number) =>
  steps(count).map((step) => ({ role: step % 2 === 1 ? 'user' : 'assistant', content: `${step}. ${text}` }));
const TASK = {
  role: 'user',
  content: 'Find out why the stock of part 7 is negative, and mend it with a test.',
};
const screenshot = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } };
const report = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: PDF },
  title: 'Stock.pdf',
};

export const AGENT_REQUESTS: readonly AgentRequest[] = [
  {
    name: 'a coding agent at its first step',
    dialect: 'chat',
    body: {
      max_tokens: 4_096,
      tools: chatTools,
      messages: [{ role: 'system', content: INSTRUCTIONS.repeat(12) }, TASK],
    },
  },
  {
    name: 'a coding agent after forty files',
    dialect: 'chat',
    body: {
      max_tokens: 2_048,
      tools: chatTools,
      tool_choice: 'auto',
      parallel_tool_calls: true,
      messages: [{ role: 'system', content: INSTRUCTIONS.repeat(12) }, TASK, ...chatSteps(40)],
    },
  },
  {
    name: 'an agent that looks at screens',
    dialect: 'chat',
    body: {
      max_tokens: 1_024,
      tools: chatTools.slice(0, 3),
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        ...steps(6).flatMap((step) => [
          {
            role: 'user',
            content: [{ type: 'text', text: `Screen ${step}. Where is the order list?` }, screenshot],
          },
          { role: 'assistant', content: 'At the left, below the search field; I open it next.' },
        ]),
        TASK,
      ],
    },
  },
  {
    name: 'a long correspondence',
    dialect: 'chat',
    body: { max_tokens: 1_024, messages: [{ role: 'system', content: INSTRUCTIONS }, ...talk(LETTER, 121)] },
  },
  {
    name: 'letters to extract into a schema',
    dialect: 'chat',
    body: {
      max_tokens: 2_048,
      temperature: 0,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'letters', strict: true, schema: schemaOf('reading') },
      },
      messages: [{ role: 'user', content: LETTER.repeat(40) }],
    },
  },
  {
    name: 'a correspondence in Chinese',
    dialect: 'chat',
    body: { max_tokens: 4_096, messages: talk(CHINESE, 15) },
  },
  {
    name: 'a coding agent at its first step',
    dialect: 'messages',
    body: {
      max_tokens: 8_192,
      system: [{ type: 'text', text: INSTRUCTIONS.repeat(12), ...MARK }],
      tools: messagesTools,
      messages: [TASK],
    },
  },
  {
    name: 'a coding agent after forty files, its prefix cached',
    dialect: 'messages',
    body: {
      max_tokens: 4_096,
      system: [{ type: 'text', text: INSTRUCTIONS.repeat(12), ...MARK }],
      tools: messagesTools,
      tool_choice: { type: 'auto' },
      metadata: {},
      messages: [TASK, ...messagesSteps(40)],
    },
  },
  {
    name: 'an agent whose tools answer with pictures',
    dialect: 'messages',
    body: {
      max_tokens: 2_048,
      tools: messagesTools.slice(0, 3),
      messages: [
        TASK,
        ...steps(6).flatMap((step) => [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: `toolu_${step}`, name: 'read_file', input: { path: `${step}.png` } },
            ],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `toolu_${step}`, content: [picture] }],
          },
        ]),
      ],
    },
  },
  {
    name: 'questions about documents',
    dialect: 'messages',
    body: {
      max_tokens: 2_048,
      messages: [
        {
          role: 'user',
          content: [
            report,
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: LETTER.repeat(60) },
              title: 'Letters',
            },
            { type: 'text', text: 'Which orders were short?', ...MARK },
          ],
        },
      ],
    },
  },
  {
    name: 'an agent that thinks between its calls',
    dialect: 'messages',
    body: {
      max_tokens: 8_192,
      thinking: { type: 'enabled', budget_tokens: 4_096 },
      tools: messagesTools,
      messages: [
        TASK,
        {
          role: 'assistant',
          content: [
            {
              type: 'thinking',
              thinking: LETTER.repeat(4),
              signature: 'EqoBCkgIARABGAIiQL8x2Vh0w1'.repeat(12),
            },
            { type: 'tool_use', id: 'toolu_1', name: 'search', input: { path: 'src', pattern: 'part-7' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: CODE.repeat(20) }],
        },
      ],
    },
  },
];

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Json = any;

/** What the makers of open and other models reject at their own servers, in their own words where they are known. */
export function makersRefusal(body: Json): string | undefined {
  const model: string = body.model;
  if (model.startsWith('strict/')) {
    return refusedByStrict(model, body);
  }
  if (/:[\w-]+$/.test(model)) {
    return refusedByOllama(body);
  }
  if (/^deepseek-(?:v|flash|pro)/.test(model)) {
    return refusedByDeepSeek(body);
  }
  if (/^kimi-k(?:2\.|[3-9])/.test(model)) {
    return refusedByMoonshot(body);
  }
  if (/\/(?:kimi-k3|deepseek-v4|hy3)/.test(model)) {
    const known = ['low', 'high', 'none', ...(model.includes('hy3') ? [] : ['max'])];
    const isKnown = known.includes(body.reasoning_effort ?? 'low');
    return isKnown ? undefined : `Unsupported thinking_effort=${body.reasoning_effort}`;
  }
  if (/^zai-glm|gpt-oss/.test(model)) {
    const known = ['low', 'medium', 'high', ...(model.startsWith('zai') ? ['none'] : [])];
    const effort = body.reasoning_effort ?? 'low';
    return known.includes(effort) ? undefined : "Input should be 'low', 'medium' or 'high'";
  }
  if (/minimax/i.test(model)) {
    return refusedByMiniMax(body);
  }
  if (/qwen3\.[5-9]|apertus/i.test(model)) {
    return refusedByTemplate(body);
  }
  if (/llama-3/i.test(model)) {
    const several = body.messages.some(({ tool_calls: calls }: Json) => calls?.length > 1);
    return several ? 'This model only supports single tool-calls at once!' : undefined;
  }
  if (model.startsWith('glm-')) {
    return refusedByZai(body);
  }
  if (model.startsWith('gemini-')) {
    return refusedByGoogle(body);
  }
  if (model.startsWith('qwen')) {
    return refusedByDashScope(body);
  }
  if (model.startsWith('grok-')) {
    return refusedByXai(body);
  }
  if (/gemma-[23]/.test(model)) {
    if (body.messages.some(({ role }: Json) => /system|developer/.test(role))) {
      return 'Developer instruction is not enabled for models/gemma';
    }
    return alternates(body)
      ? undefined
      : 'Conversation roles must alternate user/assistant/user/assistant/...';
  }
  if (/(?:mis|minis)tral/i.test(model)) {
    return refusedOrder(body) ?? (/^mistral-/.test(model) ? refusedByMistral(body) : undefined);
  }
  return undefined;
}

const STRICT_KNOWS = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'stream',
  'max_tokens',
  'response_format',
  'stop',
];
const STRICT_WORDS: Readonly<Record<string, (name: string) => string>> = {
  'strict/nvidia': (name) =>
    `[{'type': 'extra_forbidden', 'loc': ('body', '${name}'), 'msg': 'Extra inputs are not permitted', 'input': 'main'}]`,
  'strict/databricks': (name) => `Bad request: json: unknown field "${name}"`,
  'strict/azure': (name) => `Unrecognized request argument supplied: ${name}`,
  'strict/fireworks': (name) => `Extra inputs are not permitted, field: '${name}', value: True`,
};

/** Servers that reject every member that they do not know, one at a time. */
function refusedByStrict(model: string, body: Json): string | undefined {
  if (model === 'strict/schemas') {
    return JSON.stringify(body.tools ?? []).includes('"exclusiveMinimum":')
      ? `Invalid JSON payload received. Unknown name "exclusiveMinimum" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.`
      : undefined;
  }
  const unknown = Object.keys(body).find((name) => !STRICT_KNOWS.includes(name));
  const isStrict = body.tools?.some(({ function: { strict } }: Json) => strict !== undefined);
  const name = unknown ?? (isStrict ? 'strict' : undefined);
  return name && STRICT_WORDS[model]?.(name);
}

function refusedByOllama({ messages, reasoning_effort: effort }: Json): string | undefined {
  if (!['low', 'medium', 'high', 'none', undefined].includes(effort)) {
    return `invalid reasoning value: '${effort}' (must be "high", "medium", "low", or "none")`;
  }
  const calls = messages.flatMap(({ tool_calls: some }: Json) => some ?? []);
  return calls.every((call: Json) => /^\{.*\}$/s.test(call.function.arguments))
    ? undefined
    : 'invalid tool call arguments';
}

const isForced = ({ tool_choice: choice }: Json) => choice === 'required' || typeof choice === 'object';

const lacksReasoning = ({ messages }: Json) =>
  messages.some((message: Json) => message.tool_calls?.length > 0 && !message.reasoning_content);

/** What Groq rejects, whose models have their vendors' names. */
export function groqsRefusal({ model, reasoning_effort: effort }: Json): string | undefined {
  if (effort === undefined) {
    return undefined;
  }
  if (/gpt-oss/.test(model)) {
    return ['low', 'medium', 'high'].includes(effort)
      ? undefined
      : 'must be one of `low`, `medium`, or `high`';
  }
  if (/qwen/.test(model)) {
    return ['none', 'default'].includes(effort)
      ? undefined
      : '`reasoning_effort` must be one of `none` or `default`';
  }
  return '`reasoning_effort` is not supported with this model';
}

/** Whether only the first message has instructions. */
const instructsFirst = ({ messages }: Json) =>
  messages.every(({ role }: Json, index: number) => index === 0 || !/system|developer/.test(role));

/** Whether users and the model take turns after the instructions, apart from calls of tools and their results. */
const alternates = ({ messages }: Json) => {
  const turns = messages
    .filter(({ role, tool_calls: calls }: Json) => role !== 'tool' && !(calls?.length > 0))
    .map(({ role }: Json) => role);
  const [first] = turns;
  return (first === 'system' ? turns.slice(1) : turns).every(
    (role: string, index: number) => role === (index % 2 === 0 ? 'user' : 'assistant'),
  );
};

/** The roles that may follow one, as Mistral's own library checks them (mistral-common, `_validate_message_order`). */
const MAY_FOLLOW: Readonly<Record<string, readonly string[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
};

function refusedOrder({ messages }: Json): string | undefined {
  for (const [index, { role }] of messages.slice(1).entries()) {
    const before = messages[index].role;
    if (!MAY_FOLLOW[before]?.includes(role)) {
      return `Unexpected role '${role}' after role '${before}'`;
    }
  }
  return undefined;
}

/** As the templates of Qwen 3.5 and Apertus do; the latter also misses descriptions of tools. */
function refusedByTemplate(body: Json): string | undefined {
  if (!instructsFirst(body)) {
    return 'System message must be at the beginning.';
  }
  if (!body.messages.some(({ role }: Json) => role === 'user')) {
    return 'No user query found in messages.';
  }
  const whole = (body.tools ?? []).every(({ function: one }: Json) => one.description && one.parameters);
  return whole ? undefined : "'dict object' has no attribute 'description'";
}

const formatOf = ({ response_format: format }: Json) => format?.type;

const saysJson = ({ messages }: Json) => /json/i.test(JSON.stringify(messages));

function refusedByDeepSeek(body: Json): string | undefined {
  if (formatOf(body) === 'json_schema') {
    return 'This response_format type is unavailable now';
  }
  if (formatOf(body) === 'json_object' && !saysJson(body)) {
    return "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.";
  }
  const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
  if (body.reasoning_effort !== undefined && !efforts.includes(body.reasoning_effort)) {
    return `unknown variant \`${body.reasoning_effort}\`, expected one of \`none\`, \`minimal\`, …`;
  }
  if (body.thinking?.type === 'disabled' || body.reasoning_effort === 'none') {
    return undefined;
  }
  if (isForced(body)) {
    return 'Thinking mode does not support this tool_choice';
  }
  return lacksReasoning(body)
    ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
    : undefined;
}

function refusedByMoonshot(body: Json): string | undefined {
  const { model, thinking, reasoning_effort: effort } = body;
  const fixed = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'];
  const set = fixed.find((name) => body[name] !== undefined);
  if (set) {
    return `invalid ${set}: only 1 is allowed for this model`;
  }
  if (thinking !== undefined && effort !== undefined) {
    return "cannot specify both 'thinking' and 'reasoning_effort'";
  }
  const isThird = /^kimi-k[3-9]/.test(model);
  const always = isThird || model.startsWith('kimi-k2.7');
  if (always && thinking !== undefined && thinking.type !== 'enabled') {
    return 'thinking cannot be disabled for this model';
  }
  if (effort !== undefined && !(isThird && ['low', 'high', 'max'].includes(effort))) {
    return `invalid reasoning_effort: ${effort}`;
  }
  if (!always && thinking?.type === 'disabled') {
    return undefined;
  }
  if (isForced(body) && !(isThird && body.tool_choice === 'required')) {
    const kind = body.tool_choice === 'required' ? 'required' : 'specified';
    return `tool_choice '${kind}' is incompatible with thinking enabled`;
  }
  return lacksReasoning(body)
    ? 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1'
    : undefined;
}

function refusedByMiniMax(body: Json): string | undefined {
  if (!instructsFirst(body)) {
    return 'invalid params, invalid chat setting (2013)';
  }
  const isKnown = [undefined, 'auto', 'none'].includes(body.tool_choice);
  return isKnown && [undefined, 'text'].includes(formatOf(body)) ? undefined : 'invalid params (2013)';
}

function refusedByZai(body: Json): string | undefined {
  if (isForced(body)) {
    return 'Tool choice must be auto';
  }
  if (formatOf(body) === 'json_schema') {
    return 'response_format: text or json_object';
  }
  const always = /^glm-5\.[3-9]/.test(body.model);
  const isUnknown = !['low', 'high', 'max', undefined].includes(body.reasoning_effort);
  return always && (isUnknown || body.thinking?.type === 'disabled')
    ? 'This model always engages in thinking and cannot be disabled; please use low, high, or max'
    : undefined;
}

function refusedByGoogle({ model, reasoning_effort: effort, ...others }: Json): string | undefined {
  if (others.presence_penalty || others.frequency_penalty) {
    return 'Penalty is not enabled for this model';
  }
  if (others.top_k !== undefined) {
    return 'Invalid JSON payload received. Unknown name "top_k": Cannot find field.';
  }
  const known = ['low', 'medium', 'high', ...(model.startsWith('gemini-2.5-flash') ? ['none'] : [])];
  return effort === undefined || known.includes(effort)
    ? undefined
    : `Thinking level ${effort.toUpperCase()} is not supported for this model. Please retry with other thinking level.`;
}

function refusedByDashScope(body: Json): string | undefined {
  if (body.model.includes('thinking')) {
    if (body.enable_thinking === false) {
      return 'The value of the enable_thinking parameter is restricted to True.';
    }
  } else if (body.enable_thinking === false) {
    return undefined;
  }
  if (formatOf(body)?.startsWith('json_')) {
    return 'Json mode response is not supported when enable_thinking is true';
  }
  return isForced(body)
    ? '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode'
    : undefined;
}

function refusedByXai(body: Json): string | undefined {
  const refused = ['presence_penalty', 'frequency_penalty'];
  if (/^grok-(?:4-|4$|4\.20|build|code)/.test(body.model)) {
    refused.push('reasoning_effort');
  }
  const name = refused.find((one) => body[one] !== undefined);
  const efforts = ['low', 'medium', 'high', ...(body.model.startsWith('grok-4.6') ? ['xhigh'] : [])];
  if (/^grok-4\.[56]/.test(body.model) && !efforts.includes(body.reasoning_effort ?? 'high')) {
    return `Invalid reasoning_effort: ${body.reasoning_effort}`;
  }
  return name && `Model ${body.model} does not support parameter ${name}.`;
}

function refusedByMistral({ model, reasoning_effort: effort }: Json): string | undefined {
  const known = /^mistral-(?:small|medium)/.test(model) ? ['none', 'high'] : [];
  return effort === undefined || known.includes(effort)
    ? undefined
    : `reasoning_effort is not enabled for this model, or not as ${effort}`;
}

import { atOnce, flatMapInSteps, isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from '../../providers/json.ts';
import { SAMPLING } from './claude-models.ts';
import { lacksThinking } from './claude-thinking.ts';
import { JSON_ONLY } from './json-answers.ts';
import { documentSourceOf, imageSourceOf, sourceOfUrl } from './media-parts.ts';
import type { ModelRules } from './model-rules.ts';
import { adaptiveEffort, asksForNoReasoning, asksForReasoning, thinkingAsked } from './reasoning-settings.ts';
import { isSystemTurn } from './system-turns.ts';
import { thinkingOfDetails } from './thinking-details.ts';
import {
  chatToolName,
  isForced,
  messagesToolChoice,
  readChatToolPolicy,
  type ToolPolicy,
} from './tool-choices.ts';
import { untranslatable } from './untranslatable.ts';

/** Members that would change the meaning of the answer if they were left out. */
const MEANT = ['logprobs'] as const;

const FORMATS: ReadonlySet<unknown> = new Set(['text', 'json_object', 'json_schema']);

/**
 * Translates a chat request into a messages request. `maxOutputTokens` limits thinking. Members that messages cannot express are left out
 * if they only tune the answer (seed, penalties) and rejected if they change its meaning.
 */
export function* chatRequestToMessages(
  body: JsonObject,
  maxOutputTokens: number,
  rules: ModelRules,
): Steps<JsonObject> {
  for (const name of MEANT) {
    if (isMeant(body[name])) {
      throw untranslatable(name);
    }
  }
  const messages = objectsOf(body.messages);
  const policy = readChatToolPolicy(body);
  const turns = yield* mergedTurns(messages.filter((message) => !isSystemTurn(message)));
  const thinking = thinkingAsked(body, policy, maxOutputTokens, rules);
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  const instructions = yield* systemBlocks(messages, body.response_format);
  // OpenAI callers often send instructions only; this protocol requires a user turn
  const alone = turns.length === 0 && instructions.length > 0;
  const system = alone ? [] : instructions;
  const tools = yield* toolsOf(body.tools, policy);
  return compact({
    system: system.length === 0 ? undefined : system,
    messages: alone ? [{ role: 'user', content: instructions }] : turns,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : messagesToolChoice(policy),
    stop_sequences: stopSequences(body.stop),
    // Thinking is only accepted with the default temperature and a top_p near 1.
    temperature: thinks || typeof body.temperature !== 'number' ? undefined : Math.min(body.temperature, 1),
    top_p: thinks ? undefined : body.top_p,
    top_k: thinks ? undefined : body.top_k,
    thinking,
    output_config: outputConfig(
      body.response_format,
      thinking?.type === 'adaptive' ? adaptiveEffort(body) : undefined,
    ),
    metadata: typeof body.user === 'string' ? { user_id: body.user } : undefined,
  });
}

function isMeant(value: unknown): boolean {
  return value === true || (Array.isArray(value) && value.length > 0);
}

/**
 * Returns the chat request members that are left out because of thinking or for the rules of the model: sampling settings when it thinks,
 * reasoning settings when it cannot, when the cap leaves it no room, or when it always thinks; forced tools where it takes none.
 */
export function leftOutOfChat(body: JsonObject, maxOutputTokens: number, rules: ModelRules): string[] {
  const policy = readChatToolPolicy(body);
  const unforced = isForced(policy) && !rules.takesForcedTools ? ['tool_choice'] : [];
  return [...unforced, ...untranslatedThinking(body, policy, maxOutputTokens, rules)].filter(
    (name) => body[name] !== undefined,
  );
}

function untranslatedThinking(
  body: JsonObject,
  policy: ToolPolicy,
  maxOutputTokens: number,
  rules: ModelRules,
): readonly string[] {
  if (asksForNoReasoning(body)) {
    return rules.thinkingOff === undefined ? REASONING_SETTINGS : [];
  }
  if (!asksForReasoning(body)) {
    return [];
  }
  const turns = objectsOf(body.messages).filter((message) => !isSystemTurn(message));
  const last = turns.findLast((message) => message.role === 'assistant');
  const history = last ? [atOnce(turnOf(last))] : [];
  const thinks =
    thinkingAsked(body, policy, maxOutputTokens, rules) !== undefined &&
    (rules.thinking === 'adaptive' || !lacksThinking(history));
  return thinks ? SAMPLING : REASONING_SETTINGS;
}

const REASONING_SETTINGS = ['reasoning_effort', 'reasoning'];

type Turn = JsonObject & {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
};

function* systemBlocks(messages: readonly JsonObject[], responseFormat: unknown): Steps<JsonObject[]> {
  const blocks = yield* flatMapInSteps(messages.filter(isSystemTurn), (message) =>
    contentBlocks(message.content),
  );
  const jsonOnly = objectOf(responseFormat).type === 'json_object';
  return jsonOnly ? [...blocks, { type: 'text', text: JSON_ONLY }] : blocks;
}

function* turnOf(message: JsonObject): Steps<Turn> {
  if (message.role === 'assistant') {
    return { role: 'assistant', content: yield* assistantBlocks(message) };
  }
  if (message.role !== 'tool') {
    return { role: 'user', content: yield* contentBlocks(message.content) };
  }
  const result = compact({
    type: 'tool_result',
    tool_use_id: textOf(message.tool_call_id),
    content: typeof message.content === 'string' ? message.content : yield* contentBlocks(message.content),
    cache_control: message.cache_control,
  });
  return { role: 'user', content: [result] };
}

function* assistantBlocks(message: JsonObject): Steps<JsonObject[]> {
  const calls = yield* mapInSteps(objectsOf(message.tool_calls), (call) => ({
    type: 'tool_use',
    id: textOf(call.id),
    name: chatToolName(call),
    input: inputOf(call),
  }));
  const refusal = textOf(message.refusal);
  return [
    ...thinkingOfDetails(message.reasoning_details),
    ...(yield* contentBlocks(message.content)),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal }]),
    ...calls,
  ];
}

/** Returns the input of an earlier call. What is not an object is wrapped in one, so that the model sees what was called. */
function inputOf(call: JsonObject): JsonObject {
  if (isObject(call.custom)) {
    // the single argument of a custom tool that is offered as a function
    return { input: textOf(call.custom.input) };
  }
  const { arguments: given } = objectOf(call.function);
  const input = typeof given === 'string' ? parseJson(given) : given;
  if (isObject(input)) {
    return input;
  }
  return textOf(given).trim() === '' ? {} : { arguments: given };
}

/** Merges turns: they must alternate, and all results of parallel calls must be in one turn. */
function* mergedTurns(messages: readonly JsonObject[]): Steps<Turn[]> {
  const merged: { readonly role: Turn['role']; readonly content: JsonObject[] }[] = [];
  for (const message of messages) {
    const { role, content } = yield* turnOf(message);
    const last = merged.at(-1);
    if (content.length > 0 && last?.role === role) {
      for (const block of content) {
        last.content.push(block);
      }
    } else if (content.length > 0) {
      merged.push({ role, content: [...content] });
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return merged;
}

function* contentBlocks(content: unknown): Steps<JsonObject[]> {
  if (typeof content === 'string') {
    return content === '' ? [] : [{ type: 'text', text: content }];
  }
  const blocks = yield* mapInSteps(objectsOf(content), (part) => {
    const block = blockOf(part);
    return block && compact({ ...block, cache_control: part.cache_control });
  });
  return blocks.filter((block) => block !== undefined);
}

function blockOf(part: JsonObject): JsonObject | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const text = textOf(part.text ?? part.refusal);
      return text === '' ? undefined : { type: 'text', text };
    }
    case 'image_url': {
      const url = isObject(part.image_url) ? textOf(part.image_url.url) : textOf(part.image_url);
      return { type: 'image', source: imageSourceOf(sourceOfUrl(url)) };
    }
    case 'file': {
      const file = objectOf(part.file);
      if (textOf(file.file_data) === '') {
        throw untranslatable('a file by its id');
      }
      const source = documentSourceOf(sourceOfUrl(textOf(file.file_data)));
      return compact({ type: 'document', source, title: file.filename });
    }
    default:
      throw untranslatable(`content of type ${JSON.stringify(part.type)}`);
  }
}

function* toolsOf(tools: unknown, policy: ToolPolicy): Steps<JsonObject[]> {
  const allowed = policy.allowed && new Set(policy.allowed);
  const offered = objectsOf(tools).filter((tool) => allowed?.has(chatToolName(tool)) ?? true);
  return yield* mapInSteps(offered, (tool) => {
    const definition = objectOf(tool.function);
    if (tool.type !== undefined && tool.type !== 'function') {
      throw untranslatable(`a tool of type ${JSON.stringify(tool.type)}`);
    }
    return compact({
      name: definition.name,
      description: definition.description,
      input_schema: definition.parameters ?? { type: 'object', properties: {} },
      strict: definition.strict === true ? true : undefined,
      cache_control: tool.cache_control ?? definition.cache_control,
    });
  });
}

function stopSequences(stop: unknown): string[] | undefined {
  const list = (Array.isArray(stop) ? stop : [stop]).filter((item) => typeof item === 'string');
  if (list.some((item) => item.trim() === '')) {
    throw untranslatable('a stop sequence of spaces only');
  }
  return list.length === 0 ? undefined : list;
}

function outputConfig(responseFormat: unknown, effort: string | undefined): JsonObject | undefined {
  const format = objectOf(responseFormat);
  if (format.type !== undefined && !FORMATS.has(format.type)) {
    throw untranslatable(`response_format of type ${JSON.stringify(format.type).slice(0, 64)}`);
  }
  const schema =
    format.type === 'json_schema'
      ? { type: 'json_schema', schema: objectOf(format.json_schema).schema }
      : undefined;
  return schema || effort ? compact({ format: schema, effort }) : undefined;
}

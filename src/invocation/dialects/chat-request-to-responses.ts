import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, isObject, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { encryptedReasoning } from './thinking-details.ts';
import { chatToolName, readChatToolPolicy, type ToolPolicy } from './tool-choices.ts';
import { untranslatable } from './untranslatable.ts';

const WORDS = { auto: 'auto', none: 'none', any: 'required' } as const;

/**
 * Translates a chat request into a Responses request. Leaves out members that Responses cannot express and that only tune the answer
 * (seed, penalties). Throws AppError invalid_parameter for members whose omission would change its meaning.
 */
export function* chatRequestToResponses(body: JsonObject): Steps<JsonObject> {
  if (isMeant(body.stop)) {
    throw untranslatable('stop (stop_sequences)');
  }
  if (body.logprobs === true) {
    throw untranslatable('logprobs');
  }
  const policy = readChatToolPolicy(body);
  const tools = yield* mapInSteps(objectsOf(body.tools), toolOf);
  const offered = tools.length > 0;
  const { effort, enabled, summary } = objectOf(body.reasoning);
  const asked = effort ?? body.reasoning_effort ?? (enabled === true ? 'medium' : undefined);
  return compact({
    input: yield* inputOf(body.messages),
    tools: offered ? tools : undefined,
    tool_choice: offered ? choiceOf(policy, tools) : undefined,
    parallel_tool_calls: offered ? policy.parallel : undefined,
    text: filled({ format: formatOf(body.response_format), verbosity: body.verbosity }),
    reasoning: filled({ effort: asked, summary }),
    temperature: body.temperature,
    top_p: body.top_p,
    prompt_cache_key: body.prompt_cache_key,
    safety_identifier: body.safety_identifier,
    user: body.user,
  });
}

function isMeant(value: unknown): boolean {
  return typeof value === 'string' ? value !== '' : Array.isArray(value) && value.length > 0;
}

/** Drops undefined members. Returns undefined when none is left. */
export function filled(members: JsonObject): JsonObject | undefined {
  const said = compact(members);
  return Object.keys(said).length === 0 ? undefined : said;
}

/** Converts messages to items: in this protocol reasoning, text, calls and results are separate. */
function* inputOf(messages: unknown): Steps<JsonObject[]> {
  const custom = new Set<unknown>();
  return yield* flatMapInSteps(objectsOf(messages), (message) => itemsOf(message, custom));
}

function* itemsOf(message: JsonObject, custom: Set<unknown>): Steps<readonly JsonObject[]> {
  switch (message.role) {
    case 'assistant':
      return assistantItems(message, custom);
    case 'tool': {
      const { tool_call_id: call_id, content } = message;
      const type = custom.has(call_id) ? 'custom_tool_call_output' : 'function_call_output';
      return [{ type, call_id, output: yield* contentOf(content) }];
    }
    default:
      return [{ type: 'message', role: message.role, content: yield* contentOf(message.content) }];
  }
}

function assistantItems(message: JsonObject, custom: Set<unknown>): JsonObject[] {
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
  const said = [
    ...parts.map(({ text, refusal }) => saidPart(textOf(text), textOf(refusal))),
    saidPart('', textOf(message.refusal)),
  ].filter((part) => part !== undefined);
  const calls = objectsOf(message.tool_calls).map((call) => callOf(call, custom));
  return [
    ...encryptedReasoning(message.reasoning_details).map((encrypted_content) => ({
      type: 'reasoning',
      summary: [],
      encrypted_content,
    })),
    ...(said.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: said }]),
    ...calls,
  ];
}

function saidPart(text: string, refusal: string): JsonObject | undefined {
  if (text !== '') {
    return { type: 'output_text', text };
  }
  return refusal === '' ? undefined : { type: 'refusal', refusal };
}

function callOf(call: JsonObject, custom: Set<unknown>): JsonObject {
  const name = chatToolName(call);
  if (isObject(call.custom)) {
    custom.add(call.id);
    return { type: 'custom_tool_call', call_id: call.id, name, input: textOf(call.custom.input) };
  }
  const { arguments: args } = objectOf(call.function);
  return { type: 'function_call', call_id: call.id, name, arguments: textOf(args) };
}

function* contentOf(content: unknown): Steps<unknown> {
  return Array.isArray(content) ? yield* mapInSteps(objectsOf(content), partOf) : textOf(content);
}

function partOf(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'input_text', text: textOf(part.text ?? part.refusal) };
    case 'image_url': {
      const { url, detail = 'auto' } = isObject(part.image_url) ? part.image_url : { url: part.image_url };
      return { type: 'input_image', image_url: url, detail };
    }
    case 'file': {
      const { filename = 'document.pdf', file_data } = objectOf(part.file);
      if (textOf(file_data) === '') {
        throw untranslatable('a file by its id');
      }
      return { type: 'input_file', filename, file_data };
    }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    default:
      throw untranslatable(`content of type ${JSON.stringify(part.type)}`);
  }
}

/** Sets `strict` explicitly: functions are strict by default in Responses, but not in chat. */
function toolOf(tool: JsonObject): JsonObject {
  if (isObject(tool.custom)) {
    const { name, description, format } = tool.custom;
    return compact({ type: 'custom', name, description, format: customFormat(format) });
  }
  const { name, description, parameters, strict } = objectOf(tool.function);
  return compact({ type: 'function', name, description, parameters, strict: strict === true });
}

/** Unwraps the grammar, which chat nests in a separate member. */
function customFormat(format: unknown): unknown {
  const { type, grammar } = objectOf(format);
  return isObject(grammar) ? { type, ...grammar } : format;
}

function choiceOf({ mode, name, allowed }: ToolPolicy, tools: readonly JsonObject[]): unknown {
  const named = (wanted: string | undefined) => {
    const tool = tools.find((one) => one.name === wanted);
    return { type: tool?.type ?? 'function', name: wanted };
  };
  if (allowed) {
    return { type: 'allowed_tools', mode: mode === 'any' ? 'required' : 'auto', tools: allowed.map(named) };
  }
  return mode === 'tool' ? named(name) : mode && WORDS[mode];
}

function formatOf(responseFormat: unknown): JsonObject | undefined {
  const { type, json_schema: given } = objectOf(responseFormat);
  if (type !== 'json_schema') {
    return type === undefined ? undefined : { type };
  }
  const { name = 'answer', description, schema, strict } = objectOf(given);
  return compact({ type, name, description, schema, strict });
}

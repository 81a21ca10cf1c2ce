import type { UpstreamRequest } from './upstream-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Json = any;

const REASONING = /^(?:o[1-9]|gpt-5|codex-)/;
/** Members that a request may have; any other is rejected. */
const MEMBERS = new Set([
  'model',
  'input',
  'instructions',
  'include',
  'max_output_tokens',
  'parallel_tool_calls',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'store',
  'stream',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_p',
  'user',
]);
const CONTENT: Readonly<Record<string, RegExp>> = {
  user: /^input_(?:text|image|file|audio)$/,
  system: /^input_text$/,
  developer: /^input_text$/,
  assistant: /^(?:output_text|refusal)$/,
};

/**
 * Returns the error with which OpenAI rejects a Responses request, in its own words where they are known; undefined when it accepts it.
 * Covers members of chat, ids of items that it does not store, parts of the wrong side, reasoning that is not its own, calls without an
 * output and outputs without a call.
 */
export function responsesRefusal({ body }: UpstreamRequest): string | undefined {
  if (body.model.startsWith('unverified/')) {
    return refusedUnverified(body);
  }
  const unknown = Object.keys(body).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) {
    return `Unknown parameter: '${unknown}'.`;
  }
  if (body.store !== false) {
    return 'this server keeps nothing: store must be false';
  }
  if (!(body.max_output_tokens >= 16)) {
    return `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${body.max_output_tokens} instead.`;
  }
  const sampling = ['temperature', 'top_p'].find((name) => body[name] !== undefined);
  if (REASONING.test(body.model) && sampling) {
    return `Unsupported parameter: '${sampling}' is not supported with this model.`;
  }
  if (!REASONING.test(body.model) && body.model.startsWith('gpt-4') && body.include) {
    return 'Encrypted content is not supported with this model.';
  }
  return typeof body.input === 'string' ? undefined : (refusedItems(body.input) ?? refusedTools(body));
}

/** What OpenAI rejects for organizations that it has not verified, and for models of an unknown name that know less. */
function refusedUnverified({ reasoning, text, tools, prompt_cache_key }: Json): string | undefined {
  if (reasoning?.summary !== undefined) {
    return 'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.';
  }
  const unknown = [
    ['prompt_cache_key', prompt_cache_key],
    ['text.verbosity', text?.verbosity],
    ['tools[0].strict', tools?.[0]?.strict],
  ].find(([, value]) => value !== undefined);
  return unknown && `Unknown parameter: '${unknown[0]}'.`;
}

function refusedItems(items: Json[]): string | undefined {
  if (items.length === 0) {
    return "Invalid 'input': empty array. Expected an array with minimum length 1.";
  }
  const calls = items.filter(({ type }) => /_call$/.test(type ?? '')).map(({ call_id }) => call_id);
  const results = items.filter(({ type }) => /_output$/.test(type ?? '')).map(({ call_id }) => call_id);
  const unanswered = calls.find((id) => !results.includes(id));
  if (unanswered !== undefined) {
    return `No tool output found for function call ${unanswered}.`;
  }
  const uncalled = results.find((id) => !calls.includes(id));
  if (uncalled !== undefined) {
    return `No tool call found for function call output with call_id ${uncalled}.`;
  }
  return items.map(refusedItem).find((words) => words !== undefined);
}

function refusedItem(item: Json): string | undefined {
  if (item.id !== undefined) {
    return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`;
  }
  switch (item.type ?? 'message') {
    case 'message': {
      const allowed = CONTENT[item.role];
      const parts: Json[] = typeof item.content === 'string' ? [] : item.content;
      const wrong = parts.find(({ type }) => !allowed?.test(type));
      return wrong && `Invalid value: '${wrong.type}'.`;
    }
    case 'reasoning':
      return item.encrypted_content?.startsWith('gAAAA') && Array.isArray(item.summary)
        ? undefined
        : 'The encrypted content could not be verified.';
    case 'function_call':
      return typeof item.arguments === 'string'
        ? undefined
        : "Missing required parameter: 'input[].arguments'.";
    case 'custom_tool_call':
      return typeof item.input === 'string' ? undefined : "Missing required parameter: 'input[].input'.";
    case 'function_call_output':
    case 'custom_tool_call_output':
      return item.output === undefined ? "Missing required parameter: 'input[].output'." : undefined;
    default:
      return `Invalid value: '${item.type}'.`;
  }
}

function refusedTools({ tools = [], tool_choice }: Json): string | undefined {
  const names = tools.map(({ name }: Json) => name ?? '');
  if (names.some((name: string) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))) {
    return "Invalid 'tools[0].name': string does not match pattern.";
  }
  const open = tools.find(
    (tool: Json) => tool.type === 'function' && tool.strict === true && isOpen(tool.parameters),
  );
  if (open) {
    return "Invalid schema: 'additionalProperties' is required to be supplied and to be false.";
  }
  const bare = tools.find(
    ({ type, parameters }: Json) =>
      type === 'function' && parameters.type === 'object' && !parameters.properties,
  );
  if (bare) {
    return `Invalid schema for function '${bare.name}': In context=(), object schema missing properties.`;
  }
  const wanted = tool_choice?.name;
  return wanted !== undefined && !names.includes(wanted)
    ? `Tool choice '${wanted}' not found in 'tools'.`
    : undefined;
}

function isOpen(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) {
    return false;
  }
  const open = schema.type === 'object' && schema.additionalProperties !== false;
  return open || Object.values(schema).some(isOpen);
}

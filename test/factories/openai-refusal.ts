import { makersRefusal } from './makers-refusal.ts';
import type { UpstreamRequest } from './upstream-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Json = any;

const REASONING = /^(?:o[1-9]|gpt-[5-9])/;
const REFUSED_BY_REASONING = ['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty'];
const MISTRAL = /^(?:mi[sx]tral|ministral|magistral|codestral|devstral)/;

/**
 * Returns the error with which OpenAI rejects a well-formed request (or another maker, for models of its names), in their own words where they
 * are known; undefined when they accept it.
 */
export function openAiRefusal({ body }: UpstreamRequest): string | undefined {
  const { model } = body;
  const sampling = REFUSED_BY_REASONING.find((name) => body[name] !== undefined);
  if (REASONING.test(model) && sampling) {
    return `Unsupported parameter: '${sampling}' is not supported with this model.`;
  }
  if (REASONING.test(model) && body.max_tokens !== undefined) {
    return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  }
  if (body.metadata && !body.store) {
    return "The 'metadata' parameter is only allowed when 'store' is enabled.";
  }
  if (body.messages.every(({ role }: Json) => role === 'system')) {
    return "Invalid 'messages': empty array. Expected an array with minimum length 1.";
  }
  if (body.user?.length > 64) {
    return "Invalid 'user': string too long. Expected a string with maximum length 64.";
  }
  const names = [
    ...(body.tools ?? []).map((tool: Json) => tool.function?.name ?? ''),
    ...body.messages.flatMap(({ tool_calls: calls }: Json) =>
      (calls ?? []).map((call: Json) => call.function.name),
    ),
    body.tool_choice?.function?.name ?? '',
  ];
  if (names.some((name) => name.length > 64)) {
    return "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.";
  }
  if (/^gpt-\d/.test(model) && body.stop?.length > 4 && Array.isArray(body.stop)) {
    return "Invalid 'stop': array too long. Expected an array with maximum length 4.";
  }
  const schemas = (body.tools ?? []).map((tool: Json) => tool.function);
  const incomplete = schemas.map((one: Json) => refusedSchema(one?.parameters)).find(Boolean);
  if (incomplete) {
    return incomplete;
  }
  if (body.messages.some(isUnsaid)) {
    return "Invalid value for 'content': expected a string, got null.";
  }
  const strict = [...schemas, body.response_format?.json_schema].filter((one) => one?.strict);
  if (strict.some((one) => isOpen(one.parameters ?? one.schema))) {
    return "Invalid schema: 'required' is required to be supplied and to be an array including every key in properties.";
  }
  const byMaker = makersRefusal(body);
  if (byMaker) {
    return byMaker;
  }
  if (MISTRAL.test(model)) {
    return refusedByMistral(body);
  }
  return model.startsWith('kimi') ? undefined : refusedIds(body, (id) => id.length <= 40);
}

/** What OpenAI says of the schema of a function, by reports of users of MCP servers. */
function refusedSchema(parameters: Json): string | undefined {
  if (parameters === undefined) {
    return undefined;
  }
  if (parameters?.type !== 'object') {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${parameters?.type}"'.`;
  }
  if (parameters.properties === undefined) {
    return 'In context=(), object schema missing properties.';
  }
  return lacksItems(parameters) ? 'array schema missing items.' : undefined;
}

function lacksItems(schema: Json): boolean {
  const isObject = typeof schema === 'object' && schema !== null;
  return isObject && ((schema.type === 'array' && !schema.items) || Object.values(schema).some(lacksItems));
}

/** An answer without content, calls and refusal. DeepSeek also misses the member itself. */
function isUnsaid({ role, content, tool_calls: calls, refusal }: Json): boolean {
  const isElsewhere = calls?.length > 0 || refusal;
  return role === 'assistant' && (content === undefined || (content === null && !isElsewhere));
}

function refusedByMistral(body: Json): string | undefined {
  const says = ({ role, content, tool_calls }: Json) => role !== 'assistant' || content || tool_calls;
  if (!body.messages.every(says)) {
    return 'Assistant message must have either content or tool_calls, but not none.';
  }
  return refusedIds(body, (id) => /^[a-zA-Z0-9]{9}$/.test(id));
}

function refusedIds(body: Json, fits: (id: string) => boolean): string | undefined {
  const ids = body.messages.flatMap((message: Json) => [
    ...(message.tool_calls ?? []).map((call: Json) => call.id),
    ...(message.tool_call_id ? [message.tool_call_id] : []),
  ]);
  return ids.every(fits) ? undefined : 'Tool call id has the wrong form.';
}

function isOpen(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) {
    return false;
  }
  const names = Object.keys(schema.properties ?? {});
  const closed =
    schema.additionalProperties === false && names.every((name) => schema.required?.includes(name));
  return (schema.type === 'object' && !closed) || Object.values(schema).some(isOpen);
}

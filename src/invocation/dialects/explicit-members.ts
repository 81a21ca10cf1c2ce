import { merged } from '../../lib/merged.ts';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import {
  LISTED_SCHEMAS,
  NAMED_SCHEMAS,
  SINGLE_SCHEMAS,
  withSchemasInside,
} from '../../providers/json-schema.ts';

/**
 * Adds what a chat request may leave out by its protocol, but servers and templates insist on: DeepSeek on the `content` of an answer
 * ("missing field `content`"), OpenAI on one that is not null ("expected a string, got null"), on calls where there is a list of them and on
 * `properties` and `items` of a tool's schema ("object schema missing properties": tools of MCP servers without arguments have none),
 * llama.cpp and Ollama on type and arguments of every call ("Missing tool call type", "invalid tool call arguments"), templates of open
 * models on parameters and, if `describesTools`, a description of every tool.
 */
export function* withExplicitMembers(body: JsonObject, describesTools: boolean): Steps<JsonObject> {
  const messages = yield* changed(body.messages, withWholeAnswer);
  const tools = yield* changed(body.tools, (tool) => withWholeFunction(tool, describesTools));
  const whole = messages ? merged(body, { messages }) : body;
  return tools ? merged(whole, { tools }) : whole;
}

/** Adds to a Responses request what OpenAI insists on in the schemas of tools. */
export function* withWholeParameters(body: JsonObject): Steps<JsonObject> {
  const tools = yield* changed(body.tools, (tool) => {
    const parameters = tool.type === 'function' ? wholeParameters(tool.parameters) : tool.parameters;
    return parameters === tool.parameters ? tool : merged(tool, { parameters });
  });
  return tools ? merged(body, { tools }) : body;
}

/** Returns a list with each object changed, or undefined if none is: nearly all requests, so these cost no copy. */
function* changed(
  list: unknown,
  change: (item: JsonObject) => JsonObject,
): Steps<readonly JsonObject[] | undefined> {
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  let results: JsonObject[] | undefined;
  for (const [index, item] of items.entries()) {
    const before = objectOf(item);
    const result = change(before);
    if (result !== before) {
      results ??= items.slice(0, index).map(objectOf);
    }
    results?.push(result);
    if (isStepOver()) {
      yield undefined;
    }
  }
  return results;
}

function withWholeAnswer(message: JsonObject): JsonObject {
  return message.role === 'assistant' ? withContent(withWholeCalls(message)) : message;
}

/** Removes an empty list of calls, and says the type and the arguments of each. */
function withWholeCalls(message: JsonObject): JsonObject {
  const calls = message.tool_calls;
  if (!Array.isArray(calls)) {
    return message;
  }
  if (calls.length === 0) {
    return without(message, 'tool_calls');
  }
  const given = objectsOf(calls);
  return given.every((call) => withTypeAndArguments(call) === call)
    ? message
    : merged(message, { tool_calls: given.map(withTypeAndArguments) });
}

function withTypeAndArguments(call: JsonObject): JsonObject {
  const { type, function: called } = call;
  if (!isObject(called)) {
    return call;
  }
  const given = textOf(called.arguments);
  const whole = wholeArguments(given);
  if (type !== undefined && whole === given) {
    return call;
  }
  return merged(call, {
    type: type ?? 'function',
    function: whole === given ? called : merged(called, { arguments: whole }),
  });
}

/**
 * Returns arguments as the text of an object, so that one call that was cut off does not fail every further request: servers parse them.
 * Only looks at both ends of the text: a history holds megabytes of them.
 */
function wholeArguments(given: string): string {
  const text = given.trim();
  if (text.startsWith('{') && text.endsWith('}')) {
    return given;
  }
  return text === '' ? '{}' : JSON.stringify({ arguments: given });
}

/** A turn with calls may have no text, but says so; any other has at least an empty one. */
function withContent(message: JsonObject): JsonObject {
  const { content, tool_calls: calls, audio, refusal } = message;
  if (content !== undefined && content !== null) {
    return message;
  }
  const isElsewhere = objectsOf(calls).length > 0 || isObject(audio) || textOf(refusal) !== '';
  if (isElsewhere) {
    return content === null ? message : merged(message, { content: null });
  }
  return merged(message, { content: '' });
}

function withWholeFunction(tool: JsonObject, isDescribed: boolean): JsonObject {
  if (!isObject(tool.function)) {
    return tool;
  }
  const { name, description, parameters } = tool.function;
  const whole = wholeParameters(parameters);
  const lacksDescription = isDescribed && textOf(description) === '';
  if (whole === parameters && !lacksDescription) {
    return tool;
  }
  const described = lacksDescription ? merged(tool.function, { description: name }) : tool.function;
  return merged(tool, { function: merged(described, { parameters: whole }) });
}

/** Members by which a schema says what it accepts without a type. */
const TYPED_BY = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'] as const;

function wholeParameters(parameters: unknown): unknown {
  if (parameters === undefined || parameters === null) {
    return { type: 'object', properties: {} };
  }
  if (!isObject(parameters)) {
    return parameters;
  }
  const isUntyped = TYPED_BY.every((name) => parameters[name] === undefined);
  const isObjectSchema = isUntyped || parameters.type === 'object';
  const whole = objectOf(saysItems(parameters) ? parameters : withItems(parameters));
  const typed = isUntyped ? merged(whole, { type: 'object' }) : whole;
  return isObjectSchema && parameters.properties === undefined ? merged(typed, { properties: {} }) : typed;
}

/** Depth at which a schema is left as it is: OpenAI takes ten levels, and the walk must not exhaust the stack. */
const DEPTH_MAX = 32;

/** Returns whether all arrays of a schema say what they hold. Nearly all do, and agents send hundreds of kB of schemas with each call. */
function saysItems(schema: unknown, depth = 0): boolean {
  if (!isObject(schema) || depth === DEPTH_MAX) {
    return true;
  }
  if (lacksItems(schema)) {
    return false;
  }
  const says = (one: unknown) => saysItems(one, depth + 1);
  return (
    SINGLE_SCHEMAS.every((name) => says(schema[name])) &&
    LISTED_SCHEMAS.every((name) => !Array.isArray(schema[name]) || schema[name].every(says)) &&
    NAMED_SCHEMAS.every((name) => !isObject(schema[name]) || Object.values(schema[name]).every(says))
  );
}

function lacksItems(schema: JsonObject): boolean {
  return isArray(schema) && schema.items === undefined && schema.prefixItems === undefined;
}

/** Returns a schema whose arrays all say what they hold. */
function withItems(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth === DEPTH_MAX) {
    return schema;
  }
  const whole = withSchemasInside(schema, (one) => withItems(one, depth + 1));
  return lacksItems(schema) ? merged(whole, { items: {} }) : whole;
}

function isArray({ type }: JsonObject): boolean {
  return type === 'array' || (Array.isArray(type) && type.includes('array'));
}

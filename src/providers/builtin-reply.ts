import { isObject, type JsonObject, objectOf, objectsOf, textOf } from './json.ts';

/** Maximum schema depth. Deeper levels become null because a schema may refer to itself. */
const DEPTH_MAX = 8;

/** Maximum length of the prompt quoted back, in UTF-16 units. */
const QUOTE_MAX = 400;
/** Largest number it counts to when asked. */
const COUNT_MAX = 10_000;
const COUNT_REQUEST = /\bcount (?:up )?to (\d{1,5})\b/i;

export interface BuiltinReply {
  /** Text of the reply; empty when a tool is called. */
  readonly text: string;
  readonly tool?: { readonly name: string; readonly arguments: string };
}

/** Composes the builtin model's answer to a chat request. The same request always gets the same answer. */
export function composeReply(body: JsonObject): BuiltinReply {
  const messages = objectsOf(body.messages);
  const last = messages.at(-1) ?? {};
  const prompt = contentText(last.content);
  const tool = chooseTool(body, last, prompt);
  if (tool) {
    return { text: '', tool };
  }
  const json = jsonReply(body.response_format, prompt);
  return { text: json ?? textReply(last, prompt) };
}

/** Returns all text of a message's content, with parts joined by line breaks. */
export function contentText(content: unknown): string {
  return Array.isArray(content)
    ? objectsOf(content)
        .map((part) => textOf(part.text))
        .filter((text) => text !== '')
        .join('\n')
    : textOf(content);
}

function textReply(last: JsonObject, prompt: string): string {
  if (last.role === 'tool') {
    return `The tool answered: ${quote(prompt)}`;
  }
  const target = Number(COUNT_REQUEST.exec(prompt.slice(0, QUOTE_MAX))?.[1]);
  if (target >= 1 && target <= COUNT_MAX) {
    return Array.from({ length: target }, (_, index) => index + 1).join(' ');
  }
  const images = objectsOf(last.content).filter((part) => part.type === 'image_url').length;
  const seen = images === 0 ? '' : ` with ${images} image${images === 1 ? '' : 's'}`;
  return (
    "This is Tollgate's builtin model. It runs inside the gateway, knows nothing and answers the same way every time, " +
    'so that keys, streaming, tools and billing can be tried without a provider. Ask it to "count to 100" for a ' +
    `longer answer. You wrote${seen}: ${quote(prompt)}`
  );
}

function jsonReply(responseFormat: unknown, prompt: string): string | undefined {
  const format = objectOf(responseFormat);
  if (format.type === 'json_schema') {
    return JSON.stringify(jsonExampleOf(objectOf(format.json_schema).schema));
  }
  return format.type === 'json_object'
    ? JSON.stringify({ model: 'builtin', prompt: prompt.slice(0, QUOTE_MAX) })
    : undefined;
}

/** Calls a tool when the request forces one, or when the user names one and the request leaves the choice to the model. */
function chooseTool(body: JsonObject, last: JsonObject, prompt: string): BuiltinReply['tool'] {
  const functions = objectsOf(body.tools).map((tool) => objectOf(tool.function));
  const choice = body.tool_choice;
  const named = isObject(choice) ? textOf(objectOf(choice.function).name) : undefined;
  let chosen: JsonObject | undefined;
  if (choice === 'none') {
    return undefined;
  }
  if (named !== undefined) {
    chosen = functions.find((candidate) => candidate.name === named);
  } else if (choice === 'required') {
    chosen = functions[0];
  } else if (last.role !== 'tool') {
    chosen = functions.find(
      (candidate) => textOf(candidate.name) !== '' && prompt.includes(textOf(candidate.name)),
    );
  }
  const example = chosen && jsonExampleOf(chosen.parameters ?? { type: 'object' });
  return chosen && { name: textOf(chosen.name), arguments: JSON.stringify(isObject(example) ? example : {}) };
}

function quote(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return JSON.stringify(line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line);
}

/** Cuts a text where the earliest stop sequence begins. */
export function cutAtStop(text: string, stop: unknown): string {
  const sequences = (Array.isArray(stop) ? stop : [stop]).filter(
    (item) => typeof item === 'string' && item !== '',
  );
  const positions = sequences
    .map((sequence) => text.indexOf(String(sequence)))
    .filter((position) => position >= 0);
  return text.slice(0, Math.min(text.length, ...positions));
}

/**
 * Returns a small value that matches a JSON schema, the same one every time: its default, example or first enum member if given, a plain
 * value otherwise. Fills in only required members.
 */
export function jsonExampleOf(schema: unknown, depth = 0): unknown {
  const object = objectOf(schema);
  const given = firstGiven(object);
  if (given !== undefined) {
    return given;
  }
  if (depth >= DEPTH_MAX) {
    return null;
  }
  const [alternative] = [object.anyOf, object.oneOf, object.allOf].flatMap((list) =>
    Array.isArray(list) ? list.slice(0, 1) : [],
  );
  return alternative === undefined ? exampleOfType(object, depth) : jsonExampleOf(alternative, depth + 1);
}

function firstGiven(schema: JsonObject): unknown {
  if ('const' in schema) {
    return schema.const;
  }
  for (const list of [schema.enum, schema.examples]) {
    if (Array.isArray(list) && list.length > 0) {
      return list[0];
    }
  }
  return schema.default;
}

function exampleOfType(schema: JsonObject, depth: number): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type ?? (isObject(schema.properties) ? 'object' : 'string')) {
    case 'object':
      return exampleOfObject(schema, depth);
    case 'array':
      return [jsonExampleOf(schema.items, depth + 1)];
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return textOf(schema.title) || 'example';
  }
}

function exampleOfObject(schema: JsonObject, depth: number): JsonObject {
  const properties = objectOf(schema.properties);
  const required = Array.isArray(schema.required) ? schema.required : Object.keys(properties);
  const names = required.filter((name) => typeof name === 'string');
  return Object.fromEntries(names.map((name) => [name, jsonExampleOf(properties[name], depth + 1)]));
}

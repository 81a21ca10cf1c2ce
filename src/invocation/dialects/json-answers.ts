import { merged } from '../../lib/merged.ts';
import { type JsonObject, objectOf, objectsOf, without } from '../../providers/json.ts';
import type { RequestDialect } from '../../providers/provider.types.ts';
import { withWords } from './asked-in-words.ts';
import type { ChatModelRules } from './chat-models.ts';
import { isSystemTurn } from './system-turns.ts';

/** Says in words what `json_object` asks for. Servers also want to read the word JSON before they take that format. */
export const JSON_ONLY = 'Answer with one valid JSON object and nothing else.';

const JSON_TYPES: readonly unknown[] = ['json_schema', 'json_object'];

/** Types of formats that servers reject. */
const REJECTED: Readonly<Record<ChatModelRules['answers'], readonly unknown[]>> = {
  schema: [],
  schema_without_thinking: [],
  object: ['json_schema'],
  text: JSON_TYPES,
};

/** Returns the format of the answer that a request in the caller's dialect asks for, and the name of the member that says so. */
export function askedFormat(
  body: JsonObject,
  from: RequestDialect,
): readonly [format: JsonObject, member: string] {
  if (from !== 'messages') {
    return [objectOf(body.response_format), 'response_format'];
  }
  const { format } = objectOf(body.output_config);
  return format === undefined || format === null
    ? [objectOf(body.output_format), 'output_format']
    : [objectOf(format), 'output_config.format'];
}

/** Returns whether a request asks for an answer in JSON. */
export function asksForJson(body: JsonObject, from: RequestDialect): boolean {
  const [{ type }] = askedFormat(body, from);
  return JSON_TYPES.includes(type);
}

/** Returns the member that asks for a format to which the model's server can't hold the answer. */
export function formatOnlySaid(
  body: JsonObject,
  from: RequestDialect,
  { answers }: ChatModelRules,
): string[] {
  const [{ type }, member] = askedFormat(body, from);
  return REJECTED[answers].includes(type) ? [member] : [];
}

/**
 * Says in words which format an answer must have, where the model's server rejects it. Among the instructions: a chat that asks for the
 * same format in all its calls keeps its cache.
 */
export function withFormatSaid(body: JsonObject, rules: ChatModelRules): JsonObject {
  if (formatOnlySaid(body, 'chat', rules).length === 0) {
    return body;
  }
  const { schema } = objectOf(objectOf(body.response_format).json_schema);
  const fitting = schema === undefined ? '' : ` It must fit this JSON Schema:\n${JSON.stringify(schema)}`;
  return merged(without(body, 'response_format'), {
    messages: instructed(objectsOf(body.messages), JSON_ONLY + fitting),
    ...(rules.answers === 'object' && { response_format: { type: 'json_object' } }),
  });
}

function instructed(messages: readonly JsonObject[], text: string): JsonObject[] {
  const [first] = messages;
  return first && isSystemTurn(first)
    ? [withWords(first, text), ...messages.slice(1)]
    : [{ role: 'system', content: text }, ...messages];
}

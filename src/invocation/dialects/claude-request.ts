import { AppError } from '../../lib/errors.ts';
import { merged } from '../../lib/merged.ts';
import { flatMapInSteps, isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  without,
} from '../../providers/json.ts';
import { describedWith } from '../../providers/json-schema.ts';
import { isForeignCitation } from './annotations.ts';
import {
  type ClaudeCall,
  claudeEffort,
  claudeThinking,
  fittingEdits,
  withReadableThinking,
} from './claude-thinking.ts';
import { refusedMembers } from './model-rules.ts';
import { withoutSystemTurns, withSystemTurns } from './system-turns.ts';
import { isForeign } from './thinking-details.ts';
import { isForced, messagesToolChoice, readMessagesToolPolicy, withToolsAskedFor } from './tool-choices.ts';
import { cleanToolId } from './tool-ids.ts';

/** Keywords that Anthropic's structured outputs and strict tools accept. Source: platform.claude.com/docs, "JSON Schema limitations". */
const TAKEN = new Set([
  '$ref',
  '$defs',
  'definitions',
  'type',
  'title',
  'description',
  'enum',
  'const',
  'default',
  'properties',
  'required',
  'items',
  'anyOf',
  'allOf',
]);

const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Schema members that map names to schemas, and members that are lists of schemas. */
const MAPS = new Set(['properties', '$defs', 'definitions']);
const LISTS = new Set(['anyOf', 'allOf']);
/** Deeper schemas are passed on unchanged. The depth of the request itself is limited earlier. */
const DEPTH_MAX = 100;

/**
 * Adapts a messages request, translated or the caller's own, to what Anthropic accepts for the model: no sampling settings or budgets
 * where it rejects them, no thinking where the history has none to continue from, only efforts that it knows, no forced tools where it
 * takes none, schemas without keywords it rejects, clean tool ids, thinking only with a signature. Throws AppError invalid_parameter when no
 * message is left.
 */
export function* claudeRequest(call: ClaudeCall): Steps<JsonObject> {
  const { body: request, rules } = call;
  const body = rules.systemTurns ? withSystemTurns(request) : yield* withoutSystemTurns(request);
  yield undefined;
  const messages = yield* flatMapInSteps(objectsOf(body.messages), tidyTurn);
  if (messages.length === 0 && Array.isArray(body.messages)) {
    throw new AppError('invalid_parameter', 'messages: must contain at least one message with content');
  }
  const thinking = claudeThinking(call, messages);
  const config = objectOf(body.output_config);
  const effort = claudeEffort(call, thinking);
  const output = compact(merged(config, { effort, format: formatOf(config.format) }));
  const policy = readMessagesToolPolicy(body);
  const isUnforced = isForced(policy) && !rules.takesForcedTools;
  const changes = {
    messages: isUnforced ? withToolsAskedFor(messages, policy) : messages,
    ...(isUnforced && { tool_choice: messagesToolChoice({ mode: 'auto', parallel: policy.parallel }) }),
    tools: Array.isArray(body.tools) ? yield* mapInSteps(objectsOf(body.tools), toolFor) : undefined,
    thinking: withReadableThinking(thinking, messages, rules),
    context_management: fittingEdits(call, thinking),
    output_config: Object.keys(output).length === 0 ? undefined : output,
  };
  return compact(without(merged(body, changes), ...refusedMembers(body, rules)));
}

function formatOf(format: unknown): unknown {
  return isObject(format) && format.type === 'json_schema'
    ? { ...format, schema: claudeSchema(format.schema) }
    : format;
}

function toolFor(tool: JsonObject): JsonObject {
  if (!isObject(tool.input_schema)) {
    return tool;
  }
  const schema = tool.strict === true ? objectOf(claudeSchema(tool.input_schema)) : tool.input_schema;
  return { ...tool, input_schema: schema.type === undefined ? { type: 'object', ...schema } : schema };
}

/** Removes what Anthropic rejects from a turn. Returns no turn when nothing is left. */
function* tidyTurn(turn: JsonObject): Steps<readonly JsonObject[]> {
  if (!Array.isArray(turn.content)) {
    return turn.content === '' ? [] : [turn];
  }
  // a system turn that only sets the effort
  if (turn.output_config !== undefined && turn.content.length === 0) {
    return [turn];
  }
  const content: JsonObject[] = [];
  for (const block of objectsOf(turn.content)) {
    const tidy = tidyBlock(block);
    if (tidy) {
      content.push(tidy);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return content.length === 0 ? [] : [{ ...turn, content }];
}

function tidyBlock(block: JsonObject): JsonObject | undefined {
  switch (block.type) {
    case 'text':
      return /\S/.test(textOf(block.text)) ? withOwnCitations(block) : undefined;
    case 'thinking':
      return textOf(block.signature) === '' ? undefined : block;
    case 'redacted_thinking':
      return isForeign(block) ? undefined : block;
    case 'tool_use':
      return { ...block, id: cleanToolId(textOf(block.id)) };
    case 'tool_result':
      return { ...block, tool_use_id: cleanToolId(textOf(block.tool_use_id)) };
    default:
      return block;
  }
}

/** Removes citations that are not Anthropic's own. */
function withOwnCitations(block: JsonObject): JsonObject {
  const citations = objectsOf(block.citations);
  const own = citations.filter((citation) => !isForeignCitation(citation));
  if (own.length === citations.length) {
    return block;
  }
  return own.length === 0 ? without(block, 'citations') : merged(block, { citations: own });
}

/**
 * Converts a JSON schema to one that Anthropic accepts: keywords that it rejects move to the description for the model to read, as in its
 * own SDKs, and objects are closed.
 */
function claudeSchema(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) {
    return schema;
  }
  const kept: Record<string, unknown> = {};
  const told: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'oneOf' && !('anyOf' in schema)) {
      kept.anyOf = schemas(value, depth);
    } else if (MAPS.has(name)) {
      kept[name] = mapOf(value, depth);
    } else if (LISTS.has(name)) {
      kept[name] = schemas(value, depth);
    } else if (name === 'items') {
      kept.items = claudeSchema(value, depth + 1);
    } else if (isTaken(name, value)) {
      kept[name] = value;
    } else if (name !== 'additionalProperties' && name !== '$schema') {
      told.push(`${name}: ${JSON.stringify(value)}`);
    }
  }
  if (schema.type === 'object' || 'properties' in schema) {
    kept.additionalProperties = false;
  }
  return told.length === 0 ? kept : { ...kept, description: describedWith(schema.description, told) };
}

function isTaken(name: string, value: unknown): boolean {
  if (name === 'format') {
    return FORMATS.has(String(value));
  }
  return TAKEN.has(name) || (name === 'minItems' && (value === 0 || value === 1));
}

function schemas(value: unknown, depth: number): unknown {
  return Array.isArray(value) ? value.map((one) => claudeSchema(one, depth + 1)) : value;
}

function mapOf(value: unknown, depth: number): JsonObject | unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, claudeSchema(one, depth + 1)]))
    : value;
}

import { AppError } from '../../lib/errors.ts';
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
import { claudeSchema } from './claude-schema.ts';
import { type ModelRules, refusedMembers } from './model-rules.ts';
import { withoutSystemTurns, withSystemTurns } from './system-turns.ts';
import { cleanToolId } from './tool-ids.ts';

/**
 * A messages request, ours or the caller's, in the form that Anthropic accepts for the model: no sampling settings or
 * budgets where it refuses them, no thinking where the history has none to go on from, schemas without keywords it
 * refuses, clean tool ids, thinking only with a signature. Throws AppError invalid_parameter when nothing is left to answer.
 */
export function* claudeRequest(request: JsonObject, rules: ModelRules): Steps<JsonObject> {
  const body = rules.systemTurns ? withSystemTurns(request) : yield* withoutSystemTurns(request);
  yield undefined;
  const messages = yield* flatMapInSteps(objectsOf(body.messages), tidyTurn);
  if (messages.length === 0 && Array.isArray(body.messages)) {
    throw new AppError('invalid_parameter', 'messages: must contain at least one message with content');
  }
  const thinking = claudeThinking(body.thinking, messages, rules);
  const config = objectOf(body.output_config);
  const effort = thinking?.type === 'adaptive' ? (config.effort ?? effortOf(body.thinking)) : config.effort;
  const output = compact({ ...config, effort, format: formatOf(config.format) });
  return compact({
    ...without(body, ...refusedMembers(body, rules)),
    messages,
    tools: Array.isArray(body.tools) ? yield* mapInSteps(objectsOf(body.tools), toolFor) : undefined,
    thinking,
    output_config: Object.keys(output).length === 0 ? undefined : output,
  });
}

/**
 * True when thinking by a budget cannot go on: the last answer called tools without a thinking block before, and the
 * protocol wants one there ("a final assistant message must start with a thinking block").
 */
export function lacksThinking(messages: readonly JsonObject[]): boolean {
  const last = messages.findLast((turn) => turn.role === 'assistant');
  const blocks = objectsOf(last?.content);
  const first = blocks[0]?.type;
  return (
    blocks.some((block) => block.type === 'tool_use') && first !== 'thinking' && first !== 'redacted_thinking'
  );
}

/** How the model is asked to think; undefined: not at all, because nothing was asked or the history has no thinking to go on from. */
export function claudeThinking(
  thinking: unknown,
  messages: readonly JsonObject[],
  rules: ModelRules,
): JsonObject | undefined {
  if (!isObject(thinking)) {
    return undefined;
  }
  if (thinking.type !== 'enabled') {
    return thinking;
  }
  if (rules.thinking === 'adaptive') {
    return compact({ type: 'adaptive', display: thinking.display });
  }
  return lacksThinking(messages) ? undefined : thinking;
}

/** Anthropic's word for a budget in tokens; the shares are those of its former defaults. */
function effortOf(thinking: unknown): string {
  const budget = Number(objectOf(thinking).budget_tokens ?? 0);
  if (budget <= LOW_BUDGET) {
    return 'low';
  }
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** Budgets up to which an effort is called low and medium, in tokens. */
const LOW_BUDGET = 2_048;
const MEDIUM_BUDGET = 8_192;

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

/** A turn without what Anthropic refuses, the same object where nothing is to be done; none where nothing is left. */
function* tidyTurn(turn: JsonObject): Steps<readonly JsonObject[]> {
  if (!Array.isArray(turn.content)) {
    return turn.content === '' ? [] : [turn];
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
      return /\S/.test(textOf(block.text)) ? block : undefined;
    case 'thinking':
      return textOf(block.signature) === '' ? undefined : block;
    case 'tool_use':
      return { ...block, id: cleanToolId(textOf(block.id)) };
    case 'tool_result':
      return { ...block, tool_use_id: cleanToolId(textOf(block.tool_use_id)) };
    default:
      return block;
  }
}

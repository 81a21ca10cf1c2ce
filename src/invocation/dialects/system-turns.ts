import { merged } from '../../lib/merged.ts';
import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';

/** Blocks of a system turn that add or remove tools. All other blocks are instructions. */
const TOOL_CHANGES: ReadonlySet<unknown> = new Set(['tool_addition', 'tool_removal']);

/** Returns whether a turn has instructions of the program, rather than what its user or the model said. */
export function isSystemTurn(turn: JsonObject): boolean {
  return turn.role === 'system' || turn.role === 'developer';
}

/** Moves instructions that stand between tool calls and their results behind the results: every protocol requires these to be adjacent. */
function afterResults(turns: readonly JsonObject[]): readonly JsonObject[] {
  const ordered: JsonObject[] = [];
  let waiting: JsonObject[] = [];
  for (const turn of turns) {
    if (isSystemTurn(turn)) {
      waiting.push(turn);
    } else if (waiting.length > 0 && holdsResults(turn)) {
      ordered.push(turn);
    } else {
      ordered.push(...waiting, turn);
      waiting = [];
    }
  }
  return [...ordered, ...waiting];
}

/** Returns whether any turn says how long it is shown. */
export function hasClearing({ messages }: JsonObject): boolean {
  return objectsOf(messages).some((turn) => turn.clear_at !== undefined);
}

/** Applies `clear_at` for providers that do not know it: instructions for one question only are left out once the next one is asked. */
export function withoutClearedTurns(body: JsonObject): JsonObject {
  const turns = objectsOf(body.messages);
  const question = turns.findLastIndex(({ role }) => role === 'user');
  const messages = turns
    .filter((turn, index) => turn.clear_at !== 'next_user_message' || !isSystemTurn(turn) || index > question)
    .map((turn) => without(turn, 'clear_at'));
  return merged(body, { messages });
}

/** Returns the turns of a request for a protocol that accepts instructions anywhere. */
export function systemTurnsInPlace(turns: unknown): readonly JsonObject[] {
  return afterResults(objectsOf(turns));
}

/** Adapts a request for a model that supports system turns, with the only role name it accepts for them. */
export function withSystemTurns(body: JsonObject): JsonObject {
  const turns = objectsOf(body.messages);
  if (!turns.some(isSystemTurn)) {
    return body;
  }
  const named = afterResults(turns).map((turn) => (isSystemTurn(turn) ? { ...turn, role: 'system' } : turn));
  return { ...body, messages: named };
}

/**
 * Adapts a request for a model without system turns: those before the first question go into `system`, later ones become reminders in
 * place. Putting all of them into `system` would change its beginning each time, and with it what the provider has cached.
 */
export function* withoutSystemTurns(body: JsonObject): Steps<JsonObject> {
  const turns = objectsOf(body.messages);
  if (!turns.some(isSystemTurn)) {
    return body;
  }
  const asked = turns.findIndex((turn) => !isSystemTurn(turn));
  const first = asked === -1 ? turns.length : asked;
  const leading = turns.slice(0, first).flatMap(instructionsOf);
  const rest = afterResults(turns.slice(first));
  const messages = yield* mapInSteps(rest, (turn) =>
    isSystemTurn(turn) ? { role: 'user', content: instructionsOf(turn).map(asReminder) } : turn,
  );
  const system = [...blocksOf(body.system), ...leading];
  const changed = { messages: yield* joined(messages), ...(system.length === 0 ? {} : { system }) };
  return merged(body, changed);
}

/** Returns the instructions of a system turn as blocks. */
function instructionsOf(turn: JsonObject): JsonObject[] {
  return blocksOf(turn.content).filter((block) => !TOOL_CHANGES.has(block.type));
}

/** Returns the tools that system turns define. */
export function addedTools(turns: unknown): JsonObject[] {
  return objectsOf(turns)
    .filter(isSystemTurn)
    .flatMap((turn) => objectsOf(turn.content))
    .map((block) => objectOf(block.tool).definition)
    .filter(isObject);
}

function blocksOf(content: unknown): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
}

/** Wraps an instruction within a user turn in the tag that Claude Code itself uses for older models. */
function asReminder(block: JsonObject): JsonObject {
  return { ...block, text: `<system-reminder>\n${textOf(block.text)}\n</system-reminder>` };
}

function holdsResults(turn: JsonObject): boolean {
  return objectsOf(turn.content).some((block) => block.type === 'tool_result');
}

/** Merges adjacent user turns, so that turns alternate. */
function* joined(turns: readonly JsonObject[]): Steps<JsonObject[]> {
  const merged: JsonObject[] = [];
  /** Content of the last turn, once several were merged into it. */
  let content: JsonObject[] | undefined;
  for (const turn of turns) {
    if (isStepOver()) {
      yield undefined;
    }
    const last = merged.at(-1);
    if (last?.role !== 'user' || turn.role !== 'user') {
      merged.push(turn);
      content = undefined;
      continue;
    }
    if (!content) {
      content = [...blocksOf(last.content)];
      merged[merged.length - 1] = { ...without(last, 'content'), content };
    }
    for (const block of blocksOf(turn.content)) {
      content.push(block);
    }
  }
  return merged;
}

import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';

/** What of a system turn is an instruction; the rest of it adds and removes tools. */
const TOOL_CHANGES: ReadonlySet<unknown> = new Set(['tool_addition', 'tool_removal']);

function isSystemTurn(turn: JsonObject): boolean {
  return turn.role === 'system' || turn.role === 'developer';
}

/** Turns with no instruction between calls of tools and their results: every protocol wants these next to each other. */
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

/** The turns of a request for a protocol that takes instructions at any place. */
export function systemTurnsInPlace(turns: unknown): readonly JsonObject[] {
  return afterResults(objectsOf(turns));
}

/** A request for a model that knows system turns, by the one name it has for them. */
export function withSystemTurns(body: JsonObject): JsonObject {
  const turns = objectsOf(body.messages);
  if (!turns.some(isSystemTurn)) {
    return body;
  }
  const named = afterResults(turns).map((turn) => (isSystemTurn(turn) ? { ...turn, role: 'system' } : turn));
  return { ...body, messages: named };
}

/**
 * A request for a model that knows no system turns: those before the first question stand in `system`, later ones as reminders in the
 * turn they came at. All of them in `system` would change its beginning, and with it what the provider has cached, at every one.
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
  return { ...body, ...(system.length === 0 ? {} : { system }), messages: yield* joined(messages) };
}

/** The instructions of a system turn as blocks. */
function instructionsOf(turn: JsonObject): JsonObject[] {
  return blocksOf(turn.content).filter((block) => !TOOL_CHANGES.has(block.type));
}

/** The tools that system turns define. */
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

/** The mark by which Claude Code itself tells older models what is an instruction within a user's turn. */
function asReminder(block: JsonObject): JsonObject {
  return { ...block, text: `<system-reminder>\n${textOf(block.text)}\n</system-reminder>` };
}

function holdsResults(turn: JsonObject): boolean {
  return objectsOf(turn.content).some((block) => block.type === 'tool_result');
}

/** Neighbouring user turns as one, so that turns alternate. */
function* joined(turns: readonly JsonObject[]): Steps<JsonObject[]> {
  const merged: JsonObject[] = [];
  /** The content of the last turn, once it is of several. */
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

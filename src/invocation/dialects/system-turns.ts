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
  const { leading, rest } = splitAtQuestion(turns);
  const messages = yield* mapInSteps(afterResults(rest), (turn) =>
    isSystemTurn(turn) ? { role: 'user', content: instructionsOf(turn).map(asReminder) } : turn,
  );
  const system = [...blocksOf(body.system), ...leading.flatMap(instructionsOf)];
  const changed = { messages: yield* joined(messages), ...(system.length === 0 ? {} : { system }) };
  return merged(body, changed);
}

/** What the user says first where a model wants that and its conversation begins otherwise. */
export const GREETING: JsonObject = { role: 'user', content: 'Hello.' };

/**
 * Adapts a chat request for a model that takes instructions only as the first message, or in none: then the user says them. Those before the
 * first question become one message, later ones reminders, for the reason that {@link withoutSystemTurns} has. Such models also look for
 * what the user asks (Qwen: "No user query found in messages"), so instructions alone are said by the user.
 */
export function* withInstructionsIn(body: JsonObject, place: 'first' | 'none'): Steps<JsonObject> {
  const turns = objectsOf(body.messages);
  const { leading, rest } = splitAtQuestion(turns);
  const isPlaced = leading.length === 0 || (leading.length === 1 && place === 'first');
  if (isPlaced && rest.some(isUserTurn) && !rest.some(isSystemTurn)) {
    return body;
  }
  const later = yield* mapInSteps(afterResults(rest), asReminderTurn);
  const isSaid = place === 'none' || later.length === 0;
  const first = together(leading).map((turn) => (isSaid ? merged(turn, { role: 'user' }) : turn));
  const asked = isSaid || later.some(isUserTurn) ? [] : [GREETING];
  return merged(body, { messages: [...first, ...asked, ...later] });
}

function isUserTurn({ role }: JsonObject): boolean {
  return role === 'user';
}

/** Does the same to the items of a Responses request, whose first message is its `instructions`. */
export function* itemsWithInstructionsIn(body: JsonObject, place: 'first' | 'none'): Steps<JsonObject> {
  const { leading, rest } = splitAtQuestion(objectsOf(body.input));
  const isPlaced = leading.length === 0 && (place === 'first' || textOf(body.instructions) === '');
  if (isPlaced && !rest.some(isSystemTurn)) {
    return body;
  }
  const texts = leading.flatMap(instructionsOf).map(({ text }) => textOf(text));
  const said = [textOf(body.instructions), ...texts].filter((text) => text !== '').join('\n\n');
  const later = yield* mapInSteps(rest, asReminderTurn);
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : later;
  if (place === 'none' && said !== '') {
    return merged(without(body, 'instructions'), { input: [{ role: 'user', content: said }, ...input] });
  }
  return merged(body, said === '' ? { input: later } : { instructions: said, input: later });
}

/** Splits off the instructions before the first question. */
function splitAtQuestion(turns: readonly JsonObject[]): {
  readonly leading: readonly JsonObject[];
  readonly rest: readonly JsonObject[];
} {
  const asked = turns.findIndex((turn) => !isSystemTurn(turn));
  const first = asked === -1 ? turns.length : asked;
  return { leading: turns.slice(0, first), rest: turns.slice(first) };
}

/** Joins instructions into one message. */
function together(turns: readonly JsonObject[]): readonly JsonObject[] {
  return turns.length <= 1 ? turns : [{ ...turns[0], content: joinedContent(turns) }];
}

/** Returns what several turns say as the content of one: as text up to the first that has parts, as parts from there on. */
export function joinedContent(turns: readonly JsonObject[]): unknown {
  const contents = turns.map(({ content }) => content ?? '').filter((content) => content !== '');
  const parts = contents.findIndex(Array.isArray);
  if (parts === -1) {
    return contents.join('\n\n');
  }
  const text = contents.slice(0, parts).join('\n\n');
  return [...(text === '' ? [] : blocksOf(text)), ...contents.slice(parts).flatMap(blocksOf)];
}

/** Returns instructions as a reminder of the user; any other turn unchanged. */
function asReminderTurn(turn: JsonObject): JsonObject {
  if (!isSystemTurn(turn)) {
    return turn;
  }
  const { content } = turn;
  const reminders = instructionsOf(turn).map(asReminder);
  return { ...turn, role: 'user', content: typeof content === 'string' ? reminders[0]?.text : reminders };
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
  return turn.role === 'tool' || objectsOf(turn.content).some((block) => block.type === 'tool_result');
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

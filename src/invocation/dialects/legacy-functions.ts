import { AppError } from '../../lib/errors.ts';
import type { Steps } from '../../lib/steps.ts';
import { placeOf } from '../../providers/chat-message.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  without,
} from '../../providers/json.ts';

/**
 * Returns whether a request uses `functions`, OpenAI's predecessor of tools: at most one call per answer, identified only by its
 * function.
 */
export function offersFunctions(body: JsonObject): boolean {
  return Array.isArray(body.functions);
}

/**
 * Converts a chat request from `functions` to tools, which every provider supports: `functions`, `function_call`, and the calls and
 * results of earlier turns. Returns any other request unchanged. Throws AppError invalid_parameter for both forms in one request and for
 * a result without its call.
 */
export function* functionsAsTools<Body extends JsonObject>(body: Body): Steps<Body> {
  const turns = objectsOf(body.messages);
  const isOld = (turn: JsonObject) => turn.role === 'function' || isObject(turn.function_call);
  const messages = turns.some(isOld) ? { messages: turnsWithTools(turns) } : undefined;
  if (!offersFunctions(body)) {
    return messages ? { ...body, ...messages } : body;
  }
  if (Array.isArray(body.tools) || body.tool_choice !== undefined) {
    throw new AppError('invalid_parameter', 'functions: cannot be combined with tools; send tools alone');
  }
  yield undefined;
  const tools = objectsOf(body.functions).map((named) => ({ type: 'function', function: named }));
  return {
    ...(without(body, 'functions', 'function_call') as Body),
    ...messages,
    tools,
    // the older form has room for one call; servers without this switch seldom make two
    ...(tools.length > 0 && { ...choiceOf(body.function_call), parallel_tool_calls: false }),
  };
}

function choiceOf(wanted: unknown): JsonObject {
  if (typeof wanted === 'string') {
    return { tool_choice: wanted };
  }
  const { name } = objectOf(wanted);
  return name === undefined ? {} : { tool_choice: { type: 'function', function: { name } } };
}

/** Converts turns. A result names only its function, so it answers the preceding call. */
function turnsWithTools(turns: readonly JsonObject[]): JsonObject[] {
  let calls = 0;
  let open: string | undefined;
  return turns.map((turn, index) => {
    if (isObject(turn.function_call)) {
      calls += 1;
      open = `call_${calls}`;
      const call = { id: open, type: 'function', function: turn.function_call };
      return { ...without(turn, 'function_call'), tool_calls: [call] };
    }
    if (turn.role !== 'function') {
      return turn;
    }
    if (open === undefined) {
      throw new AppError(
        'invalid_parameter',
        `messages[${index}]: the result of a function must follow the function_call that it answers`,
      );
    }
    const result = { role: 'tool', tool_call_id: open, content: turn.content ?? '' };
    open = undefined;
    return result;
  });
}

/**
 * Converts an exact choice of an answer or chunk so that its tool call is in `function_call`. Returns undefined when nothing is left to
 * send.
 */
export function choiceWithFunctionCall(choice: JsonObject): JsonObject | undefined {
  const place = placeOf(choice);
  const said = objectOf(choice[place]);
  const finish = choice.finish_reason === 'tool_calls' ? { finish_reason: 'function_call' } : {};
  if (!Array.isArray(said.tool_calls)) {
    return { ...choice, ...finish };
  }
  const call = objectsOf(said.tool_calls).find(({ index }) => index === undefined || index === 0);
  const rest = without(said, 'tool_calls');
  if (!call) {
    return Object.keys(rest).length === 0 ? undefined : { ...choice, [place]: rest, ...finish };
  }
  const { name, arguments: args } = objectOf(call.function);
  const told = compact({ name, arguments: textOf(args) });
  return { ...choice, [place]: { ...rest, function_call: told }, ...finish };
}

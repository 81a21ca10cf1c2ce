import { compact, isObject, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { withWords } from './asked-in-words.ts';

/** How a request wants its tools to be used, in either dialect. */
export interface ToolPolicy {
  readonly mode: 'auto' | 'none' | 'any' | 'tool' | undefined;
  /** The forced tool in mode `tool`. */
  readonly name?: string;
  /** The only tools that may be used. Undefined for all. */
  readonly allowed?: readonly string[];
  readonly parallel: boolean | undefined;
}

const CHAT_MODES: Readonly<Record<string, 'auto' | 'none' | 'any'>> = {
  auto: 'auto',
  none: 'none',
  required: 'any',
  any: 'any',
};

/** Returns whether the model must use a tool. */
export function isForced({ mode }: ToolPolicy): boolean {
  return mode === 'any' || mode === 'tool';
}

/** Reads chat's `tool_choice` (word, tool name, function, allowed tools) and `parallel_tool_calls`. */
export function readChatToolPolicy(body: JsonObject): ToolPolicy {
  const parallel = typeof body.parallel_tool_calls === 'boolean' ? body.parallel_tool_calls : undefined;
  const choice = body.tool_choice;
  if (typeof choice === 'string') {
    return readWord(choice, parallel);
  }
  if (!isObject(choice)) {
    return { mode: undefined, parallel };
  }
  if (choice.type === 'allowed_tools') {
    const rule = objectOf(choice.allowed_tools);
    const allowed = objectsOf(rule.tools).map(chatToolName);
    return { mode: rule.mode === 'required' ? 'any' : 'auto', allowed, parallel };
  }
  return { mode: 'tool', name: chatToolName(choice), parallel };
}

/** Reads messages' `tool_choice`: an object, or a single word, which our API also accepts. */
export function readMessagesToolPolicy(body: JsonObject): ToolPolicy {
  const choice = body.tool_choice;
  if (typeof choice === 'string') {
    return readWord(choice, undefined);
  }
  if (!isObject(choice)) {
    return { mode: undefined, parallel: undefined };
  }
  const parallel = choice.disable_parallel_tool_use === true ? false : undefined;
  return choice.type === 'tool'
    ? { mode: 'tool', name: textOf(choice.name), parallel }
    : readWord(textOf(choice.type), parallel);
}

/** Returns the chat request members that express the policy. */
export function chatToolChoice(policy: ToolPolicy): JsonObject {
  const words = { auto: 'auto', none: 'none', any: 'required', tool: undefined } as const;
  const forced = { type: 'function', function: { name: policy.name } };
  return compact({
    tool_choice: policy.mode === 'tool' ? forced : policy.mode && words[policy.mode],
    parallel_tool_calls: policy.parallel,
  });
}

/** Returns the `tool_choice` of a messages request that expresses the policy, or undefined when it requests nothing. */
export function messagesToolChoice(policy: ToolPolicy): JsonObject | undefined {
  const serial = policy.parallel === false && policy.mode !== 'none';
  if (policy.mode === undefined && !serial) {
    return undefined;
  }
  return compact({
    type: policy.mode ?? 'auto',
    name: policy.name,
    disable_parallel_tool_use: serial ? true : undefined,
  });
}

const ANY_TOOL = 'Answer with a call of at least one of your tools.';

/**
 * Asks for the tool call that a model does not let a request force. At the end of the last question: nothing before it changes, neither for
 * the provider's cache nor for the thinking bound to it. After the results of a chat's tools, which are messages of their own, it is a
 * question.
 */
export function withToolsAskedFor(turns: readonly JsonObject[], { name }: ToolPolicy): readonly JsonObject[] {
  const last = turns.at(-1);
  const text = name === undefined ? ANY_TOOL : `Answer with a call of the tool ${JSON.stringify(name)}.`;
  if (last?.role === 'tool') {
    return [...turns, { role: 'user', content: text }];
  }
  if (last?.role !== 'user') {
    return turns;
  }
  return [...turns.slice(0, -1), withWords(last, text)];
}

/** Returns the name of a chat tool, or of a reference to one, function or custom. */
export function chatToolName(tool: JsonObject): string {
  return textOf(objectOf(tool.function).name) || textOf(objectOf(tool.custom).name) || textOf(tool.name);
}

function readWord(word: string, parallel: boolean | undefined): ToolPolicy {
  const mode = CHAT_MODES[word];
  return mode ? { mode, parallel } : { mode: 'tool', name: word, parallel };
}

import { isObject, type JsonObject, objectsOf, textOf } from './json.ts';

/** What a message or delta says apart from its tool calls, in exact form. */
export interface ChatContent {
  /** Members of an exact message or delta; absent ones say nothing. */
  readonly members: Record<string, unknown>;
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
}

/** Members that are handed on as they are. */
const HANDED_ON = ['reasoning_details', 'annotations', 'images'] as const;

/**
 * Makes content exact: text is one string, whatever parts it came in (Mistral sends `thinking` parts among them);
 * reasoning stands under both names that clients read, whatever the provider calls it; members that are null, empty or
 * unknown are gone, and so is the role, which the presenter says.
 */
export function readChatContent(message: JsonObject): ChatContent {
  const content = message.content;
  let text = '';
  let reasoning = reasoningOf(message);
  if (typeof content === 'string') {
    text = content;
  } else {
    for (const part of isObject(content) ? [content] : Array.isArray(content) ? content : []) {
      const thought = isObject(part) && (part.type === 'thinking' || part.type === 'reasoning');
      if (thought) {
        reasoning += textOfPart(part.thinking ?? part.reasoning ?? part.text);
      } else {
        text += textOfPart(part);
      }
    }
  }
  const refusal = textOf(message.refusal);
  const members: Record<string, unknown> = {};
  if (text !== '') {
    members.content = text;
  }
  if (refusal !== '') {
    members.refusal = refusal;
  }
  if (reasoning !== '') {
    members.reasoning_content = reasoning;
    members.reasoning = reasoning;
  }
  for (const name of HANDED_ON) {
    if (Array.isArray(message[name]) && message[name].length > 0) {
      members[name] = message[name];
    }
  }
  return { members, text, refusal, reasoning };
}

function reasoningOf(message: JsonObject): string {
  return textOf(message.reasoning_content) || textOf(message.reasoning) || textOf(message.thinking);
}

/** The text of a part: a string, `{text}`, or a list of such. */
function textOfPart(part: unknown): string {
  if (typeof part === 'string') {
    return part;
  }
  if (Array.isArray(part)) {
    return part.map(textOfPart).join('');
  }
  return isObject(part) ? textOf(part.text) : '';
}

/** A message's or delta's tool calls as a list: some servers send one alone, some the older `function_call`. */
export function toolCallsOf(message: JsonObject): readonly JsonObject[] {
  const { tool_calls: calls, function_call: older } = message;
  if (isObject(calls)) {
    return [calls];
  }
  const list = objectsOf(calls);
  return list.length === 0 && isObject(older) ? [{ index: 0, function: older }] : list;
}

import { isObject, type JsonObject, objectsOf, textOf } from './json.ts';

/** The normalized content of a message or delta, without its tool calls. */
export interface ChatContent {
  /** Members of the normalized message or delta. Members without content are left out. */
  readonly members: Record<string, unknown>;
  readonly text: string;
  readonly refusal: string;
  /** The reasoning in any member, for counting. */
  readonly reasoning: string;
}

/**
 * Members passed through unchanged. `phases` say where in the content the messages of a Responses provider begin that have a phase, in
 * UTF-16 units; they are for callers of Responses only.
 */
const HANDED_ON = ['annotations', 'images', 'phases'] as const;

/** Members in which our answers give reasoning, and in which clients send that of earlier turns back. */
export const REASONING_MEMBERS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const;

/** Returns where a choice of an answer, or of a chunk, has what the model said. */
export function placeOf(choice: JsonObject): 'message' | 'delta' {
  return isObject(choice.message) ? 'message' : 'delta';
}

/** Marks `reasoning_details` with Anthropic's signatures. OpenRouter uses the same format, and its clients send it back unchanged. */
export const CLAUDE_REASONING = 'anthropic-claude-v1';

/**
 * Normalizes content. Text becomes one string, whatever parts it came in (Mistral mixes in `thinking` parts). Reasoning is given under
 * both names that clients read, whatever the provider calls it. Null, empty and unknown members are dropped, and so is the role, which the
 * presenter adds.
 */
export function readChatContent(message: JsonObject): ChatContent {
  const content = message.content;
  let text = '';
  let reasoning = reasoningOf(message);
  if (!isObject(content) && !Array.isArray(content)) {
    text = textOfValue(content);
  } else if (isBareAnswer(content)) {
    text = JSON.stringify(content);
  } else {
    for (const part of isObject(content) ? [content] : content) {
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
  const details = detailsOf(message);
  // MiniMax sends it in the details alone
  reasoning ||= textOfDetails(details);
  if (reasoning !== '') {
    members.reasoning_content = reasoning;
    members.reasoning = reasoning;
  }
  if (details.length > 0) {
    members.reasoning_details = details;
  }
  for (const name of HANDED_ON) {
    if (Array.isArray(message[name]) && message[name].length > 0) {
      members[name] = message[name];
    }
  }
  return { members, text, refusal, reasoning };
}

/** Returns OpenRouter's `reasoning_details`, or LiteLLM's `thinking_blocks` as such. The pieces of those have no index. */
function detailsOf({ reasoning_details: given, thinking_blocks: blocks }: JsonObject): readonly unknown[] {
  if (Array.isArray(given) && given.length > 0) {
    return given;
  }
  return objectsOf(blocks).map(({ thinking, signature, data }) =>
    typeof data === 'string'
      ? { type: 'reasoning.encrypted', data, format: CLAUDE_REASONING }
      : {
          type: 'reasoning.text',
          text: textOf(thinking),
          signature: textOf(signature),
          format: CLAUDE_REASONING,
        },
  );
}

/** Returns the text in OpenRouter's `reasoning_details`: reasoning, or its summary. */
export function textOfDetails(details: unknown): string {
  return objectsOf(details)
    .map(({ text, summary }) => textOf(text) + textOf(summary))
    .join('');
}

function reasoningOf(message: JsonObject): string {
  return textOf(message.reasoning_content) || textOf(message.reasoning) || textOf(message.thinking);
}

/** Returns content that is not in parts as text. Some servers parse a piece of text that reads as a number or a boolean. */
function textOfValue(content: unknown): string {
  return typeof content === 'number' || typeof content === 'boolean' ? String(content) : textOf(content);
}

/** Returns whether content is the JSON answer itself, which some servers parse when JSON was requested, and not a part. */
function isBareAnswer(content: unknown): boolean {
  return isObject(content) && Object.keys(content).length > 0 && !('type' in content || 'text' in content);
}

/** Returns the text of a part: a string, `{text}`, or a list of these. */
function textOfPart(part: unknown): string {
  if (typeof part === 'string') {
    return part;
  }
  if (Array.isArray(part)) {
    return part.map(textOfPart).join('');
  }
  return isObject(part) ? textOf(part.text) : '';
}

/** Returns the tool calls of a message or delta as a list. Some servers send a single object, some the older `function_call`. */
export function toolCallsOf(message: JsonObject): readonly JsonObject[] {
  const { tool_calls: calls, function_call: older } = message;
  if (isObject(calls)) {
    return [calls];
  }
  const list = objectsOf(calls);
  return list.length === 0 && isObject(older) ? [{ index: 0, function: older }] : list;
}

import { type JsonObject, objectOf, without } from '../../providers/json.ts';
import type { Dialect } from '../../providers/provider.types.ts';
import {
  chatToolChoice,
  messagesToolChoice,
  readChatToolPolicy,
  readMessagesToolPolicy,
} from './tool-choices.ts';

const CHAT_WORDS = new Set(['auto', 'none', 'required']);

/**
 * A request for a provider of its own dialect: as it came, except for short forms that we allow and providers do not,
 * namely a `tool_choice` of one word or a tool's name, an empty list of tools, and OpenRouter's word for effort.
 */
export function normalizeRequest(body: JsonObject, dialect: Dialect): JsonObject {
  return normalizeTools(dialect === 'chat' ? normalizeEffort(body) : body, dialect);
}

function normalizeEffort(body: JsonObject): JsonObject {
  const { effort } = objectOf(body.reasoning);
  return typeof effort === 'string' ? { reasoning_effort: effort, ...without(body, 'reasoning') } : body;
}

function normalizeTools(body: JsonObject, dialect: Dialect): JsonObject {
  if (Array.isArray(body.tools) && body.tools.length === 0) {
    return without(body, 'tools', 'tool_choice', 'parallel_tool_calls');
  }
  if (typeof body.tool_choice !== 'string') {
    return body;
  }
  if (dialect === 'messages') {
    return { ...body, tool_choice: messagesToolChoice(readMessagesToolPolicy(body)) };
  }
  return CHAT_WORDS.has(body.tool_choice) ? body : { ...body, ...chatToolChoice(readChatToolPolicy(body)) };
}

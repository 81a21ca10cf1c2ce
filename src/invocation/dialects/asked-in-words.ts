import { type JsonObject, objectsOf } from '../../providers/json.ts';

/** Returns the turn with a paragraph after what it says, for what a server does not let a request set. */
export function withWords(turn: JsonObject, text: string): JsonObject {
  const content =
    typeof turn.content === 'string'
      ? `${turn.content}\n\n${text}`
      : [...objectsOf(turn.content), { type: 'text', text }];
  return { ...turn, content };
}

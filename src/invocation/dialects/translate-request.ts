import type { JsonObject } from '../../providers/json.ts';
import type { Dialect } from '../../providers/provider.types.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import { tidyRequest } from './tidy-request.ts';

export interface RequestTranslation {
  readonly from: Dialect;
  readonly to: Dialect;
  readonly maxOutputTokens: number;
  readonly reasoning: boolean;
}

/** A request in the provider's dialect; where both speak the same one it is handed on nearly as it came. */
export function translateRequest(body: JsonObject, translation: RequestTranslation): JsonObject {
  const { from, to, maxOutputTokens, reasoning } = translation;
  if (from === to) {
    return tidyRequest(body, to);
  }
  return to === 'messages'
    ? chatRequestToMessages(body, maxOutputTokens)
    : messagesRequestToChat(body, { maxOutputTokens, reasoning });
}

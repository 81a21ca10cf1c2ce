import type { Steps } from '../../lib/steps.ts';
import { type JsonObject, without } from '../../providers/json.ts';
import type { Dialect, RequestDialect } from '../../providers/provider.types.ts';
import { withoutLockedMembers } from './anthropic-betas.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { claudeRequest } from './claude-request.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import type { ModelRules } from './model-rules.ts';
import { normalizeRequest } from './normalize-request.ts';
import { withToolIds } from './tool-ids.ts';
import { untranslatable } from './untranslatable.ts';

export interface RequestTranslation {
  readonly from: RequestDialect;
  readonly to: Dialect;
  readonly maxOutputTokens: number;
  readonly reasoning: boolean;
  readonly rules: ModelRules;
  /** The betas of a messages request that are passed on. */
  readonly betas: readonly string[];
}

/** A request in the provider's dialect and in the form its model accepts; where both speak the same it is nearly as it came. */
export function* translateRequest(body: JsonObject, translation: RequestTranslation): Steps<JsonObject> {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  if (from === 'embeddings' || from === 'rerank') {
    if (to === 'messages') {
      throw untranslatable(from);
    }
    return body;
  }
  if (to === 'messages') {
    const translated =
      from === 'messages'
        ? normalizeRequest(withoutLockedMembers(body, translation.betas), to)
        : yield* chatRequestToMessages(body, maxOutputTokens, rules);
    return yield* claudeRequest(translated, rules);
  }
  const translated =
    from === 'chat'
      ? normalizeRequest(body, to)
      : yield* messagesRequestToChat(body, {
          maxOutputTokens,
          reasoning,
          wantsThoughts: rules.wantsThoughts,
          stopsMax: rules.stopsMax,
        });
  const kept = rules.drop.length === 0 ? translated : without(translated, ...rules.drop);
  return rules.toolIds === 'any'
    ? kept
    : { ...kept, messages: yield* withToolIds(kept.messages, rules.toolIds) };
}

import { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { CHAT_MEMBERS } from '../members/chat-members.ts';
import { siftInSteps } from '../members/member-shape.ts';
import { OWN_MEMBERS } from '../request-policy.ts';
import { chatHistory } from './chat-history.ts';
import { nativeRequest } from './native-request.ts';
import { OfferedTools } from './offered-tools.ts';
import type { ResponsesBody } from './responses.schema.ts';
import { RESPONSES_MEMBERS, RESPONSES_OWN_MEMBERS } from './responses-members.ts';

export interface TranslatedRequest {
  /** The request in chat's words; members that neither dialect knows stand as they came. */
  readonly chat: JsonObject;
  /** The request for providers that are asked in Responses. */
  readonly native: JsonObject;
  readonly tools: OfferedTools;
  /** Paths of the members that are left out. */
  readonly ignored: readonly string[];
}

/**
 * A Responses request as a chat request. Throws AppError invalid_parameter for members of the wrong type and for tools that the caller
 * does not run, unsupported_input for items and content that cannot be told in chat.
 */
export function* responsesRequestToChat(body: ResponsesBody): Steps<TranslatedRequest> {
  const ignored = new IgnoredMembers();
  const { known, others } = yield* sorted(body, ignored);
  if (body.include?.some((name) => name !== 'reasoning.encrypted_content')) {
    ignored.add('include');
  }
  const request = yield* siftInSteps(known, RESPONSES_MEMBERS, ignored);
  const tools = yield* OfferedTools.of(request.tools, ignored);
  const reasoning = objectOf(request.reasoning);
  const { format, verbosity } = objectOf(request.text);
  const { parallel_tool_calls, temperature, top_p, prompt_cache_key, safety_identifier, user } = request;
  const offered = yield* tools.chatMembers(request.tool_choice);
  const chat = compact({
    ...others,
    messages: yield* chatHistory(request.instructions, request.input, tools, ignored),
    ...offered,
    parallel_tool_calls: offered.tools === undefined ? undefined : parallel_tool_calls,
    response_format: responseFormat(objectOf(format)),
    verbosity,
    reasoning_effort: reasoning.effort,
    reasoning: reasoning.max_tokens === undefined ? undefined : { max_tokens: reasoning.max_tokens },
    temperature,
    top_p,
    prompt_cache_key,
    safety_identifier,
    user,
  });
  return { chat, native: yield* nativeRequest(request, tools), tools, ignored: ignored.paths };
}

/** The request's members by who knows them; what chat would take for something else is left out. */
function* sorted(
  body: ResponsesBody,
  ignored: IgnoredMembers,
): Steps<{ known: JsonObject; others: JsonObject }> {
  const known: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || RESPONSES_OWN_MEMBERS.has(name)) {
      continue;
    }
    if (Object.hasOwn(RESPONSES_MEMBERS, name)) {
      known[name] = name === 'input' && Array.isArray(value) ? yield* typedItems(value) : value;
    } else if (Object.hasOwn(CHAT_MEMBERS, name) || OWN_MEMBERS.chat.has(name)) {
      ignored.add(name);
    } else {
      others[name] = value;
    }
  }
  return { known, others };
}

/** Messages may leave out that they are some. */
function* typedItems(input: readonly unknown[]): Steps<unknown> {
  return yield* mapInSteps(objectsOf(input), (item) => {
    if (item.type === 'item_reference') {
      throw new AppError(
        'unsupported_input',
        'input: answers are not stored here, so items cannot be referenced by id; send them in full (clients do so with "store": false)',
      );
    }
    return item.type === undefined || item.type === null ? { ...item, type: 'message' } : item;
  });
}

function responseFormat(format: JsonObject): JsonObject | undefined {
  const { type, name, description, schema, strict } = format;
  switch (type) {
    case 'json_schema':
      return {
        type,
        json_schema: compact({
          name: textOf(name) || 'answer',
          description,
          schema,
          strict: strict ?? undefined,
        }),
      };
    case 'json_object':
      return { type };
    default:
      return undefined;
  }
}

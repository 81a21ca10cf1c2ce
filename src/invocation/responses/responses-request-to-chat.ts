import { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { filled } from '../dialects/chat-request-to-responses.ts';
import { encryptedReasoning } from '../dialects/thinking-details.ts';
import { providerToolId } from '../dialects/tool-ids.ts';
import { CHAT_MEMBERS } from '../members/chat-members.ts';
import {
  BOOLEAN,
  JSON_VALUE,
  kinds,
  list,
  type Members,
  NUMBER,
  object,
  siftInSteps,
  TEXT,
  textOr,
} from '../members/member-shape.ts';
import { OWN_MEMBERS } from '../request-policy.ts';
import { chatHistory } from './chat-history.ts';
import { withCompactions } from './compaction.ts';
import { OfferedTools } from './offered-tools.ts';
import type { ResponsesBody } from './responses.schema.ts';
import { openReasoning } from './sealed-content.ts';

const PARTS = list(
  kinds({
    input_text: { type: TEXT, text: TEXT },
    output_text: { type: TEXT, text: TEXT, annotations: JSON_VALUE, logprobs: JSON_VALUE },
    text: { type: TEXT, text: TEXT },
    refusal: { type: TEXT, refusal: TEXT },
    input_image: { type: TEXT, image_url: TEXT, detail: TEXT, file_id: TEXT },
    input_file: { type: TEXT, file_data: TEXT, filename: TEXT, file_url: TEXT, file_id: TEXT, detail: TEXT },
    input_audio: { type: TEXT, input_audio: object({ data: TEXT, format: TEXT }) },
  }),
);

/** Members that clients send back with an output item and that carry no content. */
const KEPT: Members = { type: TEXT, id: TEXT, status: TEXT };

const ITEMS = list(
  kinds({
    message: { ...KEPT, role: TEXT, content: textOr(PARTS), phase: TEXT },
    function_call: { ...KEPT, call_id: TEXT, name: TEXT, namespace: TEXT, arguments: TEXT },
    function_call_output: { ...KEPT, call_id: TEXT, output: textOr(PARTS) },
    custom_tool_call: { ...KEPT, call_id: TEXT, name: TEXT, namespace: TEXT, input: TEXT },
    custom_tool_call_output: { ...KEPT, call_id: TEXT, name: TEXT, output: textOr(PARTS) },
    reasoning: { ...KEPT, summary: JSON_VALUE, content: JSON_VALUE, encrypted_content: TEXT },
  }),
);

/** Members of a Responses request that are translated for the provider. */
const RESPONSES_MEMBERS: Members = {
  input: textOr(ITEMS),
  instructions: TEXT,
  tools: JSON_VALUE,
  tool_choice: JSON_VALUE,
  parallel_tool_calls: BOOLEAN,
  text: object({ format: JSON_VALUE, verbosity: TEXT }),
  reasoning: object({
    effort: TEXT,
    max_tokens: NUMBER,
    summary: TEXT,
    generate_summary: TEXT,
    context: TEXT,
  }),
  temperature: NUMBER,
  top_p: NUMBER,
  prompt_cache_key: TEXT,
  safety_identifier: TEXT,
  user: TEXT,
};

/** Members that we handle ourselves, or that request what is always the case. */
const RESPONSES_OWN_MEMBERS = new Set([
  'model',
  'models',
  'stream',
  'stream_options',
  'max_output_tokens',
  'store',
  'include',
  'metadata',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
]);

export interface TranslatedRequest {
  /** The request in the chat dialect. Members that neither dialect knows are unchanged. */
  readonly chat: JsonObject;
  /** The request for providers that speak Responses. */
  readonly native: JsonObject;
  readonly tools: OfferedTools;
  /** Whether the answer is a summary that takes the conversation's place. */
  readonly compacts: boolean;
  /** Paths of the members that were left out. */
  readonly ignored: readonly string[];
}

/**
 * Translates a Responses request into a chat request. Throws AppError invalid_parameter for members of the wrong type and for tools that
 * the caller does not run, unsupported_input for items and content that chat cannot express.
 */
export function* responsesRequestToChat(body: ResponsesBody): Steps<TranslatedRequest> {
  const ignored = new IgnoredMembers();
  const { known: given, others } = yield* sorted(body, ignored);
  const { known, compacts } = withCompactions(given, ignored);
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
  const native = yield* nativeRequest(request, tools);
  return { chat, native, tools, compacts, ignored: ignored.paths };
}

/** Sorts the request's members into those Responses knows and others. Leaves out those that have a different meaning in chat. */
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
  return { known: configured(known), others };
}

/**
 * Applies items that update the configuration from their place on: the answer follows the last update of each setting. They are no part
 * of the conversation that a model reads.
 */
function configured(known: JsonObject): JsonObject {
  const items = objectsOf(known.input);
  let { effort } = objectOf(known.reasoning);
  let { format } = objectOf(known.text);
  const conversation = items.filter((item) => {
    if (item.type !== 'configuration_update') {
      return true;
    }
    effort = objectOf(item.reasoning).effort ?? effort;
    format = objectOf(item.text).format ?? format;
    return false;
  });
  if (conversation.length === items.length) {
    return known;
  }
  if (conversation.length === 0) {
    throw new AppError('invalid_parameter', 'input: contains only configuration updates; add a message');
  }
  return {
    ...known,
    input: conversation,
    reasoning: { ...objectOf(known.reasoning), effort },
    text: { ...objectOf(known.text), format },
  };
}

/** Adds the `type` to messages, which may omit it. */
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

/**
 * Builds the request for a provider that speaks Responses from a request without unknown members. Items and tools stay as the caller sent
 * them, except that ids, which mean nothing to the provider, are removed, tools of namespaces are flattened, and reasoning is unsealed.
 */
function* nativeRequest(request: JsonObject, tools: OfferedTools): Steps<JsonObject> {
  const { effort, summary, generate_summary } = objectOf(request.reasoning);
  const { format, verbosity } = objectOf(request.text);
  const { instructions, input, parallel_tool_calls, temperature, top_p } = request;
  const { prompt_cache_key, safety_identifier, user } = request;
  const offered = yield* tools.nativeMembers(request.tool_choice);
  return compact({
    instructions,
    input:
      typeof input === 'string'
        ? input
        : yield* flatMapInSteps(objectsOf(input), (item) => itemsOf(item, tools)),
    ...offered,
    parallel_tool_calls: offered.tools === undefined ? undefined : parallel_tool_calls,
    text: filled({ format, verbosity }),
    reasoning: filled({ effort, summary: summary ?? generate_summary }),
    temperature,
    top_p,
    prompt_cache_key,
    safety_identifier,
    user,
  });
}

function* itemsOf(item: JsonObject, tools: OfferedTools): Steps<readonly JsonObject[]> {
  const { type } = item;
  const call_id = providerToolId(item.call_id).id;
  switch (type) {
    case 'function_call':
      return [{ type, call_id, name: tools.nameOf(item), arguments: item.arguments }];
    case 'custom_tool_call':
      return [{ type, call_id, name: tools.nameOf(item), input: item.input }];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ type, call_id, output: yield* contentOf(item.output, 'input_text') }];
    case 'reasoning': {
      const { reasoning_details } = openReasoning(textOf(item.encrypted_content)) ?? {};
      const summary = objectsOf(item.summary).map(({ text }) => ({ type: 'summary_text', text }));
      return encryptedReasoning(reasoning_details).map((encrypted_content, index) => ({
        type,
        summary: index === 0 ? summary : [],
        encrypted_content,
      }));
    }
    default: {
      const { role, phase } = item;
      const text = role === 'assistant' ? 'output_text' : 'input_text';
      return [compact({ type, role, content: yield* contentOf(item.content, text), phase })];
    }
  }
}

function* contentOf(content: unknown, textType: string): Steps<unknown> {
  return typeof content === 'string'
    ? content
    : yield* mapInSteps(objectsOf(content), (part) => partOf(part, textType));
}

function partOf(part: JsonObject, textType: string): JsonObject {
  switch (part.type) {
    case 'input_image':
      return { type: part.type, image_url: part.image_url, detail: part.detail ?? 'auto' };
    case 'input_file':
      return compact({ type: part.type, filename: part.filename, file_data: part.file_data });
    case 'refusal':
    case 'input_audio':
      return part;
    default:
      return { type: textType, text: part.text };
  }
}

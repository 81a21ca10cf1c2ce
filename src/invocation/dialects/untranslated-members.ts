import { isStepOver, type Steps } from '../../lib/steps.ts';
import { REASONING_MEMBERS } from '../../providers/chat-message.ts';
import { type JsonObject, objectOf, objectsOf } from '../../providers/json.ts';
import { heldPaths } from '../../providers/member-paths.ts';
import { lockedToolMembers, withoutLockedEdits } from './anthropic-betas.ts';
import { leftOutOfChat } from './chat-request-to-messages.ts';
import { chatPlan, leftOutForChatModel } from './chat-thinking.ts';
import { leftOutForClaude } from './claude-thinking.ts';
import { formatOnlySaid } from './json-answers.ts';
import { refusedMembers } from './model-rules.ts';
import { unknownMembers } from './only-known-members.ts';
import { isStrictSchema } from './strict-schema.ts';
import {
  detailsOfBlocks,
  encryptedReasoning,
  isThought,
  leavesOutDetails,
  mergedDetails,
} from './thinking-details.ts';
import { detailFormats, type RequestTranslation } from './translate-request.ts';
import { hasStraySettings, hasTurnSettings } from './turn-efforts.ts';

/** Chat request members that messages can express. The others only tune the answer and are left out. */
const EXPRESSIBLE_IN_MESSAGES = new Set([
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'reasoning_effort',
  'reasoning',
  'user',
  'modalities',
  // can only be false here, because true is rejected
  'logprobs',
  'include_reasoning',
]);

/** Nested chat request members that messages cannot express, as paths. `[]` stands for every item of a list. */
const UNSAID_IN_MESSAGES = [
  'messages[].name',
  'messages[].reasoning',
  'messages[].reasoning_content',
  'messages[].prefix',
  'messages[].partial',
  'messages[].tool_calls[].extra_content',
  'messages[].tool_calls[].thought_signature',
  'messages[].tool_calls[].function.thought_signature',
  'messages[].content[].image_url.detail',
];

/** Chat request members that Responses can express. */
const EXPRESSIBLE_IN_RESPONSES = new Set([
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'temperature',
  'top_p',
  'reasoning_effort',
  'reasoning',
  'verbosity',
  'prompt_cache_key',
  'safety_identifier',
  'user',
  'modalities',
  'logprobs',
  'include_reasoning',
]);

/** Nested chat request members for models of other makers, which OpenAI's protocols do not have. */
const FOR_OTHER_MODELS = [
  'messages[].cache_control',
  'messages[].content[].cache_control',
  'messages[].tool_calls[].extra_content',
  'messages[].tool_calls[].thought_signature',
  'messages[].tool_calls[].function.thought_signature',
  'tools[].cache_control',
  'tools[].function.cache_control',
];

/** Nested chat request members that Responses cannot express. */
const UNSAID_IN_RESPONSES = [
  ...FOR_OTHER_MODELS,
  'reasoning.max_tokens',
  'messages[].name',
  'messages[].reasoning',
  'messages[].reasoning_content',
  'messages[].prefix',
  'messages[].partial',
];

/** Nested chat request members that strict chat servers reject. */
const UNSAID_IN_STRICT_CHAT = [...FOR_OTHER_MODELS, ...REASONING_MEMBERS.map((name) => `messages[].${name}`)];

/** Nested messages request members that chat cannot express. */
const UNSAID_IN_CHAT = [
  'system[].cache_control',
  'system[].citations',
  'messages[].content[].cache_control',
  'messages[].content[].citations',
  'messages[].content[].content[].cache_control',
  'messages[].content[].content[].citations',
  'tools[].cache_control',
  'tools[].defer_loading',
  'tools[].input_examples',
  'thinking.display',
  'thinking.block_binding',
];

/** Settings of single turns. */
const TURN_SETTINGS = 'messages[].output_config';

/** Earlier reasoning of a chat. Messages can express only signed reasoning. */
const DETAILS = 'messages[].reasoning_details';

function notOfTools({ messages }: JsonObject): JsonObject {
  return { messages: objectsOf(messages).filter(({ role }) => role !== 'tool') };
}

/** Returns the paths of earlier thinking that is left out: few models want it back. */
function* unsaidThoughts({ messages }: JsonObject, translation: RequestTranslation): Steps<string[]> {
  const unsaid = new Set<string>();
  for (const { content } of objectsOf(messages)) {
    for (const block of objectsOf(content)) {
      if (isThought(block) && detailsOfBlocks([block], detailFormats(translation)).length === 0) {
        unsaid.add(`messages[].content[].${block.type === 'thinking' ? 'thinking' : 'data'}`);
      }
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return translation.rules.needsReasoningBack
    ? [...unsaid].filter((path) => path.endsWith('data'))
    : [...unsaid];
}

/** Messages request members that chat cannot express and that only tune the answer. */
const INEXPRESSIBLE_IN_CHAT = new Set(['top_k', 'cache_control', 'context_management']);

/** Returns the thinking settings of a messages request to a model that cannot reason. */
function unsaidReasoning(body: JsonObject, reasoning: boolean): string[] {
  if (reasoning) {
    return [];
  }
  const { type = 'disabled' } = objectOf(body.thinking);
  const effort = objectOf(body.output_config).effort !== undefined;
  return [
    ...(type === 'disabled' ? [] : ['thinking']),
    ...(effort ? ['output_config.effort'] : []),
    ...(hasTurnSettings(body) ? [TURN_SETTINGS] : []),
  ];
}

/** Returns whether any tool is strict only by Anthropic's rules. */
function looselyStrict(tools: unknown): boolean {
  return objectsOf(tools).some((tool) => tool.strict === true && !isStrictSchema(tool.input_schema));
}

/** Returns whether `isTrue` holds for the earlier reasoning of any turn. */
function* someDetails({ messages }: JsonObject, isTrue: (details: unknown) => boolean): Steps<boolean> {
  for (const { reasoning_details: details } of objectsOf(messages)) {
    if (details !== undefined && isTrue(details)) {
      return true;
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return false;
}

/** Returns the paths of the request members that the translation leaves out, to report them to the caller. */
export function* untranslatedMembers(body: JsonObject, translation: RequestTranslation): Steps<string[]> {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  const names = Object.keys(body);
  const refused = refusedMembers(body, rules);
  const unsaid = names.filter((name) => refused.includes(name));
  if (from === 'chat' && to === 'messages') {
    unsaid.push(...names.filter((name) => !EXPRESSIBLE_IN_MESSAGES.has(name)));
    unsaid.push(...leftOutOfChat(body, maxOutputTokens, rules));
    unsaid.push(...(yield* heldPaths(body, UNSAID_IN_MESSAGES)));
    unsaid.push(...((yield* someDetails(body, leavesOutDetails)) ? [DETAILS] : []));
  }
  if (from === 'chat' && to === 'responses') {
    unsaid.push(...names.filter((name) => !EXPRESSIBLE_IN_RESPONSES.has(name)));
    unsaid.push(...(yield* heldPaths(body, UNSAID_IN_RESPONSES)));
    const isForeign = (details: unknown) =>
      encryptedReasoning(details).length < mergedDetails(details).length;
    unsaid.push(...((yield* someDetails(body, isForeign)) ? [DETAILS] : []));
  }
  if (to === 'chat') {
    unsaid.push(...leftOutForChatModel(body, yield* chatPlan(body, from, rules.chat), rules.chat));
    unsaid.push(...unknownMembers(body, from, rules.knownMembers));
    unsaid.push(...formatOnlySaid(body, from, rules.chat));
  }
  if (from === 'chat' && to === 'chat' && rules.isStrict) {
    unsaid.push(...(yield* heldPaths(body, UNSAID_IN_STRICT_CHAT)));
    unsaid.push(
      ...(rules.toolIds === 'mistral' ? yield* heldPaths(notOfTools(body), ['messages[].name']) : []),
    );
  }
  if (from === 'messages' && hasStraySettings(body)) {
    unsaid.push(TURN_SETTINGS);
  }
  if (from === 'messages' && to !== 'messages') {
    unsaid.push(...names.filter((name) => INEXPRESSIBLE_IN_CHAT.has(name)));
    unsaid.push(...(looselyStrict(body.tools) ? ['tools[].strict'] : []));
    unsaid.push(...unsaidReasoning(body, reasoning));
    unsaid.push(...(yield* heldPaths(body, UNSAID_IN_CHAT)));
    unsaid.push(...(yield* unsaidThoughts(body, translation)));
  }
  if (from === 'messages' && to === 'messages') {
    const open = withoutLockedEdits(body, translation.betas);
    unsaid.push(...names.filter((name) => !Object.hasOwn(open, name)));
    unsaid.push(
      ...(yield* heldPaths(
        body,
        lockedToolMembers(translation.betas).map((name) => `tools[].${name}`),
      )),
    );
    unsaid.push(...leftOutForClaude({ body, rules, maxOutputTokens }));
  }
  return [...new Set(unsaid)];
}

import { merged } from '../../lib/merged.ts';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { textOfDetails } from '../../providers/chat-message.ts';
import { type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import type { RequestDialect } from '../../providers/provider.types.ts';
import type { ChatModelRules } from './chat-models.ts';
import { type Effort, fittingEffort } from './efforts.ts';
import { asksForJson, withFormatSaid } from './json-answers.ts';
import { thoughtsOf } from './messages-request-to-chat.ts';
import { asksForNoReasoning, asksForReasoning } from './reasoning-settings.ts';
import {
  chatToolChoice,
  isForced,
  readChatToolPolicy,
  readMessagesToolPolicy,
  type ToolPolicy,
  withToolsAskedFor,
} from './tool-choices.ts';

/** How a request is made to think and to use tools by a model that does not take every combination of settings. */
interface ChatPlan {
  /** Whether thinking is turned off. */
  readonly isOff: boolean;
  /** Whether it is turned off although the request asks for it. */
  readonly isOverruled: boolean;
  /** Whether earlier tool calls have lost the reasoning that the model wants with them. */
  readonly hasLostReasoning: boolean;
  readonly policy: ToolPolicy;
}

/** Members of a chat request that set thinking. `thinking` is one of messages, too. */
const THINKING_MEMBERS = ['thinking', 'enable_thinking', 'thinking_budget', 'reasoning', 'reasoning_effort'];

/** Stands for lost reasoning: Moonshot treats an empty one as missing. */
const NO_REASONING = ' ';

/** Returns how a request in the caller's dialect is made to think and to use tools. */
export function* chatPlan(body: JsonObject, from: RequestDialect, rules: ChatModelRules): Steps<ChatPlan> {
  const policy = from === 'messages' ? readMessagesToolPolicy(body) : readChatToolPolicy(body);
  const asks = asksToThink(body, from);
  const hasLostReasoning = rules.rejectsLostReasoning && (yield* lostReasoning(body, from));
  const isForcedWithout =
    isForced(policy) && objectsOf(body.tools).length > 0 && rules.forcedTools === 'without_thinking';
  const isJsonWithout = rules.answers === 'schema_without_thinking' && asksForJson(body, from);
  const clashes = (hasLostReasoning || isForcedWithout || isJsonWithout) && rules.thinkingOff !== 'never';
  const wouldThink = asks ?? rules.thinks;
  const isOff = asks === false || (wouldThink && clashes);
  return { policy, hasLostReasoning, isOff, isOverruled: isOff && asks === true };
}

/** Returns whether a request asks the model to think, or not to. Undefined when it says nothing about it. */
function asksToThink(body: JsonObject, from: RequestDialect): boolean | undefined {
  const { type } = objectOf(body.thinking);
  if (from === 'messages') {
    const isSet = type !== undefined || objectOf(body.output_config).effort !== undefined;
    return isSet ? type !== 'disabled' && type !== 'between_tools' : undefined;
  }
  if (body.enable_thinking === false || type === 'disabled' || asksForNoReasoning(body)) {
    return false;
  }
  const isSet = body.enable_thinking === true || type !== undefined || body.thinking_budget !== undefined;
  return isSet || asksForReasoning(body) ? true : undefined;
}

/** Returns whether an earlier tool call comes without the reasoning that led to it. */
function* lostReasoning({ messages }: JsonObject, from: RequestDialect): Steps<boolean> {
  for (const message of objectsOf(messages)) {
    const isCall = from === 'messages' ? callsInBlocks(message) : callsInChat(message);
    if (isCall && !(from === 'messages' ? thoughtsOf(objectsOf(message.content)) : reasoningIn(message))) {
      return true;
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return false;
}

function callsInBlocks({ role, content }: JsonObject): boolean {
  return role === 'assistant' && objectsOf(content).some(({ type }) => type === 'tool_use');
}

function callsInChat({ role, tool_calls: calls }: JsonObject): boolean {
  return role === 'assistant' && objectsOf(calls).length > 0;
}

/** Returns the reasoning of a chat message, under whichever name its client knows. */
export function reasoningIn(message: JsonObject): string {
  return (
    textOf(message.reasoning_content) || textOf(message.reasoning) || textOfDetails(message.reasoning_details)
  );
}

/** Gives a chat request the thinking, the effort and the tool choice in the form that its model accepts. */
export function inChatPlan(body: JsonObject, plan: ChatPlan, rules: ChatModelRules): JsonObject {
  const thinking = plan.isOff ? withoutThinking(body, rules) : withKnownEffort(body, rules);
  const thinks = !plan.isOff || rules.thinkingOff === 'never';
  const settled = plan.hasLostReasoning && thinks ? withStandIns(thinking) : thinking;
  return withFormatSaid(withToolsForced(settled, rules), rules);
}

function withoutThinking(body: JsonObject, rules: ChatModelRules): JsonObject {
  const rest = without(body, ...THINKING_MEMBERS);
  switch (rules.thinkingOff) {
    case 'disabled':
      return merged(rest, { thinking: { type: 'disabled' } });
    case 'enable_thinking':
      return merged(rest, { enable_thinking: false });
    case 'none':
      return merged(rest, { reasoning_effort: 'none' });
    case 'never':
      return rules.efforts?.[0] === undefined ? rest : merged(rest, { reasoning_effort: rules.efforts[0] });
    case undefined:
      return withKnownEffort(body, rules);
  }
}

function withKnownEffort(body: JsonObject, { efforts, thinksInGroqsForm }: ChatModelRules): JsonObject {
  const asked = body.reasoning_effort;
  if (thinksInGroqsForm) {
    const apart = merged(body, { reasoning_format: body.reasoning_format ?? 'parsed' });
    return asked === undefined ? apart : merged(apart, { reasoning_effort: 'default' });
  }
  if (efforts === undefined || asked === undefined) {
    return body;
  }
  const effort = fittingEffort(asked === 'minimal' ? 'low' : asked, efforts);
  return effort === undefined
    ? without(body, 'reasoning_effort')
    : merged(body, { reasoning_effort: effort });
}

function withStandIns(body: JsonObject): JsonObject {
  const messages = objectsOf(body.messages).map((message) =>
    callsInChat(message) && reasoningIn(message) === ''
      ? { ...message, reasoning_content: NO_REASONING }
      : message,
  );
  return merged(body, { messages });
}

/** Asks in words for the tool call that the model does not let a request force. */
function withToolsForced(body: JsonObject, { forcedTools }: ChatModelRules): JsonObject {
  const policy = readChatToolPolicy(body);
  if (!isForced(policy) || forcedTools === 'always' || forcedTools === 'without_thinking') {
    return body;
  }
  const mode = forcedTools === 'any' ? 'any' : 'auto';
  const messages = objectsOf(body.messages);
  return merged(body, {
    messages: isAskedFor(policy, body.tools, forcedTools) ? withToolsAskedFor(messages, policy) : messages,
    ...chatToolChoice({ mode, parallel: policy.parallel }),
  });
}

/** Returns whether words have to say what a request can't force: which of several tools, or that there must be a call at all. */
function isAskedFor(policy: ToolPolicy, tools: unknown, forcedTools: ChatModelRules['forcedTools']): boolean {
  const isOneOfSeveral = policy.mode === 'tool' && objectsOf(tools).length > 1;
  return isForced(policy) && (forcedTools === 'never' || (forcedTools === 'any' && isOneOfSeveral));
}

/** Returns the members about thinking and tools of a request that the model does not get as they are. */
export function leftOutForChatModel(body: JsonObject, plan: ChatPlan, rules: ChatModelRules): string[] {
  const has = (name: string) => body[name] !== undefined && body[name] !== null;
  const members = [
    ...THINKING_MEMBERS.filter(has),
    ...(objectOf(body.output_config).effort === undefined ? [] : ['output_config.effort']),
  ];
  const isIgnored = plan.isOverruled || (plan.isOff && rules.thinkingOff === 'never');
  const isEffortIgnored = !plan.isOff && rules.efforts?.length === 0;
  return [
    ...(isIgnored ? members : []),
    ...(isEffortIgnored ? members.filter((name) => name.endsWith('effort')) : []),
    ...(isAskedFor(plan.policy, body.tools, rules.forcedTools) ? ['tool_choice'] : []),
  ];
}

/** Returns the highest effort to name to a chat model for Anthropic's `max`. */
export function topEffort({ efforts }: ChatModelRules): Effort {
  return efforts?.includes('max') ? 'max' : 'xhigh';
}

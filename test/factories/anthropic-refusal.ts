import type { UpstreamRequest } from './upstream-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Json = any;

/** Models that accept only one sampling setting at a time. */
const ONE_SAMPLER = /opus-4-[1-6]|(?:sonnet|haiku)-4-[56]/;
/** Models that accept no sampling settings and think adaptively. */
const SETTLED = /opus-4-[78]|(?:opus|sonnet|haiku|fable)-[5-9]/;
const SCHEMA_KEYWORDS =
  /"(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|maxItems|uniqueItems|oneOf|patternProperties)":/;

/** Models that accept messages with the role `system`. */
const SYSTEM_TURNS = /opus-4-[89]|(?:opus|sonnet|haiku|fable)-[5-9]/;
/** Models whose system messages may set the effort. */
const TURN_EFFORTS = /opus-[5-9]|(?:sonnet|haiku)-5-[5-9]|fable-5-[1-9]/;
/** Models that decide how much they think, and their predecessors that know no efforts. */
const ADAPTIVE = /(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku|fable)-[5-9]/;
const EFFORTLESS = /opus-4-[0-4]|sonnet-4-[0-5]|haiku-4/;
/** The generation whose thinking is bound to its conversation. */
const BOUND = /(?:opus|sonnet|haiku)-5-[5-9]|fable-5-[1-9]/;
const UNFORCED = /(?:opus|sonnet)-5-[5-9]|fable-5-[1-9]/;
const ALWAYS_THINKS = /opus-5-[5-9]|fable-5/;
const BETWEEN_TOOLS = /sonnet-5-[5-9]/;

/** Members that need a beta, by the start of that beta's name. */
const LOCKED = [
  ['context-management-', (body: Json) => body.context_management, 'context_management'],
  ['thinking-binding-controls-', (body: Json) => body.thinking?.block_binding, 'thinking.block_binding'],
  [
    'mid-conversation-system-clear-at-',
    (body: Json) => body.messages.find((turn: Json) => turn.clear_at),
    'messages.1.clear_at',
  ],
  ['advanced-tool-use-', (body: Json) => memberOfTools(body, 'defer_loading'), 'tools.0.defer_loading'],
  ['advanced-tool-use-', (body: Json) => memberOfTools(body, 'input_examples'), 'tools.0.input_examples'],
  [
    'mid-conversation-output-config-',
    (body: Json) => body.messages.find((turn: Json) => turn.output_config),
    'messages.1.output_config',
  ],
] as const;

function memberOfTools(body: Json, name: string): Json {
  return body.tools?.find((tool: Json) => tool[name] !== undefined);
}

/**
 * Returns the error with which Anthropic rejects a well-formed request, in its own words where they are known; undefined when it accepts
 * the request. Covers sampling settings and budgets of newer models, thinking that cannot be turned on, off or continued, forced tools, schema keywords, tool ids, unsigned
 * thinking, missing messages, members of betas that the header does not name, and system messages for older models.
 */
export function anthropicRefusal({ body, headers }: UpstreamRequest): string | undefined {
  const betas = String(headers['anthropic-beta'] ?? '');
  if (body.model.startsWith('vertex/') && /context-management|advanced-tool-use/.test(betas)) {
    const unknown = betas.split(',').filter((beta) => !beta.startsWith('claude-code-'));
    return `Unexpected value(s) \`${unknown.join('`, `')}\` for the \`anthropic-beta\` header. Please consult our documentation or try again without the header.`;
  }
  if (body.model.startsWith('older-schema/')) {
    const unknown = refusedByOlderSchema(body);
    return unknown && `${unknown}: Extra inputs are not permitted`;
  }
  const locked = LOCKED.find(([beta, find]) => find(body) !== undefined && !betas.includes(beta));
  if (locked) {
    return `${locked[2]}: Extra inputs are not permitted`;
  }
  const clearsThinking = JSON.stringify(body.context_management ?? {}).includes('clear_thinking_');
  if (clearsThinking && !['enabled', 'adaptive'].includes(body.thinking?.type)) {
    return '`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive';
  }
  if (!SYSTEM_TURNS.test(body.model) && body.messages.some(({ role }: Json) => role === 'system')) {
    return "messages: Unexpected role 'system'. Allowed roles are 'user' or 'assistant'.";
  }
  const settings = body.messages.find((turn: Json) => turn.output_config !== undefined);
  if (settings && (settings.role !== 'system' || !TURN_EFFORTS.test(body.model))) {
    return 'messages.1.output_config: is not supported for this model';
  }
  const settled = SETTLED.test(body.model);
  const sampling = ['temperature', 'top_p', 'top_k'].find((name) => body[name] !== undefined);
  if (settled && sampling) {
    return `\`${sampling}\` is deprecated for this model`;
  }
  if (ONE_SAMPLER.test(body.model) && body.temperature !== undefined && body.top_p !== undefined) {
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
  }
  if (settled && body.thinking?.type === 'enabled') {
    return '`thinking.type.enabled` is not supported for this model, use `adaptive`';
  }
  if (body.messages.length === 0) {
    return 'messages: at least one message is required';
  }
  return refusedThinking(body) ?? refusedHistory(body) ?? refusedSchema(body);
}

/** What a gateway that validates requests against an older schema does not know. */
function refusedByOlderSchema(body: Json): string | undefined {
  const names: [string, unknown][] = [
    ['context_management', body.context_management],
    ['output_config', body.output_config],
    ['thinking.adaptive.display', body.thinking?.display],
    ['tools.0.custom.strict', memberOfTools(body, 'strict')],
    ['tools.0.cache_control', memberOfTools(body, 'cache_control')],
  ];
  return names.find(([, value]) => value !== undefined)?.[0];
}

function refusedThinking({
  model,
  thinking,
  tool_choice: choice,
  output_config: config,
}: Json): string | undefined {
  const type = thinking?.type;
  const isForced = ['any', 'tool'].includes(choice?.type);
  if (type === 'adaptive' && !ADAPTIVE.test(model) && model.includes('claude')) {
    return 'adaptive thinking is not supported on this model';
  }
  if (config?.effort !== undefined && EFFORTLESS.test(model)) {
    return 'This model does not support the effort parameter.';
  }
  if (type === 'disabled' && (ALWAYS_THINKS.test(model) || BETWEEN_TOOLS.test(model))) {
    return '"thinking.type.disabled" is not supported for this model.';
  }
  if (type === 'between_tools' && (!BETWEEN_TOOLS.test(model) || ['xhigh', 'max'].includes(config?.effort))) {
    return '"thinking.type.between_tools" is not supported for this model.';
  }
  if (isForced && UNFORCED.test(model)) {
    return 'tool_choice: type "tool" and "any" are not supported for this model.';
  }
  if (isForced && type === 'enabled') {
    return 'Thinking may not be enabled when tool_choice forces tool use.';
  }
  return undefined;
}

function refusedHistory(body: Json): string | undefined {
  const blocks: Json[] = body.messages.flatMap(({ content }: Json) =>
    Array.isArray(content) ? content : [],
  );
  const badId = blocks.find((block) => !/^[a-zA-Z0-9_-]+$/.test(block.id ?? block.tool_use_id ?? 'none'));
  if (badId) {
    return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
  }
  if (blocks.some((block) => block.type === 'thinking' && !block.signature)) {
    return 'Invalid `signature` in `thinking` block';
  }
  const moved = blocks.find(({ signature }) => String(signature).startsWith('bound-elsewhere'));
  if (
    moved &&
    BOUND.test(body.model) &&
    body.thinking?.block_binding?.prefix_mismatch_behavior !== 'drop_block'
  ) {
    return 'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.';
  }
  if (blocks.some((block) => block.type === 'text' && block.text.trim() === '')) {
    return 'messages: text content blocks must contain non-whitespace text';
  }
  const last = body.messages.findLast(({ role }: Json) => role === 'assistant')?.content;
  const calls = Array.isArray(last) && last.some((block: Json) => block.type === 'tool_use');
  if (body.thinking?.type === 'enabled' && calls && !/thinking$/.test(last[0].type)) {
    return 'Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block';
  }
  return undefined;
}

function refusedSchema(body: Json): string | undefined {
  const strict = (body.tools ?? [])
    .filter((tool: Json) => tool.strict)
    .map((tool: Json) => tool.input_schema);
  for (const schema of [...strict, body.output_config?.format?.schema].filter(Boolean)) {
    const keyword = SCHEMA_KEYWORDS.exec(JSON.stringify(withoutDescriptions(schema)));
    if (keyword) {
      return `For 'integer' type, property '${keyword[1]}' is not supported`;
    }
    if (hasOpenObject(schema)) {
      return "For 'object' type, 'additionalProperties' must be explicitly set to false";
    }
  }
  return undefined;
}

function withoutDescriptions(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name === 'description' ? undefined : value)));
}

function hasOpenObject(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) {
    return false;
  }
  const open = schema.type === 'object' && schema.additionalProperties !== false;
  return open || Object.values(schema).some(hasOpenObject);
}

import { isObject, type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import { addedTools } from './system-turns.ts';

const CONTEXT_MANAGEMENT = 'context-management-2025-06-27';
const TOOL_USE = ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'];
/** Efforts on system turns; see turn-efforts.ts. */
export const TURN_EFFORTS = 'mid-conversation-output-config-2026-07-01';
/** System turns that are shown until the next question only; see system-turns.ts. */
export const CLEARED_TURNS = 'mid-conversation-system-clear-at-2026-08-21';
const TOOL_CHANGES = 'mid-conversation-tool-changes-2026-07-01';
/** What happens to earlier thinking that no longer fits; see claude-thinking.ts. */
const BLOCK_BINDING = 'thinking-binding-controls-2026-08-01';

/**
 * Anthropic betas that we pass on: they change neither the price of a token nor who runs a tool. Deliberately left out: longer contexts
 * and caches, fast modes and fallbacks (different prices), files, code, search, skills and MCP (run at the provider), compaction (tokens
 * that the usage does not show) and credentials.
 */
export const PASSED_BETAS: readonly string[] = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'fine-grained-tool-streaming-2025-05-14',
  'token-efficient-tools-2025-02-19',
  'output-128k-2025-02-19',
  'prompt-caching-2024-07-31',
  'effort-2025-11-24',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'redact-thinking-2026-02-12',
  'thinking-token-count-2026-05-13',
  'thinking-display-updates-2026-08-18',
  BLOCK_BINDING,
  'mid-conversation-system-2026-04-07',
  // the screen's older tools; its toolset needs none
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  TOOL_CHANGES,
  TURN_EFFORTS,
  CLEARED_TURNS,
  CONTEXT_MANAGEMENT,
  ...TOOL_USE,
];

/** Members of a tool that Anthropic accepts only with one of {@link TOOL_USE}. */
const LOCKED_TOOL_MEMBERS = ['defer_loading', 'input_examples'] as const;

/** Maximum names read from the header. Real headers have about ten. */
const ASKED_MAX = 50;

/** Returns the betas of an `anthropic-beta` header that may be passed on, without duplicates. */
export function betasOf(header: string | readonly string[] | undefined): readonly string[] {
  const asked = [header ?? []].flat().join(',').split(',', ASKED_MAX);
  return PASSED_BETAS.filter((beta) => asked.some((name) => name.trim() === beta));
}

/** Returns the betas to send with a request: the caller's, and the one that a member of ours needs. */
export function betasFor(body: JsonObject, asked: readonly string[]): readonly string[] {
  const isBound = objectOf(body.thinking).block_binding !== undefined;
  return isBound && !asked.includes(BLOCK_BINDING) ? [...asked, BLOCK_BINDING] : asked;
}

/** Removes the members that Anthropic accepts only with a beta that is not passed on. */
export function withoutLockedMembers(body: JsonObject, betas: readonly string[]): JsonObject {
  const top = withoutLockedEdits(body, betas);
  const locked = lockedToolMembers(betas);
  const tools =
    Array.isArray(top.tools) && locked.length > 0
      ? { tools: objectsOf(top.tools).map((tool) => without(tool, ...locked)) }
      : {};
  const open = { ...top, ...tools };
  return betas.includes(TOOL_CHANGES) ? open : { ...open, ...withoutToolChanges(open) };
}

/** Returns the members of tools that the call's betas do not enable. */
export function lockedToolMembers(betas: readonly string[]): readonly string[] {
  return TOOL_USE.some((beta) => betas.includes(beta)) ? [] : LOCKED_TOOL_MEMBERS;
}

/** Removes the context edits that the call's betas do not enable. This is the only locked member that may be removed entirely. */
export function withoutLockedEdits(body: JsonObject, betas: readonly string[]): JsonObject {
  const edits = betas.includes(CONTEXT_MANAGEMENT) ? clearingEdits(body.context_management) : [];
  return {
    ...without(body, 'context_management'),
    ...(edits.length === 0 ? {} : { context_management: { edits } }),
  };
}

/** Returns the edits that only clear. Others would make the provider write, and bill, text of its own. */
function clearingEdits(management: unknown): JsonObject[] {
  return objectsOf(objectOf(management).edits).filter(({ type }) => textOf(type).startsWith('clear_'));
}

/** Moves tools that a system turn adds to the other tools. Removals are ignored. */
function withoutToolChanges(body: JsonObject): JsonObject {
  const turns = objectsOf(body.messages);
  const isChange = (block: unknown) =>
    isObject(block) && (block.type === 'tool_addition' || block.type === 'tool_removal');
  if (!turns.some((turn) => Array.isArray(turn.content) && turn.content.some(isChange))) {
    return {};
  }
  const added = addedTools(turns);
  const messages = turns.map((turn) =>
    Array.isArray(turn.content)
      ? { ...turn, content: turn.content.filter((block) => !isChange(block)) }
      : turn,
  );
  return added.length === 0 ? { messages } : { messages, tools: [...objectsOf(body.tools), ...added] };
}

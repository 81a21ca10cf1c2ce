import { textOf } from './json.ts';
import type { FinishReason } from './provider.types.ts';
import { type FailureReason, ProviderFailure } from './provider-failure.ts';

/**
 * Finish reasons of the protocols and of servers that deviate from them, in lower case: OpenAI, Anthropic, Mistral
 * (`model_length`), Gemini, Zhipu, Bedrock, Hugging Face, Cohere, vLLM (`repetition`: stopped in a loop).
 */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...words('stop', 'stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'end', 'complete', 'completed'),
  ...words('stop', 'finish', 'finished', 'done'),
  ...words('length', 'length', 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'max_length'),
  ...words('length', 'model_length', 'model_context_window_exceeded', 'context_length', 'error_limit'),
  ...words('length', 'repetition'),
  // the turn continues in another call, so this answer counts as cut off
  ...words('length', 'pause_turn', 'compaction'),
  ...words('tool_calls', 'tool_calls', 'tool_call', 'tool_use', 'function_call'),
  ...words('content_filter', 'content_filter', 'content_filtered', 'refusal', 'safety', 'image_safety'),
  ...words('content_filter', 'sensitive', 'recitation', 'prohibited_content', 'blocklist', 'spii'),
  ...words('content_filter', 'guardrail_intervened', 'language', 'model_armor', 'error_toxic'),
  ...words('content_filter', 'image_prohibited_content', 'image_recitation'),
]);

/** Finish reasons of an answer that the provider could not complete. */
const FAILURES: ReadonlyMap<string, FailureReason> = new Map([
  ['error', 'failed'],
  ['failed', 'failed'],
  ['malformed_function_call', 'garbled'],
  ['unexpected_tool_call', 'garbled'],
  ['too_many_tool_calls', 'garbled'],
  ['missing_thought_signature', 'failed'],
  ['malformed_response', 'garbled'],
  ['malformed_model_output', 'garbled'],
  ['malformed_tool_use', 'garbled'],
  ['function_call_filter', 'garbled'],
  ['insufficient_system_resource', 'overloaded'],
  ['network_error', 'interrupted'],
  ['timeout', 'interrupted'],
  ['abort', 'interrupted'],
  ['aborted', 'interrupted'],
  ['cancelled', 'interrupted'],
  ['canceled', 'interrupted'],
]);

/** Maximum length of an unknown finish reason kept for the log, in UTF-16 units. */
const UNKNOWN_LENGTH_MAX = 64;

export interface Finish {
  readonly reason: FinishReason;
  /** The provider's finish reason, if no table has it. */
  readonly unknown?: string;
}

/**
 * Reads a finish reason of either protocol; undefined while there is none. An unknown one counts as an ordinary end.
 * Throws {@link ProviderFailure} for one that means the provider failed.
 */
export function readFinish(word: unknown): Finish | undefined {
  const text = textOf(word);
  if (text === '') {
    return undefined;
  }
  const known = REASONS.get(text);
  return known ? { reason: known } : readForeign(text);
}

function readForeign(text: string): Finish {
  const word = text.toLowerCase().replaceAll('-', '_');
  // Gemini names its filter first: `content_filter: PROHIBITED_CONTENT`, `function_call_filter: MALFORMED_FUNCTION_CALL`
  const [filter = '', cause = ''] = word.split(': ', 2);
  for (const name of [word, cause, filter]) {
    const failure = FAILURES.get(name);
    if (failure) {
      throw new ProviderFailure(failure);
    }
    const known = REASONS.get(name);
    if (known) {
      return { reason: known };
    }
  }
  return { reason: 'stop', unknown: text.slice(0, UNKNOWN_LENGTH_MAX) };
}

/** Returns whether an answer may have ended amid a tool call: at its maximum, or where a content filter stopped it. */
export function isCut(reason: FinishReason | undefined): boolean {
  return reason === 'length' || reason === 'content_filter';
}

/** Corrects a finish reason by the answer's content: some servers send `stop` after tool calls, some `function_call` without any. */
export function finishWithTools(reason: FinishReason, called: boolean): FinishReason {
  if (called && reason === 'stop') {
    return 'tool_calls';
  }
  return !called && reason === 'tool_calls' ? 'stop' : reason;
}

function words(reason: FinishReason, ...list: readonly string[]): [string, FinishReason][] {
  return list.map((word) => [word, reason]);
}

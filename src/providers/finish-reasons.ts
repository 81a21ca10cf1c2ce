import { textOf } from './json.ts';
import type { FinishReason } from './provider.types.ts';
import { type FailureReason, ProviderFailure } from './provider-failure.ts';

/**
 * The words of the protocols and of the servers that speak them in their own way, in lower case: OpenAI, Anthropic,
 * Mistral (`model_length`), Gemini, Zhipu, Bedrock, Hugging Face.
 */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...words('stop', 'stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'end', 'complete', 'completed'),
  ...words('stop', 'finish', 'finished', 'done'),
  ...words('length', 'length', 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'max_length'),
  ...words('length', 'model_length', 'model_context_window_exceeded', 'context_length'),
  // the turn goes on in another call, so it is cut off rather than whole
  ...words('length', 'pause_turn', 'compaction'),
  ...words('tool_calls', 'tool_calls', 'tool_call', 'tool_use', 'function_call'),
  ...words('content_filter', 'content_filter', 'content_filtered', 'refusal', 'safety', 'image_safety'),
  ...words('content_filter', 'sensitive', 'recitation', 'prohibited_content', 'blocklist', 'spii'),
  ...words('content_filter', 'guardrail_intervened', 'language'),
]);

/** Words for an answer that the provider could not finish. */
const FAILURES: ReadonlyMap<string, FailureReason> = new Map([
  ['error', 'failed'],
  ['failed', 'failed'],
  ['malformed_function_call', 'failed'],
  ['unexpected_tool_call', 'failed'],
  ['insufficient_system_resource', 'overloaded'],
  ['network_error', 'interrupted'],
  ['timeout', 'interrupted'],
  ['abort', 'interrupted'],
  ['aborted', 'interrupted'],
  ['cancelled', 'interrupted'],
  ['canceled', 'interrupted'],
]);

/** Longest part of an unknown word that is kept for the log, in UTF-16 units. */
const UNKNOWN_LENGTH_MAX = 64;

export interface Finish {
  readonly reason: FinishReason;
  /** The provider's word, when no table knows it. */
  readonly unknown?: string;
}

/**
 * Why an answer ended, by the word of either protocol; undefined while there is none. An unknown word is an ordinary end.
 * Throws {@link ProviderFailure} for a word that means the provider failed.
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
  const failure = FAILURES.get(word);
  if (failure) {
    throw new ProviderFailure(failure);
  }
  const known = REASONS.get(word);
  return known ? { reason: known } : { reason: 'stop', unknown: text.slice(0, UNKNOWN_LENGTH_MAX) };
}

/** The end of an answer by what it holds: some say `stop` after tool calls, some `function_call` after none. */
export function finishWithTools(reason: FinishReason, called: boolean): FinishReason {
  if (called && reason === 'stop') {
    return 'tool_calls';
  }
  return !called && reason === 'tool_calls' ? 'stop' : reason;
}

function words(reason: FinishReason, ...list: readonly string[]): [string, FinishReason][] {
  return list.map((word) => [word, reason]);
}

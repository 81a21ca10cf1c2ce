import type { FinishReason } from '../../providers/provider.types.ts';

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** Returns the messages stop reason for a finish reason. A stop sequence that the provider names has a stop reason of its own. */
export function stopReasonOf(finishReason: FinishReason, stopSequence: string | null): string {
  return finishReason === 'stop' && stopSequence !== null ? 'stop_sequence' : STOP_REASONS[finishReason];
}

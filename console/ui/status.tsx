import { t } from '../lib/text.ts';

type Tone = 'good' | 'wait' | 'bad' | 'info' | 'off';

/** Shape, word and color together: none of them alone carries the meaning. */
const KNOWN: Readonly<Record<string, readonly [tone: Tone, shape: string, word: string]>> = {
  completed: ['good', '●', 'completed'],
  succeeded: ['good', '●', 'done'],
  settled: ['good', '●', 'settled'],
  paid: ['good', '●', 'paid'],
  delivered: ['good', '●', 'delivered'],
  complete: ['good', '●', 'complete'],
  enabled: ['good', '●', 'enabled'],
  open_for_work: ['good', '●', 'open'],
  paused: ['wait', '▲', 'paused'],
  resting: ['info', '◐', 'resting'],
  queued: ['off', '◌', 'queued'],
  draft: ['off', '◌', 'current month'],
  pending: ['wait', '◌', 'pending'],
  open: ['wait', '◌', 'open'],
  in_progress: ['info', '◐', 'running'],
  generating: ['info', '◐', 'running'],
  generated: ['info', '◐', 'finishing'],
  processing: ['info', '◐', 'finishing'],
  failed: ['bad', '✕', 'failed'],
  dead: ['bad', '✕', 'given up'],
  cancelled: ['off', '○', 'cancelled'],
  canceled: ['off', '○', 'cancelled'],
  expired: ['off', '○', 'expired'],
  disabled: ['off', '○', 'disabled'],
  suspended: ['bad', '▲', 'suspended'],
  erased: ['off', '○', 'erased'],
  attention: ['wait', '▲', 'attention'],
};

/** The state of something. */
export function Status({ of }: { readonly of: string }) {
  const [tone, shape, word] = KNOWN[of] ?? ['off', '○', of];
  return (
    <span class={`status status-${tone}`}>
      <span aria-hidden="true">{shape}</span> {t(word)}
    </span>
  );
}

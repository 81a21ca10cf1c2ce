import { Histogram, type Registry } from 'prom-client';
import { publicId } from '../lib/ids.ts';
import type { Tracing } from '../lib/tracing.ts';
import type { Finishing, TaskFinisher } from '../tasks/task-finisher.ts';

type Finisher = Pick<TaskFinisher, 'finish'>;

const FINISH_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800];

/**
 * Wraps a finisher with a timer and a span per attempt. Place: `in_place` if the process that generated the task finishes it, `queue` if a
 * job does. Outcome: that of the ending, `stopped` if the lease was aborted, `failed` for any other error.
 */
export function observedFinisher(finisher: Finisher, registry: Registry, tracing: Tracing): Finisher {
  const times = new Histogram({
    name: 'tollgate_task_finish_seconds',
    help: "Time from an engine's output to the settled task: processing files, storing them, settling",
    labelNames: ['kind', 'place', 'outcome'],
    buckets: FINISH_SECONDS,
    registers: [registry],
  });
  return {
    finish: (finishing) => {
      const { task } = finishing;
      const place = placeOf(finishing);
      const facts = { 'tollgate.task_id': publicId('generation', task.id), 'tollgate.place': place };
      return tracing.span('task finish', { facts }, async (span) => {
        const took = times.startTimer({ kind: task.kind, place });
        try {
          const outcome = await finisher.finish(finishing);
          span.add({ 'tollgate.outcome': outcome });
          took({ outcome });
          return outcome;
        } catch (error) {
          took({ outcome: finishing.lease.signal.aborted ? 'stopped' : 'failed' });
          throw error;
        }
      });
    },
  };
}

function placeOf({ state }: Finishing): 'in_place' | 'queue' {
  return state === 'generating' ? 'in_place' : 'queue';
}

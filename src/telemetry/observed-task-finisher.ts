import { Histogram, type Registry } from 'prom-client';
import { publicId } from '../lib/ids.ts';
import type { Tracing } from '../lib/tracing.ts';
import type { Finishing, TaskFinisher } from '../tasks/task-finisher.ts';

type Finisher = Pick<TaskFinisher, 'finish'>;

const FINISH_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800];

/**
 * The finisher, watched: one time and one span for each try, whether the process that generated the task finishes it (`in_place`) or
 * a job does (`queue`). The outcome is the ending's; `stopped` where the lease told it to stop, `failed` where anything else threw.
 */
export function observedFinisher(finisher: Finisher, registry: Registry, tracing: Tracing): Finisher {
  const times = new Histogram({
    name: 'tollgate_task_finish_seconds',
    help: 'Time from what an engine made to the settled task: files made, stored, booked',
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

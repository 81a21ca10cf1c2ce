import type { Engine, EnginePools } from '../engines/engine.types.ts';
import { publicId } from '../lib/ids.ts';
import type { Tracing } from '../lib/tracing.ts';
import type { AttemptOutcome } from '../tasks/generate.types.ts';

interface TaskRunner<Work> {
  run(work: Work, signal: AbortSignal): Promise<AttemptOutcome>;
}

export interface TracedTasks<Work> {
  readonly idOf: (work: Work) => string;
  /** The `traceparent` that the request left in the task's row. */
  readonly parentOf: (taskId: string) => Promise<string | undefined>;
}

/** Wraps a step of a task with a span that belongs to the trace of the request that submitted the task. */
export function tracedTaskRuns<Work>(
  name: string,
  runner: TaskRunner<Work>,
  { idOf, parentOf }: TracedTasks<Work>,
  tracing: Tracing,
): TaskRunner<Work> {
  if (!tracing.enabled) {
    return runner;
  }
  return {
    async run(work, signal) {
      const taskId = idOf(work);
      const parent = await parentOf(taskId).catch(() => undefined);
      const facts = { 'tollgate.task_id': publicId('generation', taskId) };
      return await tracing.span(name, { kind: 'consumer', parent, facts }, async (span) => {
        const outcome = await runner.run(work, signal);
        span.add({ 'tollgate.outcome': outcome.result });
        return outcome;
      });
    },
  };
}

/** Wraps engines with spans around submitting and collecting a run; polls are not worth a span each. */
export function tracedEngines(pools: EnginePools, tracing: Tracing): EnginePools {
  if (!tracing.enabled) {
    return pools;
  }
  const traced = new WeakMap<Engine, Engine>();
  return {
    find(pool) {
      const engine = pools.find(pool);
      if (!engine) {
        return undefined;
      }
      const known = traced.get(engine) ?? tracedEngine(engine, tracing);
      traced.set(engine, known);
      return known;
    },
  };
}

function tracedEngine(engine: Engine, tracing: Tracing): Engine {
  const options = (model: string) =>
    ({ kind: 'client', facts: { 'tollgate.engine': engine.id, 'tollgate.upstream_model': model } }) as const;
  return {
    id: engine.id,
    kind: engine.kind,
    capabilities: engine.capabilities,
    pollIntervalMs: engine.pollIntervalMs,
    submit: (request, context) =>
      tracing.span('engine submit', options(request.model), () => engine.submit(request, context)),
    recover: (request, context) => engine.recover(request, context),
    poll: (reference, request, context) => engine.poll(reference, request, context),
    collect: (reference, request, context) =>
      tracing.span('engine collect', options(request.model), () =>
        engine.collect(reference, request, context),
      ),
    cancel: (reference, request) => engine.cancel(reference, request),
    isReady: async (signal) => (await engine.isReady?.(signal)) ?? true,
    findMistakes: async (signal) => (await engine.findMistakes?.(signal)) ?? [],
    readMemory: async (signal) => (await engine.readMemory?.(signal)) ?? [],
    freeMemory: async (signal) => await engine.freeMemory?.(signal),
    close: () => engine.close(),
  };
}

import type { Engine, EngineOutput, EngineRequest, EngineStatus } from '../../src/engines/engine.types.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { runOnEngine } from '../../src/tasks/engine-run.ts';
import type { ClaimedTask } from '../../src/tasks/task-claims.store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The state that the row of a task keeps between attempts. */
export interface AttemptMemory {
  engineReference: string | null;
  engineSubmittedAt: Date | null;
  attempt: number;
  /** The engine's reference of the run, even when it was not stored. */
  begun?: string;
}

export interface AttemptOutcome {
  readonly status: EngineStatus;
  readonly outputs: EngineOutput[];
  readonly progress: number[];
}

/** Returns an order as a task would place it. */
export function engineRequest(changes: Partial<EngineRequest> = {}): EngineRequest {
  return {
    taskId: newUuid(),
    attempt: 1,
    kind: 'image',
    model: 'tiny',
    prompt: 'a lighthouse at dusk',
    seed: 42n,
    width: 500,
    height: 300,
    steps: undefined,
    seconds: undefined,
    ...changes,
  };
}

export function freshMemory(): AttemptMemory {
  return { engineReference: null, engineSubmittedAt: null, attempt: 1 };
}

/** Makes one attempt like the task path, up to the files. Rethrows its errors. */
export async function attempt(
  engine: Engine,
  request: EngineRequest,
  options: { memory?: AttemptMemory; signal?: AbortSignal; folder?: string } = {},
): Promise<AttemptOutcome> {
  const memory = options.memory ?? freshMemory();
  const progress: number[] = [];
  const context = {
    folder: options.folder ?? temporaryFolder('engine'),
    signal: options.signal ?? new AbortController().signal,
    onProgress: (fraction: number) => void progress.push(fraction),
  };
  const { reference, status } = await runOnEngine({
    task: { id: request.taskId, ...memory } as ClaimedTask,
    engine,
    request: { ...request, attempt: memory.attempt },
    context,
    claims: {
      markSubmitting: async () => {
        memory.engineSubmittedAt = new Date();
        return true;
      },
      storeReference: async (_id, _attempt, _engine, stored) => {
        memory.engineReference = stored;
        return true;
      },
    },
    onReference: (begun) => {
      memory.begun = begun;
    },
  });
  return { status, outputs: await engine.collect(reference, request, context), progress };
}

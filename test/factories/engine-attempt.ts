import type { Engine, EngineOutput, EngineRequest, EngineStatus } from '../../src/engines/engine.types.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { runOnEngine } from '../../src/tasks/engine-run.ts';
import type { ClaimedTask } from '../../src/tasks/task-claims.store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** What the row of a task remembers between attempts. */
export interface AttemptMemory {
  engineReference: string | null;
  engineSubmittedAt: Date | null;
  attempt: number;
  /** What its engine called the run, also where that is not stored. */
  begun?: string;
}

export interface AttemptOutcome {
  readonly status: EngineStatus;
  readonly outputs: EngineOutput[];
  readonly progress: number[];
}

/** An order as a task would place it. */
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

/** One attempt as the task path makes it, up to the files. Throws what the path throws. */
export async function attempt(
  engine: Engine,
  request: EngineRequest,
  options: { memory?: AttemptMemory; signal?: AbortSignal } = {},
): Promise<AttemptOutcome> {
  const memory = options.memory ?? freshMemory();
  const progress: number[] = [];
  const context = {
    folder: temporaryFolder('engine'),
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

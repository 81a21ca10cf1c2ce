import type { Engine, EngineRequest } from '../engines/engine.types.ts';
import { withDeadline } from '../lib/deadline.ts';

export type EngineStop = Awaited<ReturnType<Engine['cancel']>>;

const CANCEL_TIMEOUT_MS = 10_000;

/** Tells an engine to stop a run; one that does not answer in time goes on. Throws nothing. */
export async function stopRun(
  engine: Engine,
  request: EngineRequest,
  reference: string | undefined,
  onError: (error: unknown) => void,
): Promise<EngineStop> {
  if (reference === undefined) {
    return 'stopped';
  }
  try {
    return await withDeadline(
      engine.cancel(reference, request),
      CANCEL_TIMEOUT_MS,
      () => 'unsupported' as const,
    );
  } catch (error) {
    onError(error);
    return 'unsupported';
  }
}

import type { Engine, EngineRequest } from '../engines/engine.types.ts';

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
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'unsupported'>((resolve) => {
    timer = setTimeout(() => resolve('unsupported'), CANCEL_TIMEOUT_MS);
  });
  try {
    return await Promise.race([engine.cancel(reference, request), timeout]);
  } catch (error) {
    onError(error);
    return 'unsupported';
  } finally {
    clearTimeout(timer);
  }
}

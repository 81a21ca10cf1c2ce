import { SdServer } from '../factories/engine-sdcpp.ts';
import type { EngineReply, SeenRequest } from '../factories/engine-server.ts';

/** Orders with this prompt fail. */
export const FAILING_PROMPT = 'fail';

/** An engine that makes its image at once, and fails for {@link FAILING_PROMPT}. */
export class SimulatedEngine extends SdServer {
  protected override route(seen: SeenRequest): EngineReply | undefined {
    // in a long run, recorded requests that are never read would fill the memory
    this.requests.length = 0;
    const id = /\/jobs\/([^/]+)$/.exec(seen.path)?.[1];
    const run = id === undefined ? undefined : this.runs.get(id);
    if (run && String(run.body.json?.prompt) === FAILING_PROMPT) {
      const error = { code: 'generation_failed', message: 'no' };
      return { json: { error, id: run.id, result: null, status: 'failed' } };
    }
    return super.route(seen);
  }
}

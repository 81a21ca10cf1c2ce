import type {
  Engine,
  EngineCapabilities,
  EngineContext,
  EngineOutput,
  EngineRequest,
  EngineStatus,
} from './engine.types.ts';
import type { UpstreamFields } from './engine-settings.ts';
import { UpstreamHttp, type UpstreamHttpSettings } from './upstream-http.ts';

interface UpstreamConnection {
  readonly http: UpstreamHttpSettings;
  /** Ms between two polls of a run when the entry sets none. */
  readonly pollIntervalMs: number;
  /** The path requested to check that the upstream responds at all. */
  readonly readyPath: string;
}

/** What engines behind an HTTP API have in common: an entry of tollgate.yaml, connections and a poll interval. */
export abstract class UpstreamEngine<Settings extends UpstreamFields> implements Engine {
  readonly id: string;
  readonly kind: string;
  readonly pollIntervalMs: number;
  abstract readonly capabilities: EngineCapabilities;
  protected readonly settings: Settings;
  protected readonly http: UpstreamHttp;
  readonly #readyPath: string;

  constructor(settings: Settings, { http, pollIntervalMs, readyPath }: UpstreamConnection) {
    this.id = settings.id;
    this.kind = settings.kind;
    this.pollIntervalMs = settings.poll_interval_ms ?? pollIntervalMs;
    this.settings = settings;
    this.http = new UpstreamHttp(http);
    this.#readyPath = readyPath;
  }

  abstract submit(request: EngineRequest, context: EngineContext): Promise<string>;
  abstract poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus>;
  abstract collect(
    reference: string,
    request: EngineRequest,
    context: EngineContext,
  ): Promise<EngineOutput[]>;
  abstract cancel(
    reference: string,
    request: EngineRequest,
  ): Promise<'stopped' | 'requested' | 'unsupported'>;

  /** Returns `'unknown'`: most upstreams accept no client-chosen id, so we cannot find a run whose reference was lost. */
  async recover(_request: EngineRequest, _context: EngineContext): Promise<string | null | 'unknown'> {
    return 'unknown';
  }

  /**
   * Returns the key under which the upstream takes a repeated submit for the same run. It changes only when a run is known to be over:
   * otherwise the next attempt would be answered with the run that has failed.
   */
  protected idempotencyKey({ taskId, endedRuns = 0 }: EngineRequest): string {
    return endedRuns === 0 ? taskId : `${taskId}-${endedRuns}`;
  }

  async isReady(signal: AbortSignal): Promise<boolean> {
    return await this.http.isAnswering(this.#readyPath, signal);
  }

  async close(): Promise<void> {
    await this.http.close();
  }
}

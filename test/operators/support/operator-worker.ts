import { composeFoundation } from '../../../src/compose/foundation.ts';
import { composeWorker } from '../../../src/compose/worker.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { createJobMetrics } from '../../../workers/job-metrics.ts';
import { startMetricsServer } from '../../../workers/metrics-server.ts';
import { parseQueueSelection } from '../../../workers/queue-selection.ts';
import { startWorker } from '../../../workers/start-worker.ts';
import { Sink } from './sink.ts';

export interface OperatorWorker {
  /** Address of the worker's own page. */
  readonly url: string;
  readonly log: Sink;
  close(): Promise<void>;
}

/** Starts a worker in this process, put together as in production. It leaves images to the queue unless it `postprocesses`. */
export async function startOperatorWorker(
  environment: NodeJS.ProcessEnv,
  { postprocesses = false } = {},
): Promise<OperatorWorker> {
  const sink = new Sink();
  const log = createLogger({ name: 'worker', level: 'info' }, sink);
  const foundation = await composeFoundation(loadConfig(environment), 'worker', log);
  const { config, registry } = foundation;
  const worker = await composeWorker(foundation, { serves: () => true, postprocesses });
  const page = await startMetricsServer({
    ...{ host: config.host, hostSetting: 'HOST', port: 0 },
    ...{ registry, log, isReady: () => true },
  });
  const running = startWorker(
    { ...worker.parts, observer: createJobMetrics(registry) },
    {
      redisUrl: config.redisUrl,
      prefix: config.redisPrefix,
      workerName: worker.workerName,
      selection: parseQueueSelection([]),
      concurrency: { postprocess: 1, webhooks: 2, maintenance: 2 },
      drainMs: 5_000,
      onStuck: () => undefined,
    },
  );
  return {
    url: `http://${config.host}:${page.port}`,
    log: sink,
    close: async () => {
      await running.close();
      page.close();
      await worker.close();
      await foundation.close();
    },
  };
}

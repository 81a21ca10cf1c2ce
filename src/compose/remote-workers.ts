import { poolOf } from '../../queues/queue-name.ts';
import type { Route } from '../http/route.ts';
import { ClaimDispatcher } from '../remote-workers/claim-dispatcher.ts';
import { HeldRunsStore } from '../remote-workers/held-runs.store.ts';
import { OutputUploads } from '../remote-workers/output-uploads.ts';
import { RemoteRunsService } from '../remote-workers/remote-runs.service.ts';
import { workerApiRoutes } from '../remote-workers/worker-api.routes.ts';
import { TokenWorkerAuthenticator } from '../remote-workers/worker-authenticator.ts';
import { WorkerTokensStore } from '../remote-workers/worker-tokens.store.ts';
import { TaskSignalsStore } from '../tasks/task-signals.store.ts';
import { WorkersStore } from '../tasks/workers.store.ts';
import { uploadFolderOf } from './data-folder.ts';
import type { Foundation } from './foundation.ts';
import type { TaskParts } from './tasks.ts';

export interface RemoteWorkers {
  readonly door: TokenWorkerAuthenticator;
  readonly routes: readonly Route[];
  /** Stops handing out tasks. */
  releaseWaiters(): void;
  close(): Promise<void>;
}

/** Assembles the API for workers on hosts without a database. Listens for tasks once the first worker asks for one. */
export function composeRemoteWorkers(
  { config, cells, storage, catalog, clock, log }: Foundation,
  { claims, turns, dispatch, endings }: TaskParts,
): RemoteWorkers {
  const door = new TokenWorkerAuthenticator(new WorkerTokensStore(cells.home.money), clock);
  const desk = new ClaimDispatcher({
    dispatch,
    claims,
    turns,
    listen: (onWaiting) =>
      new TaskSignalsStore(
        cells.sole.openClient,
        (queue) => (queue === undefined || poolOf(queue) !== null) && onWaiting(),
        (error) => log.debug({ error }, 'not listening for task signals'),
      ),
    log,
  });
  const runs = new RemoteRunsService({
    ...{ door, desk, claims, endings, dispatch, storage },
    held: new HeldRunsStore(cells),
    workers: new WorkersStore(cells.home.money),
    uploads: new OutputUploads(storage, uploadFolderOf(config)),
    policyOf: (task) => catalog.runPolicyOf(task),
    extraOf: (task) => catalog.extraOf(task),
  });
  return {
    door,
    routes: workerApiRoutes(runs),
    releaseWaiters: () => desk.releaseWaiters(),
    close: () => desk.close(),
  };
}

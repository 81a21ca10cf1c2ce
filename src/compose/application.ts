import { API_DESCRIPTION } from '../api-description.ts';
import { type AppOptions, createApp } from '../app.ts';
import { CreditsReadModel } from '../credits/credits.read-model.ts';
import type { AccountRoutesServices } from '../customer-routes.ts';
import { GenerationsReadModel } from '../generations/generations.read-model.ts';
import { GenerationsService } from '../generations/generations.service.ts';
import { createStorageTokenGuard } from '../generations/storage-token-guard.ts';
import { mediaUploadPage, workerStoragePage } from '../generations/worker-storage.routes.ts';
import type { RequestPipeline } from '../http/request-pipeline.ts';
import type { Route } from '../http/route.ts';
import type { KeysService } from '../keys/keys.service.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import { UsedUploads } from '../media/used-uploads.ts';
import type { MetricsSource } from '../processes/api-slot.ts';
import { tracedRoute } from '../telemetry/traced-routes.ts';
import { composeBilling } from './billing.ts';
import { uploadFolderOf } from './data-folder.ts';
import type { Foundation } from './foundation.ts';
import type { OperatorParts } from './operators.ts';
import type { RemoteWorkers } from './remote-workers.ts';
import { acceptedStorageTokens } from './storage.ts';

const UPLOAD_IDLE_MS = 30_000;
const UPLOAD_TOTAL_MS = 1_800_000;

interface Identity {
  readonly keys: KeysService;
  readonly keysStore: KeysStore;
}

/** Builds the application with the routes and pages of all parts. */
export function composeApplication(
  foundation: Foundation,
  pipeline: RequestPipeline,
  paidRoutes: readonly Route[],
  parts: {
    readonly identity: Identity;
    readonly console: { readonly routes: readonly Route[] };
    readonly remote: RemoteWorkers;
    readonly operators: OperatorParts;
    readonly readiness: { readonly check: AppOptions['meta']['readiness'] };
    readonly metrics: MetricsSource;
    readonly consolePages: AppOptions['surroundings']['pages'];
  },
): ReturnType<typeof createApp> {
  const { config, catalogSource, tracing } = foundation;
  const { identity, operators } = parts;
  return createApp({
    watchRoute: (route) => (route.tag === 'Service' ? route : tracedRoute(route, tracing)),
    pipeline,
    paidRoutes,
    account: composeAccount(foundation, identity),
    billingRoutes: composeBilling(foundation, identity.keysStore).routes,
    consoleRoutes: parts.console.routes,
    workerRoutes: parts.remote.routes,
    operators: operators.services,
    meta: {
      readiness: parts.readiness.check,
      metrics: parts.metrics,
      authenticator: pipeline.authenticator,
      about: { ...API_DESCRIPTION, serverUrl: config.publicUrl },
    },
    surroundings: {
      aliases: { current: () => catalogSource.current.aliases },
      trustedProxies: config.trustedProxies,
      corsOrigins: config.corsOrigins,
      pages: [operators.mounted, ...parts.consolePages, ...composeWorkerStorage(foundation)],
    },
  });
}

function composeAccount(foundation: Foundation, identity: Identity): AccountRoutesServices {
  const { cells, catalog, storage, signer, clock } = foundation;
  return {
    keys: identity.keys,
    catalog,
    credits: new CreditsReadModel(cells),
    generations: new GenerationsService(new GenerationsReadModel(cells), identity.keysStore),
    media: { storage, signer, clock },
  };
}

/** Returns the pages through which workers on hosts without storage use that of this API. */
function composeWorkerStorage({
  config,
  clock,
  storage,
  uploads,
  grantUpload,
}: Foundation): AppOptions['surroundings']['pages'] {
  if (!grantUpload) {
    return [];
  }
  const guard = createStorageTokenGuard([...acceptedStorageTokens(config), config.adminToken], clock);
  const folder = uploadFolderOf(config);
  const used = new UsedUploads(folder, clock);
  return [
    {
      path: '/internal/v1',
      handler: workerStoragePage({ storage, guard, grantUpload, publicUrl: config.publicUrl }),
    },
    {
      path: '/media-upload',
      handler: mediaUploadPage(uploads, {
        storage,
        folder,
        used,
        idleMs: UPLOAD_IDLE_MS,
        totalMs: UPLOAD_TOTAL_MS,
      }),
    },
  ];
}

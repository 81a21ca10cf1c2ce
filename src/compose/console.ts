import type { Config } from '../config/config.ts';
import { AccountReadModel } from '../console/account.read-model.ts';
import { accountOverviewRoutes } from '../console/account.routes.ts';
import { AccountEvents } from '../console/account-events.ts';
import { EventsReadModel } from '../console/events.read-model.ts';
import { eventRoutes } from '../console/events.routes.ts';
import { sessionRoutes } from '../console/sessions.routes.ts';
import { SessionsService } from '../console/sessions.service.ts';
import { SessionsStore } from '../console/sessions.store.ts';
import { consolePages, rootRedirect } from '../console/static.pages.ts';
import type { RequestPipeline } from '../http/request-pipeline.ts';
import type { Route } from '../http/route.ts';
import type { KeysService } from '../keys/keys.service.ts';
import { paymentOf } from './billing.ts';
import type { Foundation } from './foundation.ts';
import type { MemberParts } from './members.ts';

/** Creates the service for signing in and out. `pipeline` is resolved lazily: it needs the sessions, and they need its authenticator. */
export function composeSessions(
  { cells, clock, config }: Pick<Foundation, 'cells' | 'clock' | 'config'>,
  pipeline: () => RequestPipeline,
): SessionsService {
  return new SessionsService({
    store: new SessionsStore(cells),
    authenticator: () => pipeline().authenticator,
    clock,
    secure: config.publicUrl.startsWith('https:'),
  });
}

/** Returns the operations that only the web console uses. `endStreams` ends event streams so that pages reconnect to another process. */
export function composeConsole(
  { cells, config, catalogSource }: Pick<Foundation, 'cells' | 'config' | 'catalogSource'>,
  sessions: SessionsService,
  keys: KeysService,
  people: MemberParts | undefined,
): { readonly routes: Route[]; endStreams(): void } {
  const payment = paymentOf(config);
  const events = new AccountEvents({ rows: new EventsReadModel(cells) });
  const routes = [
    ...sessionRoutes(sessions, keys, people?.members),
    ...(people?.routes ?? []),
    ...accountOverviewRoutes({
      accounts: new AccountReadModel(cells),
      limits: () => catalogSource.current.limits,
      features: {
        payments: payment.kind === 'none' ? null : payment.kind,
        keepPrompts: config.keepPrompts,
      },
    }),
    ...eventRoutes({ events, sessions }),
  ];
  return { routes, endStreams: () => events.close() };
}

/** Returns the pages of the web console, and the redirect to it from `/`. */
export function composeConsolePages(
  config: Config,
  folder: string,
  people: MemberParts | undefined,
): { readonly path: string; readonly handler: ReturnType<typeof consolePages> }[] {
  const { origin, pathname } = new URL(config.publicUrl);
  const handler = consolePages({
    folder,
    prefix: pathname.replace(/\/$/, ''),
    mediaOrigins: [origin, ...bucketOrigin(config)],
    signInBy: config.oidc?.name,
  });
  return [
    ...(people ? [people.pages] : []),
    { path: '/console', handler },
    { path: '/', handler: rootRedirect(folder) },
  ];
}

function bucketOrigin({ storage }: Config): string[] {
  if (storage.kind !== 's3') {
    return [];
  }
  const { endpoint, bucket, forcePathStyle } = storage.s3;
  const { protocol, host } = new URL(endpoint);
  return [forcePathStyle ? `${protocol}//${host}` : `${protocol}//${bucket}.${host}`];
}

import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { CallPacer } from '../http/admission/call-pacer.ts';
import { admitFairly } from '../http/admission/fair-admission.ts';
import { UnauthenticatedConnections } from '../http/admission/unauthenticated-connections.ts';
import type { Authenticator } from '../http/callers/authenticator.ts';
import type { Route } from '../http/route.ts';
import { EventLoopQueue } from '../lib/event-loop-queue.ts';
import type { Foundation } from './foundation.ts';

/** The parts in front of the application that limit work and connections. */
export interface AdmissionParts {
  readonly loopQueue: EventLoopQueue;
  readonly strangers: UnauthenticatedConnections;
}

export function composeAdmission({ config, registry }: Foundation): AdmissionParts {
  // behind a proxy, one address carries the connections of all its clients
  const perAddress = config.trustedProxies > 0 ? Number.POSITIVE_INFINITY : config.strangerConnections;
  return {
    loopQueue: new EventLoopQueue(),
    strangers: new UnauthenticatedConnections({ perAddress, registry, now: () => performance.now() }),
  };
}

/** Wraps the application so that paid calls take turns when more of them come than this process can handle. */
export function withAdmission(
  { catalogSource, ledger, registry, log }: Foundation,
  app: RequestListener,
  routes: readonly Route[],
  { loopQueue, strangers }: AdmissionParts,
  callers: Authenticator,
): { listener: RequestListener; connectionOpened(connection: Socket): void } {
  const resolve = (path: string) => catalogSource.current.aliases.resolve(path);
  const pacer = new CallPacer({
    now: () => performance.now(),
    delayMs: () => ledger.delayMs,
    backlog: () => loopQueue.size,
    nextTurn: (run) => setImmediate(run),
    later: (run, milliseconds) => setTimeout(run, milliseconds),
  });
  ledger.gatherWhile(() => pacer.isCrowded);
  const fair = admitFairly({
    ...{ listener: app, routes, resolve, pacer, callers, registry, log },
    onKnown: (connection) => strangers.proven(connection),
  });
  return {
    listener: strangers.watched(fair),
    connectionOpened: (connection) => {
      strangers.opened(connection);
      loopQueue.connectionOpened();
      pacer.connectionOpened();
    },
  };
}

import { chmod } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Api, composeApi } from './compose/api.ts';
import { warnOfConnections } from './compose/connection-budget.ts';
import { composeFoundation } from './compose/foundation.ts';
import type { Config } from './config/config.ts';
import { createHttpServer } from './http/http-server.ts';
import { monitoringListener } from './http/monitoring-listener.ts';
import { stopServers } from './http/stop-servers.ts';
import { createLogger } from './lib/logger.ts';
import { reloadOnSighup } from './lib/reload-on-sighup.ts';
import { shutDownOnce, shutDownOnRequest } from './lib/shutdown.ts';
import type { ApiSlot } from './processes/api-slot.ts';
import { type ListenPlace, listenFailure } from './processes/listen-failure.ts';
import { BALANCER_NOTICE_MS, shutdownMs } from './processes/shutdown-time.ts';
import { removeOldSocket } from './processes/socket-file.ts';

/** Maximum connections waiting to be accepted while the process is busy; the kernel caps it. */
const BACKLOG = 4_096;

const EVERYBODY = 0o666;

/**
 * Serves the API until the process is asked to stop. `slot` is set when several processes share one port. Throws ConfigError, CatalogError
 * or any other error that prevents the start.
 */
export async function serveApi(config: Config, slot?: ApiSlot): Promise<void> {
  const hangUp = reloadOnSighup();
  const log = createLogger({ name: slot ? `api-${slot.number}` : 'api', level: config.logLevel });
  const foundation = await composeFoundation(config, 'api', log);
  const api = await composeApi(foundation, { metrics: slot?.metricsOfAll(foundation.registry) });
  let leaving = false;
  const servers = await listen(config, api, slot, (request, response) => {
    if (leaving) {
      // makes keep-alive proxies open a new connection for their next request instead of reusing one that is about to close
      response.setHeader('Connection', 'close');
    }
    api.listener(request, response);
  });
  const { port } = servers[0].address() as AddressInfo;
  log.info({ host: config.host, port, socket: config.listenSocket }, 'listening');
  foundation.catalogSource.watch();
  hangUp.reload(foundation.catalogSource);
  const stop = async () => {
    leaving = true;
    api.announceShutdown();
    if (config.production) {
      await pause(BALANCER_NOTICE_MS);
    }
    // without its primary process, this one may have been replaced: another run may already listen on the socket
    const ownsSocket = slot === undefined || process.connected;
    await stopServers(servers, { drainMs: config.drainMs, ownsSocket }, async () => {
      await api.drain(0);
      await api.webSockets.close();
    });
    await api.close();
    await foundation.close();
  };
  const address = `http://${config.host}:${port}`;
  if (slot) {
    const leave = shutDownOnRequest(shutdownMs(config.drainMs), log, stop);
    slot.follow({
      leave: () => leave('requested by the primary process'),
      reload: () => void foundation.catalogSource.reload(),
    });
    slot.ready(address);
  } else {
    shutDownOnce(shutdownMs(config.drainMs), log, stop);
    process.send?.({ type: 'ready', address });
  }
  if (slot?.number === 1) {
    await warnOfConnections(foundation);
  }
}

/**
 * Listens on the port and, if configured, on the monitoring address and the Unix socket. Removes a socket file left behind by a killed
 * process. Throws ConfigError or UnavailableError, naming the setting.
 */
async function listen(
  { host, port, metricsHost, listenSocket }: Config,
  api: Api,
  slot: ApiSlot | undefined,
  listener: RequestListener,
): Promise<[Server, ...Server[]]> {
  const portSetting = 'PORT';
  const servers: [Server, ...Server[]] = [
    await listenOn({ host, port, hostSetting: 'HOST', portSetting }, api, listener),
  ];
  api.webSockets.attach(servers[0]);
  if (metricsHost !== null) {
    const { port: chosen } = servers[0].address() as AddressInfo;
    const place = { host: metricsHost, port: chosen, hostSetting: 'METRICS_HOST', portSetting } as const;
    servers.push(await listenOn(place, api, monitoringListener(listener)));
  }
  if (listenSocket !== null) {
    if (!slot) {
      await removeOldSocket(listenSocket);
    }
    const server = await listenOn({ path: listenSocket }, api, listener);
    api.webSockets.attach(server);
    servers.push(server);
    if (slot) {
      // Node sets a socket's permissions only in the process that opens it, and in a cluster that is the primary
      await chmod(listenSocket, EVERYBODY);
    }
  }
  return servers;
}

/** The proxy runs as another user; the permissions of the folder decide who can reach the socket. */
const EVERYBODY_MAY = { readableAll: true, writableAll: true };

function listenOn(
  place: ListenPlace,
  { app, connectionOpened }: Api,
  listener: RequestListener,
): Promise<Server> {
  const server = createHttpServer(app, listener).on('connection', connectionOpened);
  return new Promise((resolve, reject) => {
    const options: ListenOptions =
      'path' in place ? { path: place.path, ...EVERYBODY_MAY } : { host: place.host, port: place.port };
    server.once('error', (error) => reject(listenFailure(error, place)));
    server.listen({ ...options, backlog: BACKLOG }, () => resolve(server));
  });
}

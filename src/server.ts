import { rm } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { CatalogError } from './catalog/catalog-error.ts';
import { type Api, composeApi } from './compose/api.ts';
import { composeFoundation } from './compose/foundation.ts';
import { type Config, ConfigError, loadConfig } from './config/config.ts';
import { createHttpServer } from './http/http-server.ts';
import { onlyMonitoring } from './http/only-monitoring.ts';
import { stopServers } from './http/stop-servers.ts';
import { followHangUp } from './lib/hang-up.ts';
import { shutDownOnce } from './lib/shutdown.ts';

/** Time a balancer gets to notice that `/readyz` says no, before connections are refused. Not waited for on a desktop. */
const BALANCER_NOTICE_MS = 5_000;

/** Connections that may wait to be accepted while the process is busy; the kernel caps it. */
const BACKLOG = 4_096;

/** Entry of the API process. */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const hangUp = followHangUp();
  const config = loadConfig(environment);
  const foundation = await composeFoundation(config, 'api');
  const { log } = foundation;
  const api = await composeApi(foundation);
  let leaving = false;
  const servers = await listen(config, api, (request, response) => {
    if (leaving) {
      // proxies that keep connections open move on with their next request, instead of meeting a closed one
      response.setHeader('Connection', 'close');
    }
    api.listener(request, response);
  });
  const { port } = servers[0].address() as AddressInfo;
  log.info({ host: config.host, port, socket: config.listenSocket }, 'listening');
  foundation.catalogSource.watch();
  hangUp.reload(foundation.catalogSource);
  shutDownOnce(config.drainMs + BALANCER_NOTICE_MS + 10_000, log, async () => {
    leaving = true;
    api.announceShutdown();
    if (config.production) {
      await pause(BALANCER_NOTICE_MS);
    }
    await stopServers(servers, config.drainMs, () => api.drain(0));
    await api.close();
    await foundation.close();
  });
  process.send?.({ type: 'ready', address: `http://${config.host}:${port}` });
}

/** The port, and where they are set the address for monitoring and the socket: its file may be left over from a process that was killed. */
async function listen(
  { host, port, metricsHost, listenSocket }: Config,
  api: Api,
  listener: RequestListener,
): Promise<[Server, ...Server[]]> {
  const servers: [Server, ...Server[]] = [await listenOn({ host, port }, api, listener)];
  if (metricsHost !== null) {
    const { port: chosen } = servers[0].address() as AddressInfo;
    servers.push(await listenOn({ host: metricsHost, port: chosen }, api, onlyMonitoring(listener)));
  }
  if (listenSocket !== null) {
    await rm(listenSocket, { force: true });
    // the proxy runs under an account of its own; who may reach the file is up to its folder
    const everybody = { readableAll: true, writableAll: true };
    servers.push(await listenOn({ path: listenSocket, ...everybody }, api, listener));
  }
  return servers;
}

function listenOn(
  options: ListenOptions,
  { app, connectionOpened }: Api,
  listener: RequestListener,
): Promise<Server> {
  const server = createHttpServer(app, listener).on('connection', connectionOpened);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...options, backlog: BACKLOG }, () => resolve(server));
  });
}

try {
  await main(process.env);
} catch (error) {
  const known = error instanceof ConfigError || error instanceof CatalogError;
  process.stderr.write(`${known ? error.message : ((error as Error).stack ?? String(error))}\n`);
  process.exit(known ? 2 : 1);
}

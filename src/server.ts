import type { AddressInfo } from 'node:net';
import { CatalogError } from './catalog/catalog-error.ts';
import { composeApi } from './compose/api.ts';
import { composeFoundation } from './compose/foundation.ts';
import { ConfigError, loadConfig } from './config/config.ts';
import { createHttpServer } from './http/http-server.ts';
import { shutDownOnce } from './lib/shutdown.ts';

/** Time a balancer gets to notice that `/readyz` says no, before connections are refused. Not waited for on a desktop. */
const BALANCER_NOTICE_MS = 5_000;

/** Entry of the API process. */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig(environment);
  const foundation = await composeFoundation(config, 'api');
  const { log } = foundation;
  const api = await composeApi(foundation);
  let leaving = false;
  const server = createHttpServer((request, response) => {
    if (leaving) {
      // whoever keeps connections open to us moves on with its next request, instead of meeting a closed one
      response.setHeader('Connection', 'close');
    }
    api.app(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  log.info({ host: config.host, port }, 'listening');
  foundation.catalogSource.watch();
  process.on('SIGHUP', () => void foundation.catalogSource.reload());
  shutDownOnce(config.drainMs + BALANCER_NOTICE_MS + 10_000, log, async () => {
    leaving = true;
    api.announceShutdown();
    if (config.production) {
      await new Promise((resolve) => setTimeout(resolve, BALANCER_NOTICE_MS));
    }
    // Accepts no more connections; requests on accepted ones are served to their end, new ones on them too.
    const closed = new Promise((resolve) => server.close(resolve));
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, config.drainMs))]);
    await api.drain(0);
    server.closeAllConnections();
    await closed;
    await api.close();
    await foundation.close();
  });
  process.send?.({ type: 'ready', address: `http://${config.host}:${port}` });
}

try {
  await main(process.env);
} catch (error) {
  const known = error instanceof ConfigError || error instanceof CatalogError;
  process.stderr.write(`${known ? error.message : ((error as Error).stack ?? String(error))}\n`);
  process.exit(known ? 2 : 1);
}

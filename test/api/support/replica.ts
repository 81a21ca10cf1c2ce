import type { AddressInfo } from 'node:net';
import { composeApi } from '../../../src/compose/api.ts';
import { composeFoundation } from '../../../src/compose/foundation.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import {
  type Answer,
  type CallOptions,
  type OperatorServer,
  request,
} from '../../operators/support/operator-server.ts';

export interface Replica {
  readonly url: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts a second API on the database and the Redis of a first one, like another process. */
export async function startReplica({ environment }: Pick<OperatorServer, 'environment'>): Promise<Replica> {
  const foundation = await composeFoundation(
    loadConfig(environment),
    'api',
    createLogger({ name: 'api', level: 'silent' }),
  );
  const api = await composeApi(foundation);
  const server = createHttpServer(api.app, api.listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    call: (method, path, options) => request(url + path, method, options),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await api.close();
      await foundation.close();
    },
  };
}

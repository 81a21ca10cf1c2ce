import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { composeApi } from '../../../src/compose/api.ts';
import { composeFoundation, type Foundation } from '../../../src/compose/foundation.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import type { WebSockets } from '../../../src/http/web-sockets/web-sockets.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { ownTemporaryFolder } from '../../factories/temporary-folder.ts';
import { createTestDatabase, patientUrl, type TestDatabase } from '../../setup/database.ts';
import { Sink } from './sink.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-operator-tests';
export const INSTALLATION_SECRET = 'a secret of the operator tests, 32 characters';
const CATALOG = fileURLToPath(new URL('../../../tollgate.yaml', import.meta.url));

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
  readonly json: any;
}

export interface CallOptions {
  /** Bearer token. The operator's by default, null for none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Reads only the head of a success, because its stream never ends. */
  readonly leavesStream?: boolean;
}

export interface OperatorServer {
  readonly url: string;
  readonly redisUrl: string;
  /** Settings of the process, for a worker next to it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Sink;
  readonly db: TestDatabase;
  readonly foundation: Foundation;
  readonly webSockets: WebSockets;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts the API in this process, put together as in production, on a database and a Redis database number of its own. */
export async function startOperatorServer(options: {
  readonly redisDatabase: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder of the built web console. */
  readonly consoleFolder?: string;
  /** Port to listen on. 0 selects any free port. */
  readonly port?: number;
}): Promise<OperatorServer> {
  const db = await createTestDatabase();
  const folder = ownTemporaryFolder('operators');
  const redis = new URL(process.env.TEST_REDIS_URL!);
  redis.pathname = `/${options.redisDatabase}`;
  const log = new Sink();
  const environment = {
    FFMPEG_PATH: process.env.FFMPEG_PATH,
    FFPROBE_PATH: process.env.FFPROBE_PATH,
    DATABASE_URL: patientUrl(db.url),
    REDIS_URL: redis.href,
    DATA_DIR: folder,
    TOLLGATE_CONFIG: CATALOG,
    TOLLGATE_SECRET: INSTALLATION_SECRET,
    ADMIN_TOKEN,
    // set so that every operation exists; the provider is not contacted before somebody signs in
    OIDC_ISSUER: 'http://127.0.0.1:9',
    OIDC_CLIENT_ID: 'tollgate',
    OIDC_CLIENT_SECRET: 'of nobody',
    OIDC_OPERATOR_CLAIM: 'groups',
    OIDC_OPERATOR_VALUE: 'tollgate-operators',
    ...options.environment,
  };
  const logger = createLogger({ name: 'api', level: 'info' }, log);
  const foundation = await composeFoundation(loadConfig(environment), 'api', logger);
  const api = await composeApi(foundation, { consoleFolder: options.consoleFolder });
  const server = createHttpServer(api.app);
  api.webSockets.attach(server);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    redisUrl: redis.href,
    environment,
    log,
    db,
    foundation,
    webSockets: api.webSockets,
    call: (method, path, call = {}) => untilServed(() => request(url + path, method, call)),
    close: async () => {
      await api.webSockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await api.close();
      await foundation.close();
      await rm(folder, { recursive: true, force: true });
      await db.close();
    },
  };
}

const REPEATS_MAX = 5;
const FIRST_PAUSE_MS = 250;

/** Repeats what the server has no time for, as clients do. It has then done nothing. */
async function untilServed(send: () => Promise<Answer>): Promise<Answer> {
  for (let repeats = 0; ; repeats += 1) {
    const answer = await send();
    if (answer.status !== 503 || repeats === REPEATS_MAX) {
      return answer;
    }
    await setTimeout(FIRST_PAUSE_MS * 2 ** repeats);
  }
}

/** Sends one request. Redirects are not followed. */
export async function request(url: string, method: string, options: CallOptions = {}): Promise<Answer> {
  const { token = ADMIN_TOKEN, body } = options;
  const isText = typeof body === 'string';
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  const isLeft = options.leavesStream === true && response.ok;
  const text = isLeft ? '' : await response.text();
  if (isLeft) {
    await response.body?.cancel();
  }
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

import { CatalogService } from '../../../src/catalog/catalog.service.ts';
import type { Catalog } from '../../../src/catalog/catalog.types.ts';
import { parseCatalog } from '../../../src/catalog/parse-catalog.ts';
import { composeOperatorServices } from '../../../src/compose/operators.ts';
import { CreditsReadModel } from '../../../src/credits/credits.read-model.ts';
import type { AccountRoutesServices } from '../../../src/customer-routes.ts';
import { GenerationsReadModel } from '../../../src/generations/generations.read-model.ts';
import { GenerationsService } from '../../../src/generations/generations.service.ts';
import type { KeyCache } from '../../../src/http/callers/key-cache.ts';
import { KeysService } from '../../../src/keys/keys.service.ts';
import type { KeysStore } from '../../../src/keys/keys.store.ts';
import { LedgerVerifier } from '../../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../../src/ledger/movements.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createUrlSigner } from '../../../src/media/signed-url.ts';
import type { Storage } from '../../../src/media/storage.types.ts';
import { AuditStore } from '../../../src/operators/audit.store.ts';
import { ClaimedSessions } from '../../../src/operators/board/claimed-sessions.store.ts';
import { OperatorSessions } from '../../../src/operators/board/operator-session.ts';
import type { OperatorServices } from '../../../src/operators/operators.routes.ts';
import { oneCell } from '../../../src/store/cells.ts';
import type { Database } from '../../../src/store/database.ts';
import { testLedger } from '../../factories/ledger.ts';
import { testMonthClose } from '../../factories/month-close.ts';
import { TASK_CATALOG } from '../../factories/task-stack.ts';

const CATALOG = `
providers: [{ id: builtin, protocol: builtin }]
models:
  - id: acme/small
    name: Acme Small
    description: A small model
    categories: [programming]
    endpoints: [chat, messages]
    context_length: 8000
    max_output_tokens: 1000
    pricing: { prompt: "0.000001", completion: "0.000002" }
    routes: [{ provider: builtin, model: small }]
  - id: acme/large
    categories: [Science]
    endpoints: [chat]
    context_length: 8000
    max_output_tokens: 1000
    routes: [{ provider: builtin, model: large }]
  - id: video-fast
    endpoints: [video]
    pricing: { request: "0.04" }
    routes: [{ engine: local }]
engines: [{ id: local, kind: builtin }]
`;

export function testCatalog(limits?: Catalog['limits']): Catalog {
  const catalog = parseCatalog(CATALOG, 'test.yaml', {});
  return {
    ...catalog,
    limits: limits ?? { requestsPerMinute: 1e7, tokensPerMinute: 1e10, concurrency: 1e4 },
  };
}

export function createAccountServices(parts: {
  database: Database;
  keysStore: KeysStore;
  keyCache: KeyCache;
  catalog: { current: Catalog };
  mediaFolder: string;
}): AccountRoutesServices {
  const { database, keysStore, keyCache, catalog } = parts;
  const models = new CatalogService(() => catalog.current);
  return {
    keys: new KeysService(keysStore, new Movements(() => database.money), keyCache, models),
    catalog: models,
    credits: new CreditsReadModel(oneCell(database)),
    generations: new GenerationsService(new GenerationsReadModel(oneCell(database)), keysStore),
    media: {
      storage: noStorage,
      signer: createUrlSigner({
        publicUrl: 'http://localhost',
        secret: 'a secret of the test installation',
        clock: systemClock,
      }),
      clock: systemClock,
    },
  };
}

/** The operator API without queues, which need Redis and are tested in test/operators. */
export function createOperatorServices(
  database: Database,
  identity: { keys: KeysService; keysStore: KeysStore; keyCache: KeyCache },
): OperatorServices {
  return composeOperatorServices(
    {
      cells: oneCell(database),
      movements: new Movements(() => database.money),
      verifier: new LedgerVerifier(database.money),
      months: testMonthClose(database),
      catalog: TASK_CATALOG,
      clock: systemClock,
      pools: () => ['local'],
      grafanaUrl: null,
    },
    {
      ...identity,
      ledger: testLedger(database),
      circuits: { read: async () => [] },
      operatorSessions: new OperatorSessions({
        installationSecrets: ['test'],
        operators: [],
        claimed: new ClaimedSessions({ pool: database.money, clock: systemClock, rule: null }),
        clock: systemClock,
      }),
    },
    {
      list: async () => [],
      find: async () => undefined,
      pause: async () => false,
      resume: async () => false,
    },
    new AuditStore(database.sequelize),
  );
}

const noStorage = { stat: async () => undefined } as unknown as Storage;

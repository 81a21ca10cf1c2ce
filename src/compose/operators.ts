import { createProducerConnection } from '../../queues/connection.ts';
import { Producer } from '../../queues/producer.ts';
import { QueueInspector } from '../../queues/queue-inspector.ts';
import { queueName } from '../../queues/queue-name.ts';
import { InvoicesReadModel } from '../billing/invoices.read-model.ts';
import { TransactionsReadModel } from '../billing/transactions.read-model.ts';
import { TransactionsService } from '../billing/transactions.service.ts';
import { GenerationsReadModel } from '../generations/generations.read-model.ts';
import { GenerationsService } from '../generations/generations.service.ts';
import type { Authenticator } from '../http/callers/authenticator.ts';
import type { KeyCache } from '../http/callers/key-cache.ts';
import type { KeysService } from '../keys/keys.service.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import type { Ledger } from '../ledger/ledger.types.ts';
import { MonthClose } from '../ledger/month-close.ts';
import { StatementProof } from '../ledger/statement-proof.ts';
import { AccountKeysService } from '../operators/account-keys.service.ts';
import { AccountsReadModel } from '../operators/accounts.read-model.ts';
import { AccountsService } from '../operators/accounts.service.ts';
import { AuditReadModel } from '../operators/audit.read-model.ts';
import { AuditStore } from '../operators/audit.store.ts';
import { ClaimedSessions } from '../operators/board/claimed-sessions.store.ts';
import { admitClaimed, type LoginParts } from '../operators/board/login.ts';
import { operatorPages } from '../operators/board/operator-pages.ts';
import { OperatorSessions } from '../operators/board/operator-session.ts';
import { BookingReferences } from '../operators/booking-references.store.ts';
import { BookReportsReadModel } from '../operators/books/book-reports.read-model.ts';
import { CorrectionsService } from '../operators/corrections.service.ts';
import { CorrectionsStore } from '../operators/corrections.store.ts';
import { DeliveriesReadModel } from '../operators/deliveries.read-model.ts';
import { DeliveriesService } from '../operators/deliveries.service.ts';
import { FleetReadModel } from '../operators/fleet/fleet.read-model.ts';
import { FleetService } from '../operators/fleet/fleet.service.ts';
import { LedgerEntriesReadModel } from '../operators/ledger-entries.read-model.ts';
import { ChargeRecordReadModel } from '../operators/lookup/charge-record.read-model.ts';
import type { LookupParts } from '../operators/lookup/lookup.routes.ts';
import { SearchReadModel } from '../operators/lookup/search.read-model.ts';
import { OperatorTasksReadModel } from '../operators/operator-tasks.read-model.ts';
import { OperatorTasksService } from '../operators/operator-tasks.service.ts';
import type { OperatorServices } from '../operators/operators.routes.ts';
import { QueuesReadModel } from '../operators/queues.read-model.ts';
import { QueuesService } from '../operators/queues.service.ts';
import { StatementsService } from '../operators/statements.service.ts';
import { TaskRetryService } from '../operators/task-retry.service.ts';
import { TaskRetryStore } from '../operators/task-retry.store.ts';
import { WorkersService } from '../operators/workers.service.ts';
import { HostsStore } from '../operators/workers.store.ts';
import type { CircuitExchange } from '../providers/circuit-exchange.ts';
import { WorkerTokensService } from '../remote-workers/worker-tokens.service.ts';
import { WorkerTokensStore } from '../remote-workers/worker-tokens.store.ts';
import { reportReads } from '../store/report.ts';
import { StateReadModel } from '../telemetry/state.read-model.ts';
import { UsageReadModel } from '../usage/usage.read-model.ts';
import { UsageService } from '../usage/usage.service.ts';
import { WebhookDeliveriesStore } from '../webhooks/webhook-deliveries.store.ts';
import { createStatements } from './billing.ts';
import type { Foundation } from './foundation.ts';

/** The parts that operator services share with the rest of the API. */
export interface OperatorNeeds {
  readonly keys: KeysService;
  readonly keysStore: KeysStore;
  readonly keyCache: KeyCache;
  readonly authenticator: Authenticator;
  readonly operatorSessions: OperatorSessions;
  readonly ledger: Pick<Ledger, 'reserve'>;
  /** The paused routes of each API process. */
  readonly circuits: Pick<CircuitExchange, 'read'>;
}

export type OperatorParts = ReturnType<typeof composeOperators>;

/** Creates the browser sessions of operators, for the pages at `/admin` and the console. */
export function composeOperatorSessions({
  config,
  clock,
  cells,
}: Pick<Foundation, 'config' | 'clock' | 'cells'>): OperatorSessions {
  const made = config.oidc?.operators;
  const rule = made ? `${made.claim}=${made.value}` : null;
  return new OperatorSessions({
    claimed: new ClaimedSessions({ pool: cells.home.money, clock, rule }),
    installationSecrets: [config.secret, ...config.previousSecrets],
    operators: config.operators,
    clock,
  });
}

/** Assembles the operator API and the pages at `/admin`. They have their own Redis connection so that large listings do not delay calls. */
export function composeOperators(foundation: Foundation, needs: OperatorNeeds) {
  const { config, log, cells, catalogSource } = foundation;
  const { operatorSessions: sessions } = needs;
  const redis = createProducerConnection(config.redisUrl, (error) =>
    log.debug({ error }, 'Redis is unavailable'),
  );
  const producer = new Producer(redis, { prefix: config.redisPrefix });
  const pools = () => catalogSource.current.engines.map(({ id }) => id);
  const queueNames = () => queuesOf(pools());
  const audit = new AuditStore(cells.home.sequelize);
  const { documents } = createStatements({
    cells,
    publicUrl: config.publicUrl,
    seller: () => catalogSource.current.seller,
  });
  const services = composeOperatorServices(
    {
      ...foundation,
      pools,
      grafanaUrl: config.grafanaUrl,
      months: new MonthClose(cells.sole.money, new StatementProof(cells.sole.money), documents, log),
    },
    needs,
    new QueueInspector(producer, queueNames),
    audit,
  );
  const base = `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}/admin`;
  const login: LoginParts = {
    authenticator: needs.authenticator,
    sessions,
    cookies: { path: base, secure: config.publicUrl.startsWith('https:') },
    base,
    audit,
    signInBy: config.oidc?.operators ? config.oidc.name : undefined,
  };
  const pages = operatorPages({
    login,
    tasks: services.tasks,
    deliveries: services.deliveries,
    producer,
    queueNames,
  });
  return {
    services,
    redis,
    mounted: { path: '/admin', handler: pages },
    admitClaimed: admitClaimed.bind(undefined, login),
    close: async () => {
      await producer.close();
      redis.disconnect();
    },
  };
}

/** Returns the names of all queues of an installation with these engine pools. */
function queuesOf(pools: readonly string[]): string[] {
  const engines = pools.map((pool) => queueName('generate', pool));
  return [...engines, queueName('postprocess'), queueName('webhooks'), queueName('maintenance')];
}

/** The parts of the foundation that operator services use, and parts created only for them. */
type OperatorFoundation = Pick<Foundation, 'cells' | 'movements' | 'verifier' | 'catalog' | 'clock'> & {
  readonly months: MonthClose;
  /** Returns the engine pools of the catalog. */
  readonly pools: () => readonly string[];
  /** URL of the dashboards; null if not configured. */
  readonly grafanaUrl: string | null;
};

/** Creates the services behind the routes of the operator API. */
export function composeOperatorServices(
  foundation: OperatorFoundation,
  needs: Omit<OperatorNeeds, 'authenticator'>,
  inspector: ConstructorParameters<typeof QueuesService>[0],
  audit: AuditStore,
): OperatorServices {
  const { cells, verifier, clock, pools, grafanaUrl } = foundation;
  const { home, sole } = cells;
  const state = new StateReadModel(cells);
  return {
    ...composeAccountServices(foundation, needs),
    ...composeTaskServices(foundation, needs.ledger, audit),
    verifier,
    ledgerEntries: new LedgerEntriesReadModel(sole.sequelize),
    bookReports: new BookReportsReadModel(sole.sequelize),
    queues: new QueuesService(inspector, new QueuesReadModel(sole.sequelize), audit),
    workers: new WorkersService(new HostsStore(home.money)),
    workerTokens: new WorkerTokensService(new WorkerTokensStore(home.money), pools),
    audit: new AuditReadModel(home.sequelize),
    lookup: composeLookup(cells, needs.keysStore, clock),
    fleet: new FleetService({
      rows: new FleetReadModel(sole.sequelize),
      checks: () => verifier.lastChecks(),
      standing: () => state.read(),
      circuits: () => needs.circuits.read(),
      pools,
      clock,
    }),
    sessions: needs.operatorSessions,
    grafanaUrl,
  };
}

/** Creates the services for accounts, their keys, corrections of their books and their statements. */
function composeAccountServices(
  { cells, movements, months, catalog }: OperatorFoundation,
  { keys, keysStore, keyCache }: Pick<OperatorNeeds, 'keys' | 'keysStore' | 'keyCache'>,
): Pick<OperatorServices, 'accounts' | 'accountKeys' | 'corrections' | 'statements'> {
  const readModel = new AccountsReadModel(cells);
  const accounts = new AccountsService(readModel, movements, keys, catalog);
  return {
    accounts,
    accountKeys: new AccountKeysService({
      accounts,
      keys,
      store: keysStore,
      movements,
      cache: keyCache,
    }),
    corrections: new CorrectionsService(
      new CorrectionsStore(cells, movements),
      readModel,
      new BookingReferences(cells),
    ),
    statements: new StatementsService(
      new InvoicesReadModel((accountId) => reportReads(cells.of(accountId).sequelize)),
      months,
    ),
  };
}

/** Creates the services for tasks, their retries and their webhooks. */
function composeTaskServices(
  { cells, catalog }: OperatorFoundation,
  ledger: OperatorNeeds['ledger'],
  audit: AuditStore,
): Pick<OperatorServices, 'tasks' | 'retries' | 'deliveries'> {
  return {
    tasks: new OperatorTasksService(new OperatorTasksReadModel(cells)),
    retries: new TaskRetryService(new TaskRetryStore(cells), ledger, audit, {
      deadlineMs: (task) => catalog.runPolicyOf(task).deadlineMs,
    }),
    deliveries: new DeliveriesService(new DeliveriesReadModel(cells), new WebhookDeliveriesStore(cells)),
  };
}

function composeLookup(
  cells: Foundation['cells'],
  keysStore: KeysStore,
  clock: Foundation['clock'],
): LookupParts {
  const generations = new GenerationsReadModel(cells);
  return {
    search: new SearchReadModel(cells.sole.sequelize),
    charges: new ChargeRecordReadModel(cells, generations),
    generations: new GenerationsService(generations, keysStore),
    transactions: new TransactionsService(new TransactionsReadModel(cells), keysStore),
    usage: new UsageService(new UsageReadModel(cells), keysStore, clock),
  };
}

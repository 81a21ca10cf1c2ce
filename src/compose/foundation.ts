import { stat } from 'node:fs/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { CatalogService } from '../catalog/catalog.service.ts';
import { CatalogStore } from '../catalog/catalog.store.ts';
import type { Catalog } from '../catalog/catalog.types.ts';
import { CatalogSource, type CatalogSourceOptions } from '../catalog/catalog-source.ts';
import { engineFiles, engineMistake } from '../catalog/engine-kinds.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { UnavailableError } from '../config/config-error.ts';
import { databaseAddresses, isPrivateWay } from '../config/database-url.ts';
import { BookRoots } from '../ledger/book-roots.ts';
import { ADMITTING_LANES, ENDING_LANES, PostgresLedger } from '../ledger/ledger.engine.ts';
import { LedgerStore } from '../ledger/ledger.store.ts';
import { createLaneObserver, registerCheckGauges, registerLedgerGauges } from '../ledger/ledger-metrics.ts';
import { LedgerVerifier } from '../ledger/ledger-verifier.ts';
import { Movements } from '../ledger/movements.ts';
import type { Clock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { NO_TRACING, type Tracing } from '../lib/tracing.ts';
import { type Cells, oneCell } from '../store/cells.ts';
import { createDatabase, type Database, type DatabaseSettings } from '../store/database.ts';
import { DatabaseClock } from '../store/database-clock.ts';
import { DatabaseWatch } from '../store/database-watch.ts';
import { explainOutage, inspectDatabase } from '../store/inspect-database.ts';
import { run } from '../store/statement.ts';
import { createLedgerObserver } from '../telemetry/ledger-observer.ts';
import { ModelMemory } from '../telemetry/model-memory.ts';
import { createOtelTracing } from '../telemetry/otel-tracing.ts';
import {
  registerBuildInfo,
  registerDatabaseGauges,
  registerPoolGauges,
} from '../telemetry/process-gauges.ts';
import { createSettlementMetrics } from '../telemetry/settlement-metrics.ts';
import { removeLeftovers } from './data-folder.ts';
import { migrationsTable } from './readiness.sql.ts';
import { rootCopies } from './root-copies.ts';
import { composeStorage, type StorageParts } from './storage.ts';

/** The parts that the API and the workers share. */
export interface Foundation extends StorageParts {
  readonly config: Config;
  readonly log: Logger;
  /** The database's time, so that every host has the same. */
  readonly clock: Clock;
  readonly registry: Registry;
  readonly tracing: Tracing;
  /** Remembers the model of each hold, for the metrics of its settlement. */
  readonly models: ModelMemory;
  readonly cells: Cells;
  readonly databaseWatch: DatabaseWatch;
  readonly catalogSource: CatalogSource;
  readonly catalog: CatalogService;
  readonly ledgerStore: LedgerStore;
  readonly ledger: PostgresLedger;
  readonly movements: Movements;
  readonly verifier: LedgerVerifier;
  /** Writer of the daily roots of the books; undefined if none are written. */
  readonly bookRoots: BookRoots | undefined;
  /** Lets settlements finish, then closes everything opened here. */
  close(): Promise<void>;
}

/**
 * Builds the shared parts of a process. Throws ConfigError (storage, roots of the books), CatalogError, or the database's error if it
 * cannot be reached.
 */
export async function composeFoundation(
  config: Config,
  process: 'api' | 'worker',
  log: Logger = createLogger({ name: process, level: config.logLevel }),
): Promise<Foundation> {
  const clock = new DatabaseClock();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  await checkRootsFolder(config);
  const storage = await composeStorage(config, process, { clock, log });
  const { database, cells } = openCells(config, process, log);
  const catalogSource = await openCatalog(config, process, { database, cells, log }).catch(
    async (error: unknown) => {
      await Promise.all([database.close(), storage.storage.close()]);
      throw error;
    },
  );
  const tracing = await composeTracing(config, process, log);
  const books = composeLedger(config, process, { cells, registry, tracing, log });
  const bookRoots = composeBookRoots(config, cells);
  const databaseWatch = await watchDatabase(config, { database, clock, registry, log });
  const leftovers = removeLeftovers(config, log);
  registerBuildInfo(registry);
  registerPoolGauges(registry, database);
  registerCheckGauges(registry, cells.home.money);
  return {
    config,
    log,
    clock,
    registry,
    tracing,
    cells,
    databaseWatch,
    catalogSource,
    catalog: new CatalogService(() => catalogSource.current),
    ...books,
    movements: new Movements((accountId) => cells.of(accountId).money),
    verifier: new LedgerVerifier(cells.sole.money, bookRoots),
    bookRoots,
    ...storage,
    close: async () => {
      await Promise.all([catalogSource.close(), leftovers.close()]);
      await books.ledger.close();
      await storage.storage.close();
      await databaseWatch.close();
      await database.close();
      await tracing.close();
    },
  };
}

function openCells(config: Config, process: 'api' | 'worker', log: Logger) {
  const database = createDatabase({ ...poolsOf(config), process }, (error) =>
    log.warn({ error }, 'a database connection was lost'),
  );
  return { database, cells: oneCell(database) };
}

/** Checks that this release can work with the database, then opens the catalog. Throws CatalogError, or as {@link inspectDatabase} does. */
async function openCatalog(
  config: Config,
  process: 'api' | 'worker',
  { database, cells, log }: { database: Database; cells: Cells; log: Logger },
): Promise<CatalogSource> {
  for (const warning of await inspectDatabase(database)) {
    log.warn(warning);
  }
  await requireSchema(cells);
  return await CatalogSource.open({
    file: config.catalogFile,
    variables: config.variables,
    check: (catalog) => mistakeOf(config, catalog),
    filesOf: (catalog) => engineFiles(config, catalog),
    prepare: pricesKeeper(process, cells),
    log,
  }).catch((error: unknown) => {
    throw isMissingObject(error) ? new UnavailableError(OLD_SCHEMA) : explainOutage(error);
  });
}

const OLD_SCHEMA =
  'DATABASE_URL: this database lacks what this release needs: run the migration (npm run migrate), and read what it says';

/** Returns whether Postgres knows no function, table or column of that name. */
function isMissingObject(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === '42883' || code === '42P01' || code === '42703';
}

/** Throws UnavailableError if the database was never migrated. A schema that only lacks something is for `/readyz` to report. */
async function requireSchema({ home }: Cells): Promise<void> {
  const [found] = await run<{ is_there: boolean }>(home.money, migrationsTable, []);
  if (!found?.is_there) {
    throw new UnavailableError(
      'DATABASE_URL: this database was never migrated: run the migration (npm run migrate)',
    );
  }
}

/** Creates the ledger and its observers. Its lanes fit the process: an API mostly admits calls, a worker mostly ends them. */
function composeLedger(
  { ledgerPlans }: Config,
  process: 'api' | 'worker',
  { cells, registry, tracing, log }: Pick<Foundation, 'cells' | 'registry' | 'tracing' | 'log'>,
): Pick<Foundation, 'ledgerStore' | 'ledger' | 'models'> {
  const models = new ModelMemory();
  const observer = createLedgerObserver({
    settlements: createSettlementMetrics(registry),
    batches: createLaneObserver(registry, log),
    models,
    tracing,
  });
  const ledgerStore = new LedgerStore(cells.sole.money, ledgerPlans);
  const lanes = process === 'api' ? ADMITTING_LANES : ENDING_LANES;
  const ledger = new PostgresLedger(ledgerStore, log, observer, lanes);
  registerLedgerGauges(registry, ledger);
  return { ledgerStore, ledger, models };
}

/** Returns what is wrong with a catalog. Having no models is a mistake too: there would be nothing to sell. */
function mistakeOf(config: Config, catalog: Catalog): string | undefined {
  return catalog.models.size === 0 ? 'models: is required' : engineMistake(config, catalog);
}

function poolsOf({ databaseUrl, databaseConnections }: Config): DatabaseSettings {
  const money = Math.ceil(databaseConnections / 2);
  return { url: databaseUrl, moneyConnections: money, connections: databaseConnections - money };
}

function composeBookRoots(config: Config, { sole }: Cells): BookRoots | undefined {
  const { bookRootsFolder } = config;
  const copies = rootCopies(config);
  return bookRootsFolder === null ? undefined : new BookRoots(sole.money, bookRootsFolder, copies);
}

/** Requires that the folder exists. It is not created: that would hide a missing mount behind an empty folder. */
async function checkRootsFolder({ bookRootsFolder }: Config): Promise<void> {
  const isThere =
    bookRootsFolder === null ||
    (await stat(bookRootsFolder).then(
      (found) => found.isDirectory(),
      () => false,
    ));
  if (!isThere) {
    throw new ConfigError(`BOOKS_ROOTS_DIR: ${bookRootsFolder} is not a folder: create or mount it`);
  }
}

/** Returns the hook that stores a catalog's prices before it takes effect. Only in the API: a worker's database role may not write them. */
function pricesKeeper(process: 'api' | 'worker', { home }: Cells): CatalogSourceOptions['prepare'] {
  const store = new CatalogStore(home.money);
  return async (catalog, name) => {
    if (process === 'api') {
      await store.savePrices(catalog.models.values(), name);
    }
  };
}

/**
 * Checks for the first time which server the database URL leads to and what time it is there, and keeps checking. Warns once if the
 * connection is not encrypted.
 */
async function watchDatabase(
  { databaseUrl, production }: Config,
  {
    database,
    clock,
    registry,
    log,
  }: { database: Database; clock: DatabaseClock; registry: Registry; log: Logger },
): Promise<DatabaseWatch> {
  if (production && !databaseAddresses(databaseUrl).every(isPrivateWay)) {
    log.warn(
      'DATABASE_URL connects to another host without TLS: add sslmode=verify-full&sslrootcert=... to encrypt the connection',
    );
  }
  const onFailure = (error: unknown) => log.warn({ error }, 'the database cannot be reached');
  const watch = new DatabaseWatch(database, onFailure, clock);
  registerDatabaseGauges(registry, watch);
  await watch.start();
  return watch;
}

/** Creates tracing if a collector is configured. */
async function composeTracing(
  { otlpEndpoint, traceSampling }: Config,
  process: 'api' | 'worker',
  log: Logger,
): Promise<Tracing> {
  return otlpEndpoint === null
    ? NO_TRACING
    : await createOtelTracing({
        endpoint: otlpEndpoint,
        service: `tollgate-${process}`,
        sampling: traceSampling,
        log,
      });
}

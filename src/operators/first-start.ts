import { KeyCache } from '../http/callers/key-cache.ts';
import { KeysService } from '../keys/keys.service.ts';
import { KeysStore } from '../keys/keys.store.ts';
import { secretHash } from '../keys/secret.ts';
import { Movements } from '../ledger/movements.ts';
import { systemClock } from '../lib/clock.ts';
import { newUuid } from '../lib/ids.ts';
import { NANO_USD_PER_USD, nanoUsd } from '../lib/money.ts';
import { oneCell } from '../store/cells.ts';
import { createDatabase } from '../store/database.ts';
import { AccountsReadModel } from './accounts.read-model.ts';
import { AccountsService } from './accounts.service.ts';
import { readSecretFile, writeSecretFile } from './owner-files.ts';

const ACCOUNT_NAME = 'default';
const OPENING_CREDITS = nanoUsd(10n * NANO_USD_PER_USD);
const OWNER_KEY_FILE = 'owner.key';
/** The first key may use all models. */
const ALL_MODELS = { requireModels: () => undefined };
const ACT = { operator: 'first start', requestId: 'first-start' };

interface FirstAccountOptions {
  readonly accounts: AccountsService;
  readonly readModel: AccountsReadModel;
  readonly keys: KeysStore;
  /** Folder for the secrets, which are written with mode 600. */
  readonly dataFolder: string;
}

/** Entry point: runs once after the migrations when the database is the embedded one. Prints one line. */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const { DATABASE_URL: url, DATA_DIR: dataFolder } = environment;
  if (!url || !dataFolder) {
    throw new Error(`${url ? 'DATA_DIR' : 'DATABASE_URL'} is not set`);
  }
  const database = createDatabase({ url, moneyConnections: 1, connections: 1 }, () => undefined);
  try {
    const cells = oneCell(database);
    const keys = new KeysStore(cells);
    const movements = new Movements((accountId) => cells.of(accountId).money);
    const keysService = new KeysService(
      keys,
      movements,
      new KeyCache((hashes) => keys.facts(hashes), systemClock),
      ALL_MODELS,
    );
    const readModel = new AccountsReadModel(cells);
    const accounts = new AccountsService(readModel, movements, keysService, ALL_MODELS);
    const line = await ensureFirstAccount({ accounts, readModel, keys, dataFolder });
    process.stdout.write(`${line}\n`);
  } finally {
    await database.close();
  }
}

/**
 * Makes a fresh installation usable: account `default` with 10.00 USD, and its owner key in a file. Running it again changes
 * nothing, except that a lost key file is replaced by one with a new owner key. Returns a one-line summary.
 */
async function ensureFirstAccount(options: FirstAccountOptions): Promise<string> {
  const { dataFolder } = options;
  if (await options.readModel.isEmpty()) {
    const { secret } = await options.accounts.open(
      { name: ACCOUNT_NAME, credits: OPENING_CREDITS },
      ACT,
      newUuid(),
    );
    await writeSecretFile(dataFolder, OWNER_KEY_FILE, secret);
    return 'account default created with 10.00 USD';
  }
  const accountId = await options.readModel.idOfName(ACCOUNT_NAME);
  if (accountId === undefined || (await ownsWorkingKey(options, accountId))) {
    return 'the first account already exists';
  }
  const { secret } = await options.accounts.createOwnerKey(accountId, ACT);
  await writeSecretFile(dataFolder, OWNER_KEY_FILE, secret);
  return 'created a new owner key for account default, because its key file was missing or invalid';
}

/** A key file of another database or of a deleted key counts as lost. */
async function ownsWorkingKey(options: FirstAccountOptions, accountId: string): Promise<boolean> {
  const secret = await readSecretFile(options.dataFolder, OWNER_KEY_FILE);
  const hash = secret && secretHash(secret);
  return hash ? (await options.keys.find(accountId, hash)) !== undefined : false;
}

try {
  await main(process.env);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

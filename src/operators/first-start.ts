import { KeyCache } from '../http/callers/key-cache.ts';
import { KeysService } from '../keys/keys.service.ts';
import { KeysStore } from '../keys/keys.store.ts';
import { Movements } from '../ledger/movements.ts';
import { systemClock } from '../lib/clock.ts';
import { oneCell } from '../store/cells.ts';
import { createDatabase } from '../store/database.ts';
import { AccountsReadModel } from './accounts.read-model.ts';
import { AccountsService } from './accounts.service.ts';
import { ensureFirstAccount } from './first-account.ts';

/** Entry: run once after the migrations when the database is the embedded one. Prints one line. */
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
      // the first key is for all models
      { requireModels: () => undefined },
    );
    const readModel = new AccountsReadModel(cells);
    const accounts = new AccountsService(readModel, movements, keysService);
    const line = await ensureFirstAccount({ accounts, readModel, keys, dataFolder });
    process.stdout.write(`${line}\n`);
  } finally {
    await database.close();
  }
}

try {
  await main(process.env);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

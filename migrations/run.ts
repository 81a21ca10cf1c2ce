import { ConfigError } from '../src/config/config-error.ts';
import { databaseRole, isDatabaseUrl } from '../src/config/database-url.ts';
import { SecretFileError, withSecretFiles } from '../src/lib/secret-files.ts';
import { primaryAddress } from '../src/store/primary-address.ts';
import { migrateDown, migrateUp } from './migrate.ts';
import { TransactionPoolerError } from './transaction-pooler.ts';
import { UnsuitableDatabaseError } from './unsuitable-server.ts';

/** A wrong setting: another attempt would fail in the same way. */
class SettingsError extends Error {}

const WRONG_SETTINGS = [SettingsError, ConfigError, TransactionPoolerError, UnsuitableDatabaseError];

/**
 * `node run.js [down [name]]`: prints a one-line result to stdout, or a failure to stderr with exit
 * code 1 (2 for a wrong setting or argument, or a pooler that cannot be used).
 */
async function main(
  given: NodeJS.ProcessEnv,
  command: string | undefined,
  to: string | undefined,
): Promise<string> {
  const environment = readFiles(given);
  if (command !== undefined && command !== 'down') {
    throw new SettingsError(
      `${command} is not a command: run it without an argument to migrate, or with \`down [name]\` to undo`,
    );
  }
  if (command === 'down' && environment.NODE_ENV === 'production') {
    throw new SettingsError(
      '`down` drops data: it does not run with NODE_ENV=production. To roll back, start the old release',
    );
  }
  const ownerUrl = environment.DATABASE_OWNER_URL ?? environment.DATABASE_URL;
  if (ownerUrl === undefined) {
    throw new SettingsError(
      'set DATABASE_URL (or DATABASE_OWNER_URL, when the schema belongs to another role)',
    );
  }
  if (!isDatabaseUrl(ownerUrl)) {
    throw new SettingsError(
      'DATABASE_URL (or DATABASE_OWNER_URL) must be a URL like postgres://user@host/database',
    );
  }
  const owner = await primaryAddress(
    ownerUrl,
    environment.DATABASE_OWNER_URL ? 'DATABASE_OWNER_URL' : 'DATABASE_URL',
  );
  if (command === 'down') {
    const undone = await migrateDown({ ownerUrl: owner, onWait: sayWaiting }, to);
    return `undone: ${undone.join(', ') || 'nothing'}`;
  }
  const applicationRole = environment.DATABASE_URL && databaseRole(environment.DATABASE_URL);
  const { DATABASE_WORKER_ROLE: workerRole, DATABASE_SCALER_ROLE: scalerRole } = environment;
  const applied = await migrateUp({
    ownerUrl: owner,
    onWait: sayWaiting,
    ...(applicationRole && { applicationRole }),
    ...(workerRole && { workerRole }),
    ...(scalerRole && { scalerRole }),
  });
  return applied.length === 0 ? 'schema is current' : `applied: ${applied.join(', ')}`;
}

function sayWaiting(): void {
  process.stderr.write('waiting until another migration of this database has ended\n');
}

function readFiles(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  try {
    return withSecretFiles(environment);
  } catch (error) {
    throw error instanceof SecretFileError ? new SettingsError(error.message) : error;
  }
}

try {
  process.stdout.write(`${await main(process.env, process.argv[2], process.argv[3])}\n`);
} catch (error) {
  process.stderr.write(`migration failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = WRONG_SETTINGS.some((kind) => error instanceof kind) ? 2 : 1;
}

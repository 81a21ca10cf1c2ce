import { auditBooks, auditCalls, queryOwner, withOwner } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosFinding, ChaosScenario } from '../scenario.types.ts';
import type { ChaosServices } from '../services.ts';
import { mountSmallDisk, type SmallDisk } from '../small-disk.ts';
import { ADMIN_TOKEN, type ChaosStack, startStack } from '../stack.ts';
import { type SupervisedPostgres, startSupervisedPostgres } from '../supervised-postgres.ts';
import { words } from '../upstream-words.ts';

const READ_ONLY_MS = 6_000;
const FULL_MS = 6_000;
const BETWEEN_MS = 4_000;
const PANIC_WITHIN_MS = 30_000;
const UP_WITHIN_MS = 30_000;
const RECOVERED_WITHIN_MS = 5_000;
const HOLDS_MS = 70_000;
/** Uses up log space, as hours of work would, by a change that needs no space in any table. */
const USE_UP_LOG = `SELECT pg_switch_wal(); SELECT pg_logical_emit_message(true, 'chaos', 'a change')`;

/** A period in which Postgres could not write, in Unix ms. */
interface Fault {
  readonly name: string;
  readonly from: number;
  readonly until: number;
  /** Statuses of writes that are not calls. */
  readonly writes: readonly number[];
}

export const fullDisk: ChaosScenario = {
  id: 'F3',
  fault:
    'Postgres becomes read-only for 6 s, like a demoted primary; then its disk is full to the last byte until it panics, then it has space again',
  asked: '503, no partial writes, recovers unaided',
  inShortForm: false,
  async run(services) {
    const disk = await mountSmallDisk();
    try {
      const postgres = disk && (await startSupervisedPostgres(disk.folder, services.folder));
      try {
        return await breakWrites(services, disk, postgres);
      } finally {
        await postgres?.close();
      }
    } finally {
      await disk?.close();
    }
  },
};

async function breakWrites(
  services: ChaosServices,
  disk: SmallDisk | undefined,
  postgres: SupervisedPostgres | undefined,
): Promise<ChaosFinding> {
  services.upstream.reset({ words: words(10), tokenDelayMs: 10 });
  const stack = await startStack(
    postgres ? { ...services, createDatabase: postgres.createDatabase } : services,
    { apis: 2 },
  );
  const { ownerUrl } = stack.database;
  const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
  const log = new OutcomeLog();
  const load = startLoad({ urls: () => stack.urls, accounts, log, perSecond: 60, streamShare: 0.5 });
  await pause(2_000);
  const faults = [await makeReadOnly(stack)];
  await pause(BETWEEN_MS);
  if (disk && postgres) {
    faults.push(await fillUp(stack, disk, postgres));
    await pause(BETWEEN_MS);
  }
  await load.stop();
  const books = await auditBooks(ownerUrl, HOLDS_MS);
  const { told, wrong } = await auditCalls(ownerUrl, log.calls);
  await stack.stop();
  const odd = Object.keys(log.troubles).filter((trouble) => !trouble.startsWith('503 service_unavailable: '));
  const seen = faults.map((fault) => describe(fault, log));
  const isFull = disk !== undefined;
  const panics = postgres?.said('PANIC') ?? 0;
  return {
    measured: `${seen.map(({ text }) => text).join('; ')}; ${isFull ? `Postgres out of space ${postgres?.said('No space left on device')} times, ${panics} panics, restarted ${postgres?.revivals()} times` : 'the full disk was skipped: this user may not mount one'}; ${told} answered and booked correctly, ${wrong.length} wrong`,
    failures: [
      ...(odd.length > 0 ? [`other answers than 503: ${JSON.stringify(log.troubles)}`] : []),
      ...seen.flatMap(({ failures }) => failures),
      ...(isFull && panics === 0 ? ['Postgres never ran out of space for its log'] : []),
      ...wrong,
      ...books,
    ],
  };
}

/** Makes the whole server read-only, so that open sessions are affected too. */
async function makeReadOnly({ database: { ownerUrl }, urls }: ChaosStack): Promise<Fault> {
  const set = async (statement: string) => {
    await queryOwner(ownerUrl, statement);
    await queryOwner(ownerUrl, 'SELECT pg_reload_conf()');
  };
  await set('ALTER SYSTEM SET default_transaction_read_only = on');
  const from = Date.now();
  await pause(READ_ONLY_MS / 2);
  const writes = [await writeSomething(urls)];
  await pause(READ_ONLY_MS / 2);
  await set('ALTER SYSTEM RESET default_transaction_read_only');
  return { name: 'read-only', from, until: Date.now(), writes };
}

/**
 * Fills the disk: first tables cannot grow, then Postgres cannot write its log and panics. Ends when Postgres is up again with free space.
 */
async function fillUp(
  { database: { ownerUrl }, urls }: ChaosStack,
  disk: SmallDisk,
  postgres: SupervisedPostgres,
): Promise<Fault> {
  // a connection opened in advance: once the disk is full, new ones may be rejected
  const { from, writes } = await withOwner(ownerUrl, async (client) => {
    await client.query(USE_UP_LOG);
    disk.fill();
    const full = { from: Date.now(), writes: [] as number[] };
    for (let second = 0; second < FULL_MS; second += 1_000) {
      await pause(1_000);
      full.writes.push(await writeSomething(urls));
    }
    const deadline = Date.now() + PANIC_WITHIN_MS;
    while (postgres.said('PANIC') === 0 && Date.now() < deadline) {
      await client.query(USE_UP_LOG).catch(() => undefined);
      await pause(100);
    }
    return full;
  });
  await pause(FULL_MS / 2);
  writes.push(await writeSomething(urls));
  await pause(FULL_MS / 2);
  disk.free();
  const upBefore = Date.now() + UP_WITHIN_MS;
  for (;;) {
    const isUp = await queryOwner(ownerUrl, 'SELECT 1').then(
      () => true,
      () => false,
    );
    if (isUp || Date.now() > upBefore) {
      return { name: 'full', from, until: Date.now(), writes };
    }
    await pause(50);
  }
}

/** Returns the status of a write that is not a call. */
async function writeSomething([url]: readonly string[]): Promise<number> {
  return await fetch(`${url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'while nothing can be written' }),
  }).then(({ status }) => status);
}

function describe(
  { name, from, until, writes }: Fault,
  log: OutcomeLog,
): { text: string; failures: readonly string[] } {
  const refused = log.count(({ status, endedAt }) => status === 503 && endedAt > from && endedAt <= until);
  const first = log.calls.find(({ outcome, endedAt }) => outcome === 'answered' && endedAt > until);
  const recoveredMs = first === undefined ? Number.POSITIVE_INFINITY : first.endedAt - until;
  const seconds = (recoveredMs / 1_000).toFixed(1);
  return {
    text: `${name} for ${((until - from) / 1_000).toFixed(0)} s: ${refused} calls 503, first success ${seconds} s after`,
    failures: [
      ...(refused === 0 ? [`nothing was rejected while Postgres was ${name}: there was no fault`] : []),
      ...(recoveredMs > RECOVERED_WITHIN_MS ? [`${name}: it did not recover within 5 s`] : []),
      // writes that fit into the space a table already has still succeed
      ...writes
        .filter((status) => status !== 503 && !(name === 'full' && status === 201))
        .map((status) => `${name}: a new account was answered with ${status}`),
    ],
  };
}

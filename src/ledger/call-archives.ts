import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import pg from 'pg';
import * as copyStreams from 'pg-copy-streams';
import { SESSION_SETTINGS } from '../../migrations/session-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { primaryAddress } from '../store/primary-address.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  callArchives,
  callsNeeded,
  columnsOf,
  makeNextCalls,
  markArchived,
  rememberExport,
  swapCalls,
} from './call-archives.sql.ts';
import type { AuditedAct } from './ledger.types.ts';
import { type PackedTable, packMonth, suffixesToPack } from './packed-months.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Limit of one statement: long enough to copy or count a month of a large installation. */
const STATEMENT_TIMEOUT_MS = 12 * 3_600_000;
/** Calls queue behind a waiting lock request, so it gives up soon and tries again. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_TRIES = 30;
const LOCK_PAUSE_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
const GZIP_LEVEL = 6;

/** A month whose calls were exported. */
export interface CallArchive extends pg.QueryResultRow {
  readonly month_start: Date;
  readonly calls: string;
  /** Quoted names, in the order of the file. */
  readonly columns: readonly string[];
  readonly bytes: string;
  /** Digest of the file, hex. */
  readonly sha256: string;
  readonly exported_at: Date;
  /** Null while the calls are still in the database as well. */
  readonly dropped_at: Date | null;
}

/** Why an archive operation is impossible, and what to do about it. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/**
 * Moves the calls of old months into files and back: their table takes more than half of the books' bytes. Entries, seals, statements and
 * sums stay, so all invariants still hold. Calls in a month's table that ended in another month stay, too.
 */
export class CallArchives {
  readonly #client: pg.PoolClient;

  private constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** Runs `work` as the schema's owner and closes the connection afterwards. Rejects with errors of Postgres and of `work`. */
  static async as<T>(ownerUrl: string, work: (archives: CallArchives) => Promise<T>): Promise<T> {
    const pool = new pg.Pool({
      max: 1,
      ...(await primaryAddress(ownerUrl, 'DATABASE_OWNER_URL')),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      application_name: 'tollgate-archive',
    });
    const client = await pool.connect();
    try {
      // the files must read the same whatever the defaults of the role are on either day
      await client.query(`SELECT ${SESSION_SETTINGS}`);
      return await work(new CallArchives(client));
    } finally {
      client.release();
      await pool.end();
    }
  }

  /** Returns the exported months, newest first. */
  async list(): Promise<CallArchive[]> {
    return await run<CallArchive>(this.#client, callArchives, []);
  }

  /**
   * Writes the calls of a month to `calls-YYYY-MM.csv.gz` in a folder, with the digest in a file beside it. Replaces an earlier file of
   * that name. Throws ArchiveError when calls of the month are still needed or already archived.
   */
  async export(month: Date, folder: string): Promise<CallArchive> {
    await this.#assertNotNeeded(month);
    if ((await this.#find(month))?.dropped_at) {
      throw new ArchiveError(`the calls of ${nameOf(month)} are already archived: restore them first`);
    }
    const table = tableOf(month);
    const [found] = await run<{ columns: string[] }>(this.#client, columnsOf, [table]);
    if (!found) {
      throw new ArchiveError(`there is no table ${table}: no calls of ${nameOf(month)} are stored by month`);
    }
    const path = fileOf(month, folder);
    const draft = `${path}.draft`;
    const hash = hashing();
    const rows = this.#client.query(
      copyStreams.to(
        `COPY (SELECT ${found.columns.join(', ')} FROM ${table} ORDER BY id) TO STDOUT (FORMAT csv, HEADER)`,
      ),
    );
    try {
      const target = createWriteStream(draft, { mode: 0o440, flush: true });
      await pipeline(rows, createGzip({ level: GZIP_LEVEL }), hash.stream, target);
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
    const sha256 = hash.digest();
    await writeFile(`${path}.sha256`, `${sha256}  ${path.slice(folder.length).replace(/^\//, '')}\n`);
    const { size } = await stat(path);
    await run(this.#client, rememberExport, [month, rows.rowCount, found.columns, size, sha256]);
    return await this.#known(month);
  }

  /**
   * Drops the calls of a month whose file in the folder is byte for byte what was exported. Throws ArchiveError when it is not, or
   * when the number of calls has changed since.
   */
  async drop(month: Date, folder: string, act: AuditedAct): Promise<CallArchive> {
    await this.#assertNotNeeded(month);
    const archive = await this.#known(month);
    if (archive.dropped_at) {
      throw new ArchiveError(`the calls of ${nameOf(month)} are already archived`);
    }
    await assertIntact(archive, folder);
    await this.#assertCount(tableOf(month), archive);
    const table = await this.#makeNext(month);
    await this.#client.query(
      `INSERT INTO ${table}_next SELECT * FROM ${table} WHERE completed_at < $1 OR completed_at >= $2`,
      [month, endOf(month)],
    );
    await this.#swap(month, true, act);
    // nothing can have written to the old table since it was swapped out
    await this.#assertCount(`${table}_before`, archive);
    await this.#client.query(`DROP TABLE ${table}_before`);
    return await this.#known(month);
  }

  /** Restores the calls of a month from its file. Throws ArchiveError when the file is not the one that was exported. */
  async restore(month: Date, folder: string, act: AuditedAct): Promise<CallArchive> {
    const archive = await this.#known(month);
    if (!archive.dropped_at) {
      throw new ArchiveError(`the calls of ${nameOf(month)} are in the database`);
    }
    await assertIntact(archive, folder);
    const table = await this.#makeNext(month);
    const rows = this.#client.query(
      copyStreams.from(`COPY ${table}_next (${archive.columns.join(', ')}) FROM STDIN (FORMAT csv, HEADER)`),
    );
    await pipeline(createReadStream(fileOf(month, folder)), createGunzip(), rows);
    await this.#assertCount(`${table}_next`, archive);
    await this.#client.query(`ANALYZE ${table}_next`);
    await this.#swap(month, false, act);
    // the few calls that stayed are in the file, too
    await this.#client.query(`DROP TABLE ${table}_before`);
    return await this.#known(month);
  }

  /** Packs the indexes of a month: {@link packMonth}. Throws ArchiveError before the month is over. */
  async pack(month: Date): Promise<PackedTable[]> {
    if (endOf(month).getTime() > systemClock.now()) {
      throw new ArchiveError(`${nameOf(month)} is not over: its indexes still grow`);
    }
    const packed = await packMonth(this.#client, tableOf(month).slice('generations_'.length));
    if (packed.length === 0) {
      throw new ArchiveError(
        `there is no table ${tableOf(month)}: nothing of ${nameOf(month)} is stored by month`,
      );
    }
    return packed;
  }

  /** Packs each month that is over and was not packed since it was written or restored. */
  async packDue(): Promise<PackedTable[]> {
    const packed: PackedTable[] = [];
    for (const suffix of await suffixesToPack(this.#client)) {
      packed.push(...(await packMonth(this.#client, suffix)));
    }
    return packed;
  }

  async #makeNext(month: Date): Promise<string> {
    const table = tableOf(month);
    const [left] = await run(this.#client, columnsOf, [`${table}_before`]);
    if (left) {
      throw new ArchiveError(
        `an earlier attempt left the table ${table}_before behind: inspect it and drop it by hand`,
      );
    }
    await run(this.#client, makeNextCalls, [month]);
    return table;
  }

  async #swap(month: Date, isDropped: boolean, act: AuditedAct): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
        await run(this.#client, swapCalls, [month, jsonParameter(act)]);
        await run(this.#client, markArchived, [month, isDropped]);
        await this.#client.query('COMMIT');
        return;
      } catch (error) {
        await this.#client.query('ROLLBACK');
        if ((error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE || tries === LOCK_TRIES) {
          throw error;
        }
        await sleep(LOCK_PAUSE_MS);
      }
    }
  }

  async #assertNotNeeded(month: Date): Promise<void> {
    const reasons = await run<{ reason: string }>(this.#client, callsNeeded, [month]);
    if (reasons.length > 0) {
      throw new ArchiveError(reasons.map(({ reason }) => reason).join('; '));
    }
  }

  async #assertCount(table: string, { calls }: CallArchive): Promise<void> {
    const { rows } = await this.#client.query<{ calls: string }>(
      `SELECT count(*)::text AS calls FROM ${table}`,
    );
    if (rows[0]?.calls !== calls) {
      throw new ArchiveError(
        `${table} has ${rows[0]?.calls} calls, the file has ${calls}: export the month again`,
      );
    }
  }

  async #find(month: Date): Promise<CallArchive | undefined> {
    return (await this.list()).find(({ month_start }) => month_start.getTime() === month.getTime());
  }

  async #known(month: Date): Promise<CallArchive> {
    const archive = await this.#find(month);
    if (!archive) {
      throw new ArchiveError(`${nameOf(month)} has not been exported yet`);
    }
    return archive;
  }
}

function nameOf(month: Date): string {
  return month.toISOString().slice(0, 'YYYY-MM'.length);
}

function tableOf(month: Date): string {
  return `generations_${nameOf(month).replace('-', '')}`;
}

function endOf(month: Date): Date {
  return new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1));
}

function fileOf(month: Date, folder: string): string {
  return join(folder, `calls-${nameOf(month)}.csv.gz`);
}

async function assertIntact({ month_start, sha256 }: CallArchive, folder: string): Promise<void> {
  const path = fileOf(month_start, folder);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer);
  }
  const found = hash.digest('hex');
  if (found !== sha256) {
    throw new ArchiveError(`${path} is not what was exported: its SHA-256 is ${found}, not ${sha256}`);
  }
}

/** Returns a stream that passes bytes on and computes their digest (SHA-256, hex). */
function hashing(): { readonly stream: Transform; digest(): string } {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, digest: () => hash.digest('hex') };
}

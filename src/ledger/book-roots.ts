import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type pg from 'pg';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import { run } from '../store/statement.ts';
import {
  mismatchedAuditRoot,
  mismatchedRoots,
  rootOfAuditLog,
  rootsOfAccounts,
  settledDay,
} from './book-roots.sql.ts';
import type { Violation } from './ledger.types.ts';

const CLAIM = 'I18: the seals of each day match the files kept outside the database';
const DAY_MS = 86_400_000;
/** Entries are dated under a lock that is never held this long. */
const GRACE_MINUTES = 10;
/** How far each file reaches back into the day before: an entry that was dated late is in the next file. */
const OVERLAP_MS = 3_600_000;
const DAYS_PER_RUN = 31;
const LINES_PER_PAGE = 1_000;
const VIOLATIONS_MAX = 100;
const FILE_NAME = /^\d{4}-\d{2}-\d{2}\.txt$/;
const READ_ONLY = 0o440;

/** Stores a file in another place, too. `name` is `YYYY-MM-DD.txt`. Rejects unless the copy is certain to exist. */
export type RootCopy = (name: string, path: string) => Promise<void>;

interface AccountRoot {
  readonly account: string;
  readonly seq: string;
  readonly digest: string | null;
}

/**
 * The state of the books at the end of each day, in files that no database owner can write. Each day's file holds the digest of every
 * account that moved, of the audit log and of the previous file. The files reveal an entry that was edited and sealed again.
 */
export class BookRoots {
  readonly #pool: pg.Pool;
  readonly #folder: string;
  readonly #copies: readonly RootCopy[];

  /** `folder` must be absolute, exist and be the same for all processes. A file appears in it once all `copies` are made. */
  constructor(pool: pg.Pool, folder: string, copies: readonly RootCopy[] = []) {
    this.#pool = pool;
    this.#folder = folder;
    this.#copies = copies;
  }

  /**
   * Writes the files of the days that are over and sealed; the first run writes yesterday's. Returns how many. Rejects when the folder
   * cannot be written or a copy cannot be made; the day then stays due.
   */
  async writeDue(): Promise<number> {
    const [row] = await run<{ today: string }>(this.#pool, settledDay, [GRACE_MINUTES]);
    const today = row?.today ?? '';
    const last = (await this.#days()).at(-1);
    let before = last === undefined ? undefined : { day: last, sha256: await sha256Of(this.#path(last)) };
    let day = before ? dayAfter(before.day, 1) : dayAfter(today, -1);
    let written = 0;
    while (day < today && written < DAYS_PER_RUN) {
      const sha256 = await this.#write(day, before);
      if (sha256 === undefined) {
        break;
      }
      before = { day, sha256 };
      day = dayAfter(day, 1);
      written += 1;
    }
    return written;
  }

  /**
   * Returns where the seals in the database differ from those in the files. With `since`, compares only the days from then on, plus one
   * older day that changes daily. Throws AppError service_unavailable when the files cannot be read.
   */
  async compare(since?: Date): Promise<Violation[]> {
    try {
      const days = await this.#days();
      const first = since ? days.findIndex((day) => endOf(day) >= since) : 0;
      // includes the file before the first new one, whose hash the new one must name
      const known = first < 0 ? Math.max(0, days.length - 1) : Math.max(0, first - 1);
      const again = known > 0 ? Math.floor(systemClock.now() / DAY_MS) % known : 0;
      const old = days.slice(again, known > 0 ? again + 2 : again);
      const found: Violation[] = [];
      await this.#compareDays(old, found);
      await this.#compareDays(days.slice(known), found);
      return found.slice(0, VIOLATIONS_MAX);
    } catch (cause) {
      // file system errors have a path, database errors do not
      const { path, message } = cause as NodeJS.ErrnoException;
      throw path === undefined
        ? cause
        : new AppError('service_unavailable', `BOOKS_ROOTS_DIR cannot be read: ${message}`, { cause });
    }
  }

  async #compareDays(days: readonly string[], found: Violation[]): Promise<void> {
    let before: { day: string; sha256: string } | undefined;
    for (const day of days) {
      const { sha256, previous } = await this.#compareDay(day, found);
      // the file before the first one may no longer be kept
      const expected = before && `${dayAfter(before.day, 1)} ${before.sha256}`;
      if (expected !== undefined && expected !== `${day} ${previous}`) {
        found.push({ claim: CLAIM, object: day, detail: 'does not continue the previous file' });
      }
      before = { day, sha256 };
      if (found.length >= VIOLATIONS_MAX) {
        return;
      }
    }
  }

  async #days(): Promise<string[]> {
    const names = await readdir(this.#folder);
    return names
      .filter((name) => FILE_NAME.test(name))
      .map((name) => name.slice(0, 'YYYY-MM-DD'.length))
      .sort();
  }

  #path(day: string): string {
    return join(this.#folder, `${day}.txt`);
  }

  /** Returns the file's SHA-256, or undefined while an entry of the day is not sealed. */
  async #write(day: string, before: { readonly sha256: string } | undefined): Promise<string | undefined> {
    // readers see a whole file or none
    const draft = join(this.#folder, `.${day}.${process.pid}`);
    // left by a process with the same id that died; it is read-only and could not be reopened for writing
    await rm(draft, { force: true });
    const file = await open(draft, 'w', READ_ONLY);
    try {
      const hash = createHash('sha256');
      await append(file, hash, [`tollgate books of ${day}`, `previous ${before?.sha256 ?? 'none'}`]);
      if (!(await this.#writeAccounts(day, file, hash))) {
        return undefined;
      }
      const [audit] = await run<{ position: string; digest: string }>(this.#pool, rootOfAuditLog, [
        endOf(day),
      ]);
      if (audit) {
        await append(file, hash, [`audit ${audit.position} ${audit.digest}`]);
      }
      await file.sync();
      // copied before the file is in place, so that a failure redoes the whole day
      for (const copy of this.#copies) {
        await copy(`${day}.txt`, draft);
      }
      await rename(draft, this.#path(day));
      return hash.digest('hex');
    } finally {
      await file.close();
      await rm(draft, { force: true });
    }
  }

  /** Returns false when an entry is not sealed. */
  async #writeAccounts(day: string, file: FileHandle, hash: Hash): Promise<boolean> {
    const start = new Date(Date.parse(day) - OVERLAP_MS);
    for (let after: string | null = null; ; ) {
      const values: unknown[] = [start, endOf(day), after, LINES_PER_PAGE];
      const rows: AccountRoot[] = await run<AccountRoot>(this.#pool, rootsOfAccounts, values);
      if (rows.some(({ digest }) => digest === null)) {
        return false;
      }
      await append(
        file,
        hash,
        rows.map(({ account, seq, digest }) => `${publicId('account', account)} ${seq} ${digest}`),
      );
      after = rows.at(-1)?.account ?? null;
      if (rows.length < LINES_PER_PAGE) {
        return true;
      }
    }
  }

  async #compareDay(day: string, found: Violation[]): Promise<{ sha256: string; previous: string }> {
    let previous = '';
    let waiting: AccountRoot[] = [];
    const lines = createInterface({
      input: createReadStream(this.#path(day)),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    for await (const line of lines) {
      const [name = '', value = '', digest = ''] = line.split(' ');
      const account = parsePublicId('account', name);
      if (account !== undefined) {
        waiting.push({ account, seq: value, digest });
      } else if (name === 'previous') {
        previous = value;
      } else if (name === 'audit') {
        await this.#compareAudit(day, value, digest, found);
      }
      if (waiting.length === LINES_PER_PAGE) {
        await this.#compareAccounts(day, waiting, found);
        waiting = [];
      }
    }
    await this.#compareAccounts(day, waiting, found);
    return { sha256: await sha256Of(this.#path(day)), previous };
  }

  async #compareAccounts(day: string, roots: readonly AccountRoot[], found: Violation[]): Promise<void> {
    const values = [
      roots.map(({ account }) => account),
      roots.map(({ seq }) => seq),
      roots.map(({ digest }) => digest),
    ];
    const rows = await run<{ account: string; seq: string }>(this.#pool, mismatchedRoots, values);
    for (const { account, seq } of rows) {
      const detail = `an entry up to seq ${seq} has changed since ${day}`;
      found.push({ claim: CLAIM, object: publicId('account', account), detail });
    }
  }

  async #compareAudit(day: string, position: string, digest: string, found: Violation[]): Promise<void> {
    const rows = await run(this.#pool, mismatchedAuditRoot, [position, digest]);
    if (rows.length > 0) {
      const detail = `a row up to position ${position} has changed since ${day}`;
      found.push({ claim: CLAIM, object: 'audit log', detail });
    }
  }
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

function endOf(day: string): Date {
  return new Date(Date.parse(day) + DAY_MS);
}

async function append(file: FileHandle, hash: Hash, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('');
  hash.update(text);
  await file.write(text);
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

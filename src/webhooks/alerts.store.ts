import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { Cells } from '../store/cells.ts';
import type { Database } from '../store/database.ts';
import { jsonParameter, run } from '../store/statement.ts';
import { changeAlerts, findAlerts, tellAlerts } from './alerts.sql.ts';

/** The alerts an account wants, and where they are sent. */
export interface Alerts {
  /** Null when no alerts are sent. */
  readonly url: string | null;
  /** An alert is sent when the credits fall below this. */
  readonly creditsLow: NanoUsd | null;
  /** An alert is sent when a key has used this share of its limit, in percent. */
  readonly keyLimitNear: number | null;
}

interface AlertsRow {
  readonly url: string | null;
  readonly credits_low: string | null;
  readonly key_limit_near: number | null;
}

const ACCOUNTS_PER_STATEMENT = 500;
const NONE: Alerts = { url: null, creditsLow: null, keyLimitNear: null };

/** Alert settings, and the chore that finds due alerts. */
export class AlertsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(accountId: string): Promise<Alerts> {
    const [row] = await run<AlertsRow>(this.#cells.of(accountId).money, findAlerts, [accountId]);
    return row ? alertsOf(row) : NONE;
  }

  /** Changes the given members. */
  async change(accountId: string, changes: Partial<Alerts>): Promise<Alerts> {
    const { url, creditsLow, keyLimitNear } = changes;
    const sent = {
      ...(url !== undefined && { url }),
      ...(creditsLow !== undefined && { credits_low: creditsLow?.toString() ?? null }),
      ...(keyLimitNear !== undefined && { key_limit_near: keyLimitNear }),
    };
    const [row] = await run<AlertsRow>(this.#cells.of(accountId).money, changeAlerts, [
      accountId,
      jsonParameter(sent),
    ]);
    return row ? alertsOf(row) : NONE;
  }

  /** Writes due alerts to the outbox, each once. Returns how many accounts with new entries it checked. */
  async tell(signal: AbortSignal): Promise<number> {
    let looked = 0;
    for (const cell of this.#cells.all()) {
      looked += await tellIn(cell, signal);
    }
    return looked;
  }
}

async function tellIn({ money }: Database, signal: AbortSignal): Promise<number> {
  let looked = 0;
  while (!signal.aborted) {
    const [row] = await run<{ looked: number }>(money, tellAlerts, [ACCOUNTS_PER_STATEMENT]);
    looked += row?.looked ?? 0;
    if ((row?.looked ?? 0) < ACCOUNTS_PER_STATEMENT) {
      break;
    }
  }
  return looked;
}

function alertsOf(row: AlertsRow): Alerts {
  return {
    url: row.url,
    creditsLow: row.credits_low === null ? null : nanoUsd(row.credits_low),
    keyLimitNear: row.key_limit_near,
  };
}

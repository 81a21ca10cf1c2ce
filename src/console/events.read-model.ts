import { systemClock } from '../lib/clock.ts';
import { idAt } from '../lib/ids.ts';
import { byCell, type Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { liveFacts } from './events.sql.ts';

export interface LiveGeneration {
  readonly id: string;
  /** Stored id of the key that requested it. */
  readonly key: string;
}

export interface LiveTask extends LiveGeneration {
  readonly state: string;
  /** 0 to 1. */
  readonly progress: number;
}

/** What pages show live about an account; amounts are nano-USD as decimal text. */
export interface LiveFacts {
  readonly account_id: string;
  readonly posted: string;
  readonly held: string;
  readonly debt: string;
  /** Sequence number of the newest ledger entry. */
  readonly seq: string;
  readonly tasks: readonly LiveTask[];
  /** The newest generation of the last hour that has ended. */
  readonly generation: LiveGeneration | null;
}

const TASKS = 60;
const HOUR_MS = 3_600_000;

export class EventsReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async read(accountIds: readonly string[]): Promise<LiveFacts[]> {
    const since = idAt(systemClock.now() - HOUR_MS);
    const read = byCell(accountIds, (id) => this.#cells.of(id)).map(({ cell, items }) =>
      readRows<LiveFacts>(cell.sequelize, liveFacts, [items, TASKS, since]),
    );
    return (await Promise.all(read)).flat();
  }
}

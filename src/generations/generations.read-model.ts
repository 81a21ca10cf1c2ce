import type { Metering } from '../ledger/ledger.types.ts';
import { idsOwnedByRequest, parsePublicId } from '../lib/ids.ts';
import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import {
  generationById,
  generationByRequest,
  generationsPage,
  generationsScanned,
} from './generations.sql.ts';

/** A generation, finished or running; amounts are nano-USD and counts tokens, both as decimal text. */
export interface GenerationRow {
  readonly id: string;
  readonly created_at: Date;
  /** Null: it follows from the id. */
  readonly request_id: string | null;
  readonly endpoint: string;
  readonly model: string;
  readonly api_key_hash: string;
  readonly api_key_id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled';
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly cache_read_tokens: string;
  readonly cache_write_tokens: string;
  readonly reasoning_tokens: string;
  readonly usage_source: string;
  readonly charge: string;
  readonly lines: Readonly<Record<string, string | number>>;
  readonly finish_reason: string | null;
  readonly streamed: boolean;
  readonly latency_ms: number;
  readonly first_token_ms: number | null;
  /** When it was settled, which dates its charge; null while it runs. */
  readonly completed_at: Date | null;
  readonly price_version: string;
  /** USD per unit as decimal text by name; null for prices of before they were kept. */
  readonly pricing: Readonly<Record<string, string>> | null;
  readonly metering: Metering | null;
}

export interface GenerationFilter {
  readonly accountId: string;
  /** Only older ones; null = from the newest. */
  readonly beforeId: string | null;
  /** Ids carry their time: none below this one is looked at. */
  readonly leastId: string;
  readonly apiKeyId: string | null;
  readonly model: string | null;
  readonly status: string | null;
  readonly endpoint: string | null;
  readonly from: Date | null;
  readonly until: Date | null;
  readonly limit: number;
}

export class GenerationsReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** A generation of the account by its public id or by the id of the request that made it. */
  async find(accountId: string, id: string): Promise<GenerationRow | undefined> {
    const uuid = parsePublicId('generation', id);
    const [row] = uuid
      ? await readRows<GenerationRow>(this.#cells.of(accountId).sequelize, generationById, [accountId, uuid])
      : await readRows<GenerationRow>(this.#cells.of(accountId).sequelize, generationByRequest, [
          accountId,
          id,
          ...idsOfRequest(id),
        ]);
    return row;
  }

  /** Ended ones, newest first; looks at a bounded number of rows. */
  list(filter: GenerationFilter): Promise<GenerationRow[]> {
    const { accountId, beforeId, leastId, apiKeyId, model, status, from, until, endpoint, limit } = filter;
    const values = [accountId, beforeId, leastId, apiKeyId, model, status, from, until, endpoint, limit];
    return readRows<GenerationRow>(this.#cells.of(accountId).sequelize, generationsPage, values);
  }

  /** The last id that {@link list} looked at; undefined when there is nothing older. */
  async scannedUntil({ accountId, beforeId, leastId }: GenerationFilter): Promise<string | undefined> {
    const values = [accountId, beforeId, leastId];
    return (
      await readRows<{ id: string }>(this.#cells.of(accountId).sequelize, generationsScanned, values)
    )[0]?.id;
  }
}

/** Of a request whose id was made here. */
function idsOfRequest(id: string): readonly [string | null, string | null] {
  const uuid = parsePublicId('request', id);
  return uuid === undefined ? [null, null] : idsOwnedByRequest(uuid);
}

import type { Sequelize } from 'sequelize';
import { parsePublicId } from '../lib/ids.ts';
import { readRows } from '../store/report.ts';
import { generationById, generationByRequest } from './generations.sql.ts';

/** A generation, finished or running; amounts are nano-USD and counts tokens, both as decimal text. */
export interface GenerationRow {
  readonly id: string;
  readonly created_at: Date;
  readonly request_id: string;
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
  readonly metering: { readonly ignored?: readonly string[] } | null;
}

export class GenerationsReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** A generation of the account by its public id or by the id of the request that made it. */
  async find(accountId: string, id: string): Promise<GenerationRow | undefined> {
    const uuid = parsePublicId('generation', id);
    const [row] = uuid
      ? await readRows<GenerationRow>(this.#sequelize, generationById, [accountId, uuid])
      : await readRows<GenerationRow>(this.#sequelize, generationByRequest, [accountId, id]);
    return row;
  }
}

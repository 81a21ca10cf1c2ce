import type { Sequelize } from 'sequelize';
import { readRows } from '../store/report.ts';
import { typicalOutput } from './typical-output.sql.ts';

const CALLS_MAX = 100;
/** Fewer say nothing. */
const CALLS_MIN = 5;

/** How long the answers are that an account gets of a model. */
export class TypicalOutput {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Median tokens of the account's latest answers of the model; undefined below five of them. */
  async tokens(accountId: string, model: string): Promise<number | undefined> {
    const [row] = await readRows<{ calls: number; output_tokens: string | number | null }>(
      this.#sequelize,
      typicalOutput,
      [accountId, model, CALLS_MAX],
    );
    return row && row.calls >= CALLS_MIN ? Number(row.output_tokens) : undefined;
  }
}

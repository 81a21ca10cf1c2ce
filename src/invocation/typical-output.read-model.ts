import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { typicalOutput } from './typical-output.sql.ts';

const CALLS_MAX = 100;
/** Fewer calls are not representative. */
const CALLS_MIN = 5;

/** The typical length of the answers an account gets from a model. */
export class TypicalOutput {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns the median tokens of the account's latest answers from the model, or undefined with fewer than five answers. */
  async tokens(accountId: string, model: string): Promise<number | undefined> {
    const [row] = await readRows<{ calls: number; output_tokens: string | number | null }>(
      this.#cells.of(accountId).sequelize,
      typicalOutput,
      [accountId, model, CALLS_MAX],
    );
    return row && row.calls >= CALLS_MIN ? Number(row.output_tokens) : undefined;
  }
}

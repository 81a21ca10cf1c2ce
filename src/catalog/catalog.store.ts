import type pg from 'pg';
import { jsonParameter, run } from '../store/statement.ts';
import { recordPrices } from './catalog.sql.ts';
import type { Model } from './catalog.types.ts';
import { morePrices } from './media-options.ts';
import { formatPrice, PRICE_NAMES } from './pricing.ts';

/** Stores every price that was ever in force, so that old charges can be explained. */
export class CatalogStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Stores the prices of a catalog that takes effect, and when each did. `actor` names the catalog. */
  async savePrices(models: Iterable<Model>, actor: string): Promise<void> {
    const rows = [...models].map((model) => ({
      id: model.priceVersion,
      model: model.id,
      pricing: {
        ...Object.fromEntries(PRICE_NAMES.map((name) => [name, formatPrice(model.pricing[name])])),
        ...(model.media && morePrices(model.media)),
      },
    }));
    await run(this.#pool, recordPrices, [jsonParameter(rows), actor]);
  }
}

import type pg from 'pg';
import { run } from '../store/statement.ts';
import { recordPrices } from './catalog.sql.ts';
import type { Model } from './catalog.types.ts';
import { morePrices } from './media-options.ts';
import { formatPrice, PRICE_NAMES } from './pricing.ts';

/** Keeps every price that was ever in force, so that a charge of long ago can be explained. */
export class CatalogStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Stores the prices of a catalog that comes into force, and since when each is. `actor`: whose catalog it is. */
  async savePrices(models: Iterable<Model>, actor: string): Promise<void> {
    const rows = [...models].map((model) => ({
      id: model.priceVersion,
      model: model.id,
      pricing: {
        ...Object.fromEntries(PRICE_NAMES.map((name) => [name, formatPrice(model.pricing[name])])),
        ...(model.media && morePrices(model.media)),
      },
    }));
    await run(this.#pool, recordPrices, [JSON.stringify(rows), actor]);
  }
}

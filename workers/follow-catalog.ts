import type { Catalog } from '../src/catalog/catalog.types.ts';
import type { CatalogSource } from '../src/catalog/catalog-source.ts';
import type { QueueSelection } from './queue-selection.ts';

/** Serves by the engines of each catalog that comes into force. What is sold for how much is the API's. */
export function followCatalog(source: CatalogSource, { pools }: QueueSelection, restart: () => void): void {
  const enginesOf = ({ engines, engineFiles }: Catalog): string => JSON.stringify([engines, engineFiles]);
  let engines = enginesOf(source.current);
  source.addCheck((catalog) => {
    const named = pools === 'all' ? [] : pools;
    const missing = named.find((pool) => !catalog.engines.some(({ id }) => id === pool));
    return missing === undefined ? undefined : `engines: lack ${missing}, which this worker serves`;
  });
  source.onChange((catalog) => {
    const changed = enginesOf(catalog);
    if (changed !== engines) {
      engines = changed;
      restart();
    }
  });
  source.watch();
}

import type { Catalog } from '../src/catalog/catalog.types.ts';
import type { CatalogSource } from '../src/catalog/catalog-source.ts';
import type { QueueSelection } from './queue-selection.ts';

/**
 * Restarts the worker when a new catalog changes the engines, and rejects a catalog without a pool that this worker serves. Models
 * and prices concern only the API.
 */
export function followCatalog(source: CatalogSource, { pools }: QueueSelection, restart: () => void): void {
  const enginesOf = ({ engines, engineFiles }: Catalog): string => JSON.stringify([engines, engineFiles]);
  let engines = enginesOf(source.current);
  source.addCheck((catalog) => {
    const named = pools === 'all' ? [] : pools;
    const missing = named.find((pool) => !catalog.engines.some(({ id }) => id === pool));
    return missing === undefined ? undefined : `engines: ${missing} is missing, but this worker serves it`;
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

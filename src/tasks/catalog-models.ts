import type { Catalog } from '../catalog/catalog.types.ts';
import { chargeFor } from '../catalog/pricing.ts';
import { NO_USAGE } from '../lib/usage.ts';
import type { TaskCatalog } from './tasks.types.ts';

/** Output images of one image task. */
const IMAGES_PER_TASK = 1;

/** The image and video models of the catalog in force at the moment of each call. */
export function taskCatalog(current: () => Catalog): TaskCatalog {
  return {
    findTaskModel(id, kind) {
      const model = current().models.get(id);
      if (!model?.engine || !model.endpoints.includes(kind)) {
        return undefined;
      }
      const units = { requests: 1, images: kind === 'image' ? IMAGES_PER_TASK : 0, requestLine: kind };
      return {
        id: model.id,
        kind,
        pool: model.engine.engine,
        upstreamModel: model.engine.model,
        priceVersion: model.priceVersion,
        charge: chargeFor(NO_USAGE, units, model.pricing),
      };
    },
  };
}

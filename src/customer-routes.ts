import { catalogRoutes } from './catalog/catalog.routes.ts';
import type { CatalogService } from './catalog/catalog.service.ts';
import type { CreditsReadModel } from './credits/credits.read-model.ts';
import { creditRoutes } from './credits/credits.routes.ts';
import { generationRoutes } from './generations/generations.routes.ts';
import type { GenerationsService } from './generations/generations.service.ts';
import { type MediaRoutesOptions, mediaRoutes } from './generations/media.routes.ts';
import type { Route } from './http/route.ts';
import { keyRoutes } from './keys/keys.routes.ts';
import type { KeysService } from './keys/keys.service.ts';

export interface AccountRoutesServices {
  readonly keys: KeysService;
  readonly catalog: CatalogService;
  readonly credits: CreditsReadModel;
  readonly generations: GenerationsService;
  readonly media: MediaRoutesOptions;
}

/** Returns the routes of a customer's account, other than those that call models. */
export function customerRoutes(services: AccountRoutesServices): Route[] {
  return [
    ...catalogRoutes(services.catalog),
    ...keyRoutes(services.keys),
    ...creditRoutes(services.credits),
    ...generationRoutes(services.generations),
    ...mediaRoutes(services.media),
  ];
}

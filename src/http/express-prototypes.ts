import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** What the requests and responses of one application are instances of. */
export interface ExpressPrototypes {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

const known = new WeakMap<Express, ExpressPrototypes>();

/**
 * Classes whose instances have the application's prototypes from the start, so that Express, which sets them on every request, finds
 * nothing to change. An object whose prototype was replaced gets a hidden class of its own with each property that is added later
 * (V8 up to 11.3, which is Node 20): nothing that reads such a request could be optimised. Measured together with objects of our own
 * that had the same: a quarter of a call's processor time.
 */
export function expressPrototypesOf(app: Express): ExpressPrototypes {
  const made = known.get(app) ?? makePrototypes(app);
  known.set(app, made);
  return made;
}

function makePrototypes(app: Express): ExpressPrototypes {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Express['request'];
  app.response = AppResponse.prototype as unknown as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

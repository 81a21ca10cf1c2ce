import { EngineError } from './engine.types.ts';

const SEGMENTS = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/;

/** A model name as part of a URL path, e.g. `fal-ai/flux/dev`. Throws EngineError for one that could lead elsewhere. */
export function modelPath(model: string): string {
  if (!SEGMENTS.test(model)) {
    const message = 'the route of this model names nothing the engine could serve';
    throw new EngineError({ code: 'upstream_misconfigured', message, retryable: false });
  }
  return model;
}

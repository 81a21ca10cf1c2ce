import { EngineError } from './engine.types.ts';

const SEGMENTS = /^[A-Za-z0-9][A-Za-z0-9._:-]*(\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/;

/** Returns what is wrong with a model name as part of a URL path; undefined when it is valid. */
export function modelPathError(model: string): string | undefined {
  return SEGMENTS.test(model)
    ? undefined
    : `"${model}" must be a path of letters, digits, dots, colons, underscores, dashes and /`;
}

/** Returns a model name as part of a URL path, e.g. `fal-ai/flux/dev`. Throws EngineError for a name that could lead to another path. */
export function modelPath(model: string): string {
  if (modelPathError(model) !== undefined) {
    const message = 'the route of this model names a model that the engine cannot serve';
    throw new EngineError({ code: 'upstream_misconfigured', message, retryable: false });
  }
  return model;
}

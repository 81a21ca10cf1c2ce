import { EngineError } from './engine.types.ts';

const SEGMENTS = /^[A-Za-z0-9][A-Za-z0-9._:-]*(\/[A-Za-z0-9][A-Za-z0-9._:-]*)*$/;

/** What is wrong with a model name as part of a URL path; undefined where nothing is. */
export function modelPathMistake(model: string): string | undefined {
  return SEGMENTS.test(model)
    ? undefined
    : `"${model}" is no path of letters, digits, dots, colons, dashes and /`;
}

/** A model name as part of a URL path, e.g. `fal-ai/flux/dev`. Throws EngineError for one that could lead elsewhere. */
export function modelPath(model: string): string {
  if (modelPathMistake(model) !== undefined) {
    const message = 'the route of this model names nothing the engine could serve';
    throw new EngineError({ code: 'upstream_misconfigured', message, retryable: false });
  }
  return model;
}

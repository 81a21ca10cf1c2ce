import type { JsonObject } from '../providers/json.ts';
import type { Provider } from '../providers/provider.types.ts';
import { translateRequest } from './dialects/translate-request.ts';
import type { InvocableModel, Invocation } from './invocation.types.ts';

/**
 * The request as a provider gets it, but for what its adapter sets: in the provider's dialect, with the members that its
 * entry lets through. The bound of the call is counted over exactly this. Throws AppError invalid_parameter for what
 * cannot be said in the provider's dialect.
 */
export function outgoingRequest(
  invocation: Invocation,
  model: InvocableModel,
  provider: Provider,
  maxOutputTokens: number,
): JsonObject {
  const body = translateRequest(invocation.body, {
    from: invocation.dialect,
    to: provider.dialect,
    maxOutputTokens,
    reasoning: model.supportedParameters.some((name) => name.startsWith('reasoning')),
  });
  const passed = provider.passThrough.filter((name) => Object.hasOwn(invocation.others, name));
  if (passed.length === 0) {
    return body;
  }
  const more = Object.fromEntries(passed.map((name) => [name, invocation.others[name]]));
  return Object.assign({}, body, more);
}

/** Whether every provider that may serve the call leaves the member out. */
export function isIgnored(path: string, invocation: Invocation, providers: readonly Provider[]): boolean {
  return (
    !Object.hasOwn(invocation.others, path) ||
    !providers.some(({ passThrough }) => passThrough.includes(path))
  );
}

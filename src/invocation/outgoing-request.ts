import { merged } from '../lib/merged.ts';
import { atOnce, type Steps } from '../lib/steps.ts';
import { type JsonObject, objectOf } from '../providers/json.ts';
import { heldPaths } from '../providers/member-paths.ts';
import { withoutMembers } from '../providers/optional-members.ts';
import type { Provider, ProviderDialect } from '../providers/provider.types.ts';
import { modelRules } from './dialects/model-rules.ts';
import { OURS } from './dialects/only-known-members.ts';
import { type RequestTranslation, translateRequest } from './dialects/translate-request.ts';
import { untranslatedMembers } from './dialects/untranslated-members.ts';
import type { InvocableModel, Invocation, ModelRoute } from './invocation.types.ts';

/**
 * Builds the request a provider gets, except for what its adapter sets: in the provider's dialect, with the members that its entry lets
 * through. The bound of the call is counted over exactly this request. Throws AppError invalid_parameter for anything the provider's
 * dialect cannot express.
 */
export function* outgoingRequest(
  invocation: Invocation,
  model: InvocableModel,
  provider: Provider,
  maxOutputTokens: number,
  route: ModelRoute,
): Steps<JsonObject> {
  const translation = translationFor(invocation, model, provider, route, maxOutputTokens);
  const translated = yield* translateRequest(invocation.body, translation);
  const { dropInside } = translation.rules;
  const body = dropInside.length === 0 ? translated : withoutMembers(translated, dropInside);
  const passed = provider.passThrough.filter((name) => Object.hasOwn(invocation.others, name));
  if (passed.length === 0) {
    return body;
  }
  const more = Object.fromEntries(passed.map((name) => [name, invocation.others[name]]));
  return Object.assign({}, body, more);
}

/** Returns a key that is equal for routes that get the same request, apart from the model. */
export function outgoingForm(provider: Provider, route: ModelRoute): string {
  return JSON.stringify([provider.requestDialect, provider.passThrough, modelRules(route, provider)]);
}

/** Returns the known members that no route of the model passes to its provider, as the caller names them. */
export function* untranslatedByAll(
  invocation: Invocation,
  model: InvocableModel,
  find: (id: string) => Provider | undefined,
): Steps<string[]> {
  let unsaid: string[] | undefined;
  for (const route of model.routes) {
    const provider = find(route.provider);
    if (provider) {
      const names = yield* untranslatedBy(invocation, model, provider, route);
      unsaid = unsaid ? unsaid.filter((name) => names.includes(name)) : names;
    }
  }
  return invocation.native ? (unsaid ?? []).map(pathInResponses) : (unsaid ?? []);
}

/** Members of a chat request, by their paths in the Responses request that it was made from. */
const IN_RESPONSES: Readonly<Record<string, string>> = {
  response_format: 'text.format',
  verbosity: 'text.verbosity',
  reasoning_effort: 'reasoning.effort',
  'messages[].reasoning': 'input[].summary',
  'messages[].reasoning_content': 'input[].summary',
  'messages[].reasoning_details': 'input[].encrypted_content',
};

function pathInResponses(path: string): string {
  return IN_RESPONSES[path] ?? path.replace('messages[]', 'input[]').replace('tools[].function', 'tools[]');
}

/** Returns the paths of the members that a route does not pass to its provider, as the request's dialect names them. */
export function* untranslatedBy(
  invocation: Invocation,
  model: InvocableModel,
  provider: Provider,
  route: ModelRoute,
): Steps<string[]> {
  const cap = invocation.maxTokens ?? model.maxOutputTokens;
  const translation = translationFor(invocation, model, provider, route, cap);
  const unsaid = yield* untranslatedMembers(invocation.body, translation);
  const dropped = namesOfCaller(invocation, provider.requestDialect, translation.rules.dropInside);
  return [...unsaid, ...dropped.filter((name) => !unsaid.includes(name))];
}

/** Members of a chat request, by the paths of those in a messages request that they are made from. */
const IN_MESSAGES: Readonly<Record<string, string>> = {
  user: 'metadata.user_id',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  'tools[].function.strict': 'tools[].strict',
  'tools[].function.parameters': 'tools[].input_schema',
  'messages[].reasoning': 'messages[].content[].thinking',
  'messages[].reasoning_content': 'messages[].content[].thinking',
  'messages[].reasoning_details': 'messages[].content[].thinking',
};

/** Members of a request to a provider of another protocol, by the paths of those in a chat request that they are made from. */
const FROM_CHAT: Readonly<Record<ProviderDialect, Readonly<Record<string, string>>>> = {
  chat: {},
  messages: {
    metadata: 'user',
    thinking: 'reasoning_effort',
    'thinking.budget_tokens': 'reasoning_effort',
    'output_config.effort': 'reasoning_effort',
    'tools[].strict': 'tools[].function.strict',
    'tools[].input_schema': 'tools[].function.parameters',
    'system[].cache_control': 'messages[].content[].cache_control',
    'messages[].content[].content[].cache_control': 'messages[].content[].cache_control',
  },
  responses: {
    'text.verbosity': 'verbosity',
    reasoning: 'reasoning_effort',
    'reasoning.effort': 'reasoning_effort',
    'tools[].strict': 'tools[].function.strict',
    'tools[].parameters': 'tools[].function.parameters',
  },
};

/** Returns members of the request to a provider as the caller names them, without those that the caller did not send. */
export function namesOfCaller(
  { dialect, native, body, others }: Invocation,
  to: ProviderDialect,
  paths: readonly string[],
): string[] {
  const held = (request: JsonObject, names: readonly string[]) =>
    atOnce(heldPaths(request, [...new Set(names)]));
  if (to === (native ? 'responses' : dialect)) {
    return held(
      native ?? merged(others, body),
      paths.filter((path) => !OURS.has(path)),
    );
  }
  const inChat = paths.map((path) => FROM_CHAT[to][path] ?? path).filter((path) => !OURS.has(path));
  if (dialect === 'messages') {
    const effort = objectOf(body.output_config).effort === undefined ? 'thinking' : 'output_config.effort';
    const named = inChat.map((path) => (path === 'reasoning_effort' ? effort : (IN_MESSAGES[path] ?? path)));
    return held(body, named);
  }
  const isEffort = (path: string) => path === 'reasoning_effort' && body.reasoning_effort === undefined;
  const named = held(
    merged(others, body),
    inChat.map((path) => (isEffort(path) ? 'reasoning' : path)),
  );
  return native ? named.map(pathInResponses) : named;
}

/** Returns whether the model of a route may reason before it answers: as the catalog says, or its name. */
export function mayReason(model: InvocableModel, route: ModelRoute, provider: Provider): boolean {
  return declaresReasoning(model) || modelRules(route, provider).reasons;
}

function declaresReasoning({ supportedParameters }: InvocableModel): boolean {
  return supportedParameters.some((name) => name.startsWith('reasoning'));
}

function translationFor(
  invocation: Invocation,
  model: InvocableModel,
  provider: Provider,
  route: ModelRoute,
  maxOutputTokens: number,
): RequestTranslation {
  return {
    from: invocation.dialect,
    to: provider.requestDialect,
    native: invocation.native,
    maxOutputTokens,
    reasoning: declaresReasoning(model),
    rules: modelRules(route, provider),
    betas: invocation.betas,
  };
}

/** Returns whether every provider that may serve the call leaves the member out. */
export function isIgnored(
  path: string,
  invocation: Invocation,
  routes: readonly { readonly provider: Provider }[],
): boolean {
  return (
    !Object.hasOwn(invocation.others, path) ||
    !routes.some(({ provider }) => provider.passThrough.includes(path))
  );
}

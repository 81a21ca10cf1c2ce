import { AppError } from '../lib/errors.ts';
import { isObject, type JsonObject, objectsOf } from '../providers/json.ts';
import type { Dialect } from '../providers/provider.types.ts';

/** Ours to decide, or without meaning here: what the call may cost, who serves it, what a provider keeps of it. */
const OWN_MEMBERS: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  chat: new Set([
    'model',
    'stream',
    'stream_options',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'store',
    'service_tier',
    // OpenRouter's clients send these; handed on to an aggregator they would choose another model or paid extras.
    'models',
    'route',
    'provider',
    'transforms',
    'plugins',
    'preset',
    'usage',
  ]),
  messages: new Set(['model', 'stream', 'max_tokens', 'service_tier']),
};

/** Members that make a provider bill for more than tokens. A prepaid call must not cost what nobody can meter. */
const UNMETERED_MEMBERS: Readonly<Record<Dialect, readonly string[]>> = {
  chat: ['web_search_options', 'audio', 'modalities', 'best_of'],
  messages: ['mcp_servers', 'container', 'inference_geo', 'speed'],
};

/** Tools that run at the provider, by the beginning of their type. */
const SERVER_TOOLS = /^(?:web_search|web_fetch|code_execution|tool_search|mcp|file_search|image_generation)/;

/**
 * A request freed of what is ours to set and of empty members. Throws AppError invalid_parameter for what cannot be
 * metered.
 */
export function applyRequestPolicy(dialect: Dialect, body: JsonObject): JsonObject {
  for (const name of UNMETERED_MEMBERS[dialect]) {
    if (body[name] !== undefined && body[name] !== null && !isTextOnly(name, body[name])) {
      throw new AppError('invalid_parameter', `${name}: is not offered here`);
    }
  }
  for (const [index, tool] of objectsOf(body.tools).entries()) {
    if (typeof tool.type === 'string' && SERVER_TOOLS.test(tool.type)) {
      throw new AppError(
        'invalid_parameter',
        `tools[${index}].type: tools that run at the provider are not offered`,
      );
    }
  }
  const own = OWN_MEMBERS[dialect];
  const request: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (!own.has(name) && value !== undefined && value !== null) {
      request[name] = value;
    }
  }
  return dialect === 'messages' ? (shortenCaching(request) as JsonObject) : request;
}

function isTextOnly(name: string, value: unknown): boolean {
  return name === 'modalities' && Array.isArray(value) && value.every((item) => item === 'text');
}

/** An hour of caching costs a provider's double write price, which our price list has no line for: the default applies. */
function shortenCaching(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.some(isStructured) ? value.map(shortenCaching) : value;
  }
  if (!isObject(value)) {
    return value;
  }
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    copy[name] =
      name === 'cache_control' && isObject(member) ? { type: member.type } : shortenCaching(member);
  }
  return copy;
}

function isStructured(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

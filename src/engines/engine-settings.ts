import { z } from 'zod';
import { baseUrlField, headersField, keyField } from '../upstream/connection-settings.ts';
import { type EngineSettings, EngineSettingsError } from './registry.ts';
import type { UpstreamHttpSettings } from './upstream-http.ts';

const SEED_SAFE_MAX = Number.MAX_SAFE_INTEGER;

const timeouts = z
  .strictObject({
    connect_ms: z.int().min(10).max(60_000).default(3_000).describe('time to connect, including TLS'),
    first_byte_ms: z
      .int()
      .min(10)
      .max(3_600_000)
      .default(30_000)
      .describe('from sending a request to receiving the response headers'),
    idle_ms: z.int().min(10).max(600_000).default(30_000).describe('between two chunks of a response'),
    total_ms: z
      .int()
      .min(10)
      .max(3_600_000)
      .default(120_000)
      .describe('a whole call; downloads have their own limit: 2 minutes (image) or 15 (video)'),
  })
  .prefault({})
  .describe('in milliseconds');

/** The settings in tollgate.yaml that all HTTP engines share. `id`, `kind`, `slots` and `gpu_memory` are read elsewhere. */
export const upstreamFields = {
  id: z.string(),
  kind: z.string(),
  slots: z.unknown().optional(),
  gpu_memory: z.unknown().optional(),
  base_url: baseUrlField.describe('address of the engine; private addresses are allowed'),
  api_key: keyField.default('').describe('sent as `Authorization: Bearer`'),
  headers: headersField
    .default({})
    .describe("sent with every call to the base URL's origin; they override the headers we set"),
  query: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe("query parameters added to every call to the base URL's origin, e.g. `api-version`"),
  timeouts,
  poll_interval_ms: z.int().min(10).max(60_000).optional().describe('between two polls of a run, in ms'),
  private_downloads: z
    .boolean()
    .default(false)
    .describe(
      "whether outputs may be downloaded from other hosts in private networks, or from another port of the engine's host",
    ),
};

export const kindsField = z
  .array(z.enum(['image', 'video']))
  .min(1)
  .max(2)
  .default(['image', 'video']);
export const sizeMultipleField = z.int().min(1).max(256);
export const seedMaxField = z.int().min(1).max(SEED_SAFE_MAX);
/** Members added to every request body unchanged. */
export const extraField = z.record(z.string(), z.json()).default({});

/** The shared fields of a validated entry for an HTTP engine. */
export type UpstreamFields = z.output<z.ZodObject<typeof upstreamFields>>;

/** Validates an entry of `engines:`. Throws EngineSettingsError with one line that names the entry and the setting. */
export function parseEngineSettings<T extends z.ZodType>(schema: T, settings: EngineSettings): z.output<T> {
  const parsed = schema.safeParse(settings);
  if (parsed.success) {
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])].join('.');
  const message = unknown === undefined ? issue?.message : `is not a setting of kind ${settings.kind}`;
  throw new EngineSettingsError(`engines.${settings.id}.${path}: ${message}`.replaceAll('\n', ' '));
}

/** Returns the connection settings of a validated entry. An empty `authorization` is omitted. */
export function toHttpSettings(fields: UpstreamFields, authorization: string): UpstreamHttpSettings {
  return {
    baseUrl: fields.base_url,
    headers: { accept: 'application/json', ...(authorization ? { authorization } : {}), ...fields.headers },
    query: fields.query,
    connectMs: fields.timeouts.connect_ms,
    firstByteMs: fields.timeouts.first_byte_ms,
    idleMs: fields.timeouts.idle_ms,
    totalMs: fields.timeouts.total_ms,
    privateDownloads: fields.private_downloads,
  };
}

/** Returns `Bearer …`, or an empty string without a key. */
export function bearer(apiKey: string): string {
  return apiKey === '' ? '' : `Bearer ${apiKey}`;
}

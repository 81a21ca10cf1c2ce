import { readFileSync } from 'node:fs';
import { SETTINGS } from '../../src/config/settings.ts';
import { SECRETS } from '../../src/lib/secret-files.ts';
import { OTHER_SETTINGS } from './settings-reference.ts';

export const CHART_SCHEMA_FILE = new URL('../helm/tollgate/values.schema.json', import.meta.url);

/** Settings that the chart or its image sets by itself, or that only `npm start`, the migration and the command line read. */
const NOT_OF_VALUES = new Set([
  'PORT',
  'HOST',
  'METRICS_HOST',
  'LISTEN_SOCKET',
  'DATA_DIR',
  'TOLLGATE_CONFIG',
  'FFMPEG_PATH',
  'FFPROBE_PATH',
  'WORKER_PORT',
  'WORKER_API',
  'NODE_ENV',
  'DATABASE_OWNER_URL',
  'DATABASE_WORKER_ROLE',
  'DATABASE_SCALER_ROLE',
  'LOG_KEEP_MB',
  'TOLLGATE_URL',
  'XDG_CACHE_HOME',
  ...SECRETS,
]);

/** Returns the names that `settings` of the chart may contain: settings that are not secret and differ between installations. */
export function chartSettings(): string[] {
  const all = [...Object.keys(SETTINGS.shape), ...OTHER_SETTINGS.map(([name]) => name)];
  return all.filter((name) => !NOT_OF_VALUES.has(name));
}

interface ChartSchema {
  readonly properties: { readonly settings: { properties: Record<string, { type: 'string' }> } };
}

/** Returns the schema of the chart's values, with the settings of this build: helm rejects a misspelled name, and a secret. */
export function chartSchema(): string {
  const schema = JSON.parse(readFileSync(CHART_SCHEMA_FILE, 'utf8')) as ChartSchema;
  schema.properties.settings.properties = Object.fromEntries(
    chartSettings().map((name) => [name, { type: 'string' }]),
  );
  return `${JSON.stringify(schema, null, 2)}\n`;
}

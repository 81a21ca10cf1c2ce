import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './compose-file.ts';

export const CHART = join(ROOT, 'ops/helm/tollgate');

export interface Pool {
  readonly enabled?: boolean;
  readonly queues?: readonly string[];
  readonly access?: 'full' | 'generate' | 'remote';
  readonly catalog?: string;
}

export interface Values {
  readonly settings: Readonly<Record<string, string>>;
  readonly catalog: { readonly text: string };
  readonly secrets: Readonly<Record<'shared' | 'api' | 'worker' | 'owner' | 'scaler', string>>;
  readonly ingress: { readonly paths: readonly string[] };
  readonly workers: Readonly<Record<string, Pool>>;
}

export const readChart = (name: string) => readFileSync(join(CHART, name), 'utf8');

export const defaults = (): Values => parse(readChart('values.yaml')) as Values;

/** Values files, each for a kind of installation. */
export const VALUE_FILES = readdirSync(join(CHART, 'ci')).map((name) => join('ci', name));

/** Returns the defaults merged with a values file, as Helm does: objects member by member, everything else as a whole. */
export function valuesOf(file: string): Values {
  return merged(defaults(), parse(readChart(file))) as Values;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) {
    return over;
  }
  const changed = Object.entries(over).map(([key, value]) => [key, merged(base[key], value)]);
  return { ...base, ...Object.fromEntries(changed) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

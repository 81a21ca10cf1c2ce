import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { interpolate } from '../../src/catalog/interpolate.ts';

const FOLDER = fileURLToPath(new URL('../../docs/examples/engines/', import.meta.url));
/** Every variable that the examples name. */
const VARIABLES = new Proxy(
  {},
  {
    get: (_, name) => (String(name).endsWith('_FILE') ? undefined : 'sk-service'),
    has: () => true,
  },
) as Record<string, string>;

/** The entry of an example in docs/examples/engines, at another address. */
export function serviceEntry(name: string, url: string): Record<string, unknown> {
  const text = readFileSync(`${FOLDER}${name}.yaml`, 'utf8');
  const { engines } = interpolate(parse(text), VARIABLES) as { engines: Record<string, unknown>[] };
  return { ...engines[0], base_url: url };
}

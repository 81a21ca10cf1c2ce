import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { interpolate } from '../../src/catalog/parse-catalog.ts';
import { EXAMPLE_VARIABLES } from './example-variables.ts';

const FOLDER = fileURLToPath(new URL('../../docs/examples/engines/', import.meta.url));

/** Returns the entry of an example in docs/examples/engines, moved to another address together with its token server. */
export function serviceEntry(name: string, url: string): Record<string, unknown> {
  const text = readFileSync(`${FOLDER}${name}.yaml`, 'utf8');
  const { engines } = interpolate(parse(text), EXAMPLE_VARIABLES) as { engines: Record<string, unknown>[] };
  const entry = { ...engines[0], base_url: url };
  const { signature } = entry as { signature?: Record<string, unknown> };
  const tokenUrl = signature?.token_url;
  const moved = tokenUrl ? { token_url: url + new URL(String(tokenUrl)).pathname } : {};
  return signature ? { ...entry, signature: { ...signature, ...moved } } : entry;
}

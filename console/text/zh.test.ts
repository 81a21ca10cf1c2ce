import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ZH } from './zh.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LITERAL = /\bt\(\s*'((?:[^'\\]|\\.)*)'/g;
/** Texts that reach `t` through a field: pages, states, limits. */
const NAMED =
  /\b(?:word|requests_per_minute|tokens_per_minute|concurrency|queued_tasks): '((?:[^'\\]|\\.)*)'/g;
const STATES = /: \['(?:good|wait|bad|info|off)', '.', '([\w ]+)'\]/g;

/** Returns every English text of the console, with the file it is in. */
function texts(): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(ROOT, { recursive: true, encoding: 'utf8' })) {
    if (/\.tsx?$/.test(name) && !name.startsWith('text/') && !name.endsWith('.gen.ts')) {
      const source = readFileSync(join(ROOT, name), 'utf8');
      for (const pattern of [LITERAL, NAMED, STATES]) {
        for (const [, text = ''] of source.matchAll(pattern)) {
          found.set(text.replaceAll("\\'", "'"), name);
        }
      }
    }
  }
  return found;
}

const holes = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([hole]) => hole).sort();

test('every text of the console has a Chinese one, with the same values in it', () => {
  const all = texts();
  expect(all.size).toBeGreaterThan(400);
  expect([...all].filter(([text]) => ZH[text] === undefined)).toEqual([]);
  for (const [text, translated] of Object.entries(ZH)) {
    expect([text, holes(translated)]).toEqual([text, holes(text)]);
  }
});

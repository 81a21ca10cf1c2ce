import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { spreadOf } from '../measure/spread.ts';
import { machineFacts, markdownTable } from '../measure/table.ts';
import { FIGURES, type FigureName, type Figures, gateRows, judge } from './figures.ts';
import { measureGate } from './measure-gate.ts';

/**
 * `npm run bench -- --gate [--short | --update]`: compares the cost of a call with the figures of gate.json, and exits with code 1 when it
 * exceeds its bounds. `--short` takes at most a minute and judges only what depends on the code alone, for CI. `--update` writes the
 * medians of three measurements into gate.json, for this version of Node.
 */
const FILE = fileURLToPath(new URL('gate.json', import.meta.url));
const UPDATE_MEASUREMENTS = 3;
const DIGITS = 4;

/** By the major version of Node, whose compiler determines how much is allocated. */
type Committed = Readonly<Record<string, Figures>>;

const has = (option: string) => process.argv.includes(option);
const onStep = (text: string) => process.stderr.write(`  ${text}\n`);
const committed = JSON.parse(readFileSync(FILE, 'utf8')) as Committed;
const [version = ''] = process.versions.node.split('.');

function medians(all: readonly Figures[]): Figures {
  const entries = (Object.keys(FIGURES) as FigureName[]).map((name) => {
    const { median } = spreadOf(all.map((figures) => figures[name] ?? 0));
    return [name, Number(median.toPrecision(DIGITS))];
  });
  return Object.fromEntries(entries) as Figures;
}

async function update(): Promise<void> {
  const all: Figures[] = [];
  for (let measurement = 1; measurement <= UPDATE_MEASUREMENTS; measurement += 1) {
    onStep(`measurement ${measurement} of ${UPDATE_MEASUREMENTS}`);
    all.push(await measureGate(false, onStep));
  }
  writeFileSync(FILE, `${JSON.stringify({ ...committed, [version]: medians(all) }, null, 2)}\n`);
}

async function check(isShort: boolean): Promise<void> {
  const judged = judge(await measureGate(isShort, onStep), committed[version] ?? {}, isShort);
  const failed = judged.some(({ verdict }) => verdict === 'failed');
  process.stdout.write(`${machineFacts()}\n\n${markdownTable(gateRows(judged))}\n`);
  if (failed) {
    process.stdout.write(
      '\nA call costs more than before. If this is intended, run: npm run bench -- --gate --update\n',
    );
  }
  process.exitCode = failed ? 1 : 0;
}

await (has('--update') ? update() : check(has('--short')));

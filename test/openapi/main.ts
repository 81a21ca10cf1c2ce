import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientCache, NotInstalled } from '../clients/client-cache.ts';
import { type ClientRow, runRows } from '../clients/client-rows.ts';
import { type ClientStack, startClientStack } from '../clients/client-stack.ts';
import { missingPrograms, runProgram, runTool } from '../clients/run-program.ts';
import { type CallsProgram, GENERATORS, type Generator, installTools, type Workplace } from './generators.ts';

const CATALOG = fileURLToPath(new URL('../../tollgate.yaml', import.meta.url));

/** What every program prints: the same facts, read through the types of its client. */
interface CallsSeen {
  readonly models: number;
  readonly model: string;
  readonly text: string;
  readonly tokens: number;
  readonly tool: string;
  readonly message: string;
  readonly key: string;
  /** The numbers of keys, of usage and cost rows, of tasks and of transactions. */
  readonly rows: readonly number[];
  readonly invoices: number;
  readonly image: string;
  readonly used: string;
  readonly refusal: string;
}

/**
 * `npm run test:openapi` generates clients from the document of a running product, compiles them and lets them call that product.
 * Arguments select generators by a part of their name. Prints a table and exits with 1 when a row fails. Generators that cannot run on
 * this machine are reported and skipped.
 */
async function main(names: readonly string[]): Promise<number> {
  const cache = clientCache(process.env);
  const tools = await installTools(cache);
  const chosen = GENERATORS.filter(
    ({ name }) => names.length === 0 || names.some((part) => name.includes(part)),
  );
  const stack = await startClientStack(readFileSync(CATALOG, 'utf8'), { worker: true });
  try {
    const document = join(stack.folder, 'openapi.json');
    writeFileSync(document, await (await fetch(`${stack.url}/openapi.json`)).text());
    const rows = chosen.filter(isRunnable).flatMap((generator) => {
      const folder = join(stack.folder, 'generated', generator.name.replaceAll(/\W+/g, '-'));
      mkdirSync(folder, { recursive: true });
      return rowsOf(generator, { document, folder, tools, cache }, stack);
    });
    const all = [lintRow(tools, document), ...rows];
    return (await runRows(all, stack.violations)).wrong === 0 ? 0 : 1;
  } finally {
    await stack.stop();
  }
}

function isRunnable({ name, needs }: Generator): boolean {
  const missing = missingPrograms(needs);
  if (missing.length > 0) {
    process.stderr.write(`test:openapi SKIPPED ${name}: ${missing.join(', ')} not found\n`);
  }
  return missing.length === 0;
}

function lintRow(tools: string, document: string): ClientRow {
  const rules = join(tools, 'rules.json');
  return {
    client: 'spectral',
    call: 'every rule of OpenAPI',
    run: async () => {
      writeFileSync(rules, JSON.stringify({ extends: ['spectral:oas'] }));
      const strict = ['--fail-severity', 'hint', '--ruleset', rules];
      await runTool(join(tools, 'node_modules/.bin/spectral'), ['lint', ...strict, document]);
      return 'no error, no warning, no hint';
    },
  };
}

function rowsOf(generator: Generator, place: Workplace, stack: ClientStack): ClientRow[] {
  const row = (call: string, run: ClientRow['run']): ClientRow => ({ client: generator.name, call, run });
  let calls: CallsProgram | undefined;
  return [
    row('generate and compile', async () => {
      await generator.generate(place);
      calls = await generator.compile(place);
      return 'compiles';
    }),
    row('models, chat, a tool, a message, keys, an image, credits, reports, a refusal', async () => {
      assert.ok(calls, 'it does not compile');
      return await callsSeen(calls, place.folder, stack);
    }),
  ];
}

async function callsSeen(calls: CallsProgram, folder: string, stack: ClientStack): Promise<string> {
  const environment = {
    HOME: process.env.HOME,
    TOLLGATE_URL: stack.url,
    TOLLGATE_KEY: await stack.openAccount('10'),
    ...calls.environment,
  };
  const [seen] = await runProgram<CallsSeen>({ ...calls, folder, environment });
  assert.ok(seen && seen.models >= 4, JSON.stringify(seen));
  assert.equal(seen.model, 'tollgate/small');
  assert.match(seen.text, /^This is Tollgate/);
  assert.ok(seen.tokens > 0);
  assert.deepEqual([seen.tool, seen.key, seen.invoices], ['weather', 'generated', 1]);
  assert.match(seen.message, /^This is Tollgate/);
  assert.ok(seen.rows.length === 5 && seen.rows.every((rows) => rows > 0), String(seen.rows));
  assert.equal(seen.image, 'TASK_STATUS_SUCCEED');
  assert.ok(Number(seen.used) > 0.005, seen.used);
  assert.equal(seen.refusal, 'model_not_found');
  return `${seen.models} models, ${seen.tool}, ${seen.rows.join('+')} rows, ${seen.tokens} tokens, a picture, ${seen.used} USD, ${seen.refusal}`;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof NotInstalled) {
    process.stderr.write(`test:openapi SKIPPED, no client was generated: ${error.message}\n`);
    return 0;
  }
  throw error;
});

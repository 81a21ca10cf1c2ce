import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../../bench/measure/table.ts';
import { clientCache, NotInstalled } from '../clients/client-cache.ts';
import { type ClientRow, runRows } from '../clients/client-rows.ts';
import { type ClientStack, startClientStack } from '../clients/client-stack.ts';
import { missingPrograms, runProgram, runTool } from '../clients/run-program.ts';
import { eventually } from '../factories/eventually.ts';
import { ASKED_AGAIN, CASES, type CaseSeen, MORE_CASES } from './cases.ts';
import { clientMatrix } from './client-matrix.ts';
import type { InstalledClient, InstalledLanguage, Language, OwnTests, Runnable } from './language.types.ts';
import { LANGUAGES } from './languages.ts';
import { type Family, type SimulatedModels, startSimulatedModels } from './simulated-models.ts';

/**
 * `npm run test:languages`: runs the clients of each language, as published in its registry, through one table of cases against the
 * compiled product and simulated models. Arguments select languages. Prints a table; exit code 1 when a row fails. A language whose tools
 * or packages are not available is reported and skipped.
 */
async function main(names: readonly string[]): Promise<number> {
  const simulated = await startSimulatedModels();
  const stack = await startClientStack(simulated.catalog, { worker: true });
  try {
    const rows: ClientRow[] = [];
    for (const language of LANGUAGES.filter(({ name }) => names.length === 0 || names.includes(name))) {
      rows.push(...(await rowsOfLanguage(language, stack, simulated)));
    }
    const results = await runRows(rows, stack.violations);
    process.stdout.write(`\n${markdownTable(clientMatrix(results.rows))}\n`);
    return results.wrong === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    await simulated.close();
  }
}

async function rowsOfLanguage(
  language: Language,
  stack: ClientStack,
  simulated: SimulatedModels,
): Promise<ClientRow[]> {
  const missing = missingPrograms(language.needs);
  if (missing.length > 0) {
    return skipped(language, `${missing.join(', ')} not found`);
  }
  const folder = join(stack.folder, 'programs', language.name);
  mkdirSync(folder, { recursive: true });
  let installed: InstalledLanguage;
  try {
    installed = await language.install(clientCache(process.env), folder);
  } catch (error) {
    if (error instanceof NotInstalled) {
      return skipped(language, error.message);
    }
    return [{ client: language.name, call: 'compile', run: () => Promise.reject(error) }];
  }
  const rows: ClientRow[] = [];
  for (const client of installed.clients) {
    rows.push(...(await rowsOf(client, stack, simulated)));
  }
  rows.push(...(installed.ownTests ?? []).map((tests) => ownTestsRow(tests, stack)));
  return installed.guide ? [...rows, guideRow(language, installed.guide, stack)] : rows;
}

function skipped({ name }: Language, reason: string): ClientRow[] {
  process.stderr.write(`test:languages SKIPPED ${name}: ${reason}\n`);
  return [];
}

/** Runs the snippets of the guide to completion, against the models of a first start. */
function guideRow({ name }: Language, guide: Runnable, stack: ClientStack): ClientRow {
  return {
    client: `docs/languages/${name}.md`,
    call: 'every snippet',
    run: async () => {
      const env = {
        TOLLGATE_URL: stack.url,
        TOLLGATE_KEY: await stack.openAccount('10'),
        ...guide.environment,
      };
      await runTool(guide.program, guide.args, { cwd: stack.folder, env });
      return 'runs to its end';
    },
  };
}

/** Runs a client's own tests, none of which may fail. */
function ownTestsRow(tests: OwnTests, stack: ClientStack): ClientRow {
  return {
    client: tests.name,
    call: tests.call,
    run: async () => {
      const ran = await runProgram<{ test: string; outcome: string; why: string }>({
        ...tests,
        folder: mkdtempSync(join(stack.folder, 'run-')),
        environment: await environmentOf(tests, stack),
      });
      const of = (outcome: string) => ran.filter((one) => one.outcome === outcome);
      const failed = of('failed').map(({ test, why }) => `${test}: ${why}`);
      assert.equal(failed.length, 0, failed.join('; '));
      assert.ok(of('passed').length > 0, 'none ran');
      const skipped = of('skipped').map(({ test }) => test);
      return `${of('passed').length} passed; skipped: ${skipped.join(', ') || 'none'}`;
    },
  };
}

async function environmentOf(client: Runnable & { family: Family }, stack: ClientStack) {
  return {
    HOME: process.env.HOME,
    TOLLGATE_URL: stack.url,
    TOLLGATE_KEY: await stack.openAccount('10'),
    TOLLGATE_EMPTY_KEY: await stack.openAccount('0'),
    TOLLGATE_FAMILY: client.family,
    ...client.environment,
  };
}

/** Runs a client's program once through all cases. Each row judges one of them. */
async function rowsOf(
  client: InstalledClient,
  stack: ClientStack,
  simulated: SimulatedModels,
): Promise<ClientRow[]> {
  const folder = mkdtempSync(join(stack.folder, 'run-'));
  const environment = await environmentOf(client, stack);
  const patient = simulated.providerOf(client.family, 'patient');
  const late = simulated.providerOf(client.family, 'late');
  patient.requests.length = 0;
  late.requests.length = 0;
  const lines = await runProgram<CaseSeen>({ ...client, folder, environment }).catch((error: unknown) => {
    const message = String(error);
    return Object.keys(CASES).map((name): CaseSeen => ({ case: name, error: { message } }));
  });
  await eventually(async () =>
    patient.requests.every(({ finished, abortedAt }) => finished || abortedAt !== undefined),
  );
  const aborted = patient.requests.some(({ abortedAt }) => abortedAt !== undefined);
  const lateCalls = late.requests.length;
  const known = [
    ...Object.entries(CASES).filter(([name]) => !client.lacks?.includes(name)),
    ...Object.entries(MORE_CASES).filter(([name]) => client.also?.includes(name)),
  ];
  return known.map(([call, check]) => ({
    client: client.name,
    call,
    run: async () => {
      const seen = lines.find((line) => line.case === call);
      assert.ok(seen, 'the program did not report this case');
      assert.ok(call !== 'cancel' || aborted, 'the provider did not stop');
      const said = check(seen, client.family);
      if (!ASKED_AGAIN.includes(call)) {
        return said;
      }
      // each case is one provider call and one charge, however often the client retried
      const asked = known.filter(([name]) => ASKED_AGAIN.includes(name)).length;
      const charged = await stack.chargedCalls(environment.TOLLGATE_KEY, `${client.family}/late`);
      assert.deepEqual([lateCalls, charged], [asked, asked], 'provider calls and charges');
      return `${said}; one provider call, one charge`;
    },
  }));
}

process.exitCode = await main(process.argv.slice(2));

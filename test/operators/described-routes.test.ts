import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { documentOf } from '../../ops/openapi-routes.ts';
import { codeSamples } from '../../src/http/openapi/openapi-samples.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { environmentWithCurl } from '../setup/curl-from-apt.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { ADMIN_TOKEN, type OperatorServer, startOperatorServer } from './support/operator-server.ts';

const run = promisify(execFile);

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[];
}

/** Routes that exist only in an installation with real payments. */
const STRIPE_ONLY = ['post /webhooks/stripe'];

let server: OperatorServer;
let mounted: Described;
let key: string;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 12, environment: { TEST_PAYMENTS: 'allow' } });
  // generated from the routes that this process really serves
  mounted = (await server.call('GET', '/openapi.json')).json;
  const { id } = await createAccount(server.db.database);
  key = (await createKey(server.db.database, id)).secret;
});

afterAll(() => server?.close());

function operationsOf({ paths }: Described): Map<string, Operation> {
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
    ),
  );
}

test('openapi.json describes exactly the routes of an installation', () => {
  const described = operationsOf(documentOf() as unknown as Described);
  const real = operationsOf(mounted);
  expect([...real.keys()].sort()).toEqual(
    [...described.keys()].filter((name) => !STRIPE_ONLY.includes(name)).sort(),
  );
  for (const [name, operation] of real) {
    expect([name, plain(operation)]).toEqual([name, plain(described.get(name))]);
  }
});

/** Removes what contains the address of the installation. */
function plain(operation: Operation | undefined): object {
  const { 'x-codeSamples': _, ...rest } = JSON.parse(JSON.stringify(operation ?? {}));
  return rest;
}

describe('code samples', () => {
  /** Runs the sample of an operation as a reader would: pasted, with the address of this server. */
  async function runSample(operationId: string, lang: 'Shell' | 'JavaScript'): Promise<unknown> {
    const all = [...operationsOf(mounted).values()];
    const operation = all.find((candidate) => candidate.operationId === operationId);
    const sample = operation?.['x-codeSamples'].find((candidate) => candidate.lang === lang);
    const source = sample?.source.replaceAll(/http:\/\/[\w.:]+/g, server.url) ?? '';
    const tools = lang === 'Shell' ? await environmentWithCurl(process.env) : {};
    const env = { PATH: process.env.PATH, ...tools, TOLLGATE_KEY: key, ADMIN_TOKEN };
    const [command, args] =
      lang === 'Shell' ? ['bash', ['-c', source]] : [process.execPath, ['--input-type=module', '-e', source]];
    const { stdout } = await run(command as string, args as string[], { env, timeout: 60_000 });
    return JSON.parse(stdout);
  }

  test.each(['Shell', 'JavaScript'] as const)(
    '%s runs as written',
    async (lang) => {
      expect(await runSample('getCredits', lang)).toMatchObject({ data: { remaining_credits: '10.00' } });
      expect(await runSample('createKey', lang)).toMatchObject({ key: expect.stringMatching(/^sk-tg-/) });
      expect(await runSample('changeAlerts', lang)).toMatchObject({ data: { credits_low: 10 } });
      expect(await runSample('getUsage', lang)).toMatchObject({ data: expect.anything() });
      expect(await runSample('listAccounts', lang)).toMatchObject({ data: expect.any(Array) });
      expect(await runSample('getHealth', lang)).toMatchObject({ status: 'ok' });
    },
    PACKAGES_TIMEOUT_MS,
  );

  test('every operation has a sample in each language', () => {
    for (const operation of operationsOf(mounted).values()) {
      const languages = operation['x-codeSamples'].map(({ lang }) => lang);
      expect([operation.operationId, languages]).toEqual([
        operation.operationId,
        ['Shell', 'Python', 'JavaScript'],
      ]);
      const text = JSON.stringify(operation['x-codeSamples']);
      expect([operation.operationId, text]).not.toEqual([
        operation.operationId,
        expect.stringMatching(/\{\w+\}\?|undefined/),
      ]);
    }
  });

  test('each language writes values and quotes in its own way', () => {
    const example = { text: "it's", on: true, off: false, none: null, list: [1, 'a'], empty: {} };
    const [shell, python] = codeSamples('https://tollgate.example', 'patch', '/a/{id}', {
      'x-access': 'owner',
      parameters: [{ name: 'id', in: 'path', required: true, example: 'x y' }],
      requestBody: { content: { 'application/json': { example } } },
    });
    expect(shell?.source).toContain("curl -sS -X PATCH 'https://tollgate.example/a/x%20y'");
    expect(shell?.source).toContain(`it'\\''s`);
    expect(python?.source).toBe(`import os

import requests

response = requests.patch(
    "https://tollgate.example/a/x%20y",
    headers={"Authorization": f"Bearer {os.environ['TOLLGATE_KEY']}"},
    json={
        "text": "it's",
        "on": True,
        "off": False,
        "none": None,
        "list": [
            1,
            "a",
        ],
        "empty": {},
    },
    timeout=600,
)
response.raise_for_status()
print(response.text)`);
  });
});

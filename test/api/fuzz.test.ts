import fc from 'fast-check';
import { transactionId } from '../../src/billing/transaction-id.ts';
import { publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import type { Answer } from './support/answer.types.ts';
import { expectEnvelope } from './support/check-answer.ts';
import { type FuzzRequest, mutated } from './support/mutations.ts';
import { type Schema, valuesOf } from './support/schema-arbitrary.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

const REQUESTS_MIN = 5_000;
/** Needs a signature; may answer 503 by its nature. */
const EXCEPT = ['receiveStripeEvent', 'getReadiness'];
/** The operator routes whose services need neither queues nor tasks. */
const ADMIN = [
  'createAccount',
  'listAccounts',
  'getAccount',
  'updateAccount',
  'createAdjustment',
  'createRefund',
];
/** What the transport may answer to anything. */
const TRANSPORT = [400, 404, 405, 413, 415, 431];

interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly body: Schema | undefined;
  readonly statuses: readonly number[];
}

let server: TestServer;
let operations: Operation[];
let components: Record<string, Schema>;
let known: Record<string, string[]>;
let secret: string;

beforeAll(async () => {
  server = await startTestServer();
  const { id } = await createAccount(server.database, { credits: '1000.00' });
  const owner = await createKey(server.database, id);
  const spare = await createKey(server.database, id, { role: 'inference' });
  const generation = await createGeneration(server.database, {
    accountId: id,
    apiKeyId: spare.id,
    charge: '0.10',
  });
  const session = await server.call('POST', '/api/v1/billing/checkout/sessions', {
    key: owner.secret,
    body: { amount: '5.00' },
  });
  const invoice = (await server.call('GET', '/api/v1/billing/invoices', { key: owner.secret })).json.data[0]
    .id;
  secret = owner.secret;
  // the fuzzer must not suspend its own account
  const other = await createAccount(server.database);
  known = {
    hash: [spare.hash, owner.hash],
    api_key_hash: [spare.hash],
    session_id: [session.json.data.id],
    transaction_id: [transactionId({ type: 'usage_charge', reference: generation })],
    invoice_id: [invoice, `${invoice}.csv`, `${invoice}.pdf`],
    model: ['acme/small', 'acme%2Flarge'],
    id: [publicId('generation', generation), publicId('account', other.id)],
  };
  const document = (await server.call('GET', '/openapi.json')).json;
  components = document.components.schemas;
  operations = readOperations(document.paths);
});
afterAll(() => server.close());

function readOperations(paths: Record<string, Record<string, Record<string, never>>>): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId, parameters, requestBody, responses } = operation as unknown as {
        operationId: string;
        parameters: Operation['parameters'];
        requestBody?: { content: Record<string, { schema: Schema }> };
        responses: Record<string, unknown>;
      };
      return {
        name: operationId,
        method: method.toUpperCase(),
        path,
        parameters,
        body: requestBody?.content['application/json']?.schema,
        statuses: Object.keys(responses).map(Number).filter(Boolean),
      };
    }),
  );
}

/** A request as the description allows it. */
function requestOf(operation: Operation): fc.Arbitrary<FuzzRequest> {
  const parts = operation.parameters
    .filter((parameter) => parameter.in !== 'header')
    .map((parameter) =>
      fc.record({
        parameter: fc.constant(parameter),
        value: fc.oneof(
          fc.constantFrom(...(known[parameter.name] ?? ['x'])),
          valuesOf(parameter.schema, components),
        ),
        isSent: parameter.required ? fc.constant(true) : fc.boolean(),
      }),
    );
  const body = operation.body ? valuesOf(operation.body, components) : fc.constant(undefined);
  return fc.tuple(fc.tuple(...parts), body).map(([values, content]) => {
    let { path } = operation;
    const query: string[] = [];
    for (const { parameter, value, isSent } of values) {
      const text = String(value).replace(/[\ud800-\udfff]/g, '');
      const encoded = text.includes('%') ? text.replace(/[^\w%.-]/g, '') || 'x' : encodeURIComponent(text);
      if (parameter.in === 'path') {
        path = path.replace(`{${parameter.name}}`, /^\.{0,2}$/.test(encoded) ? 'x' : encoded);
      } else if (isSent) {
        query.push(`${parameter.name}=${encoded}`);
      }
    }
    return {
      method: operation.method,
      path: query.length > 0 ? `${path}?${query.join('&')}` : path,
      headers: { authorization: `Bearer ${operation.path.startsWith('/admin/') ? ADMIN_TOKEN : secret}` },
      body: content === undefined ? undefined : JSON.stringify(content),
    };
  });
}

function send(request: FuzzRequest): Promise<Answer> {
  const { method, path, headers, body } = request;
  const { 'content-type': type = 'application/json' } = headers;
  return server.call(method, path, {
    headers: { ...headers, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { raw: body }),
  });
}

test(`at least ${REQUESTS_MIN} requests: declared answers to valid ones, envelopes to broken ones, never a 5xx`, async () => {
  let count = 0;
  const fuzzed = operations.filter(({ name, path }) =>
    !path.startsWith('/admin/') ? !EXCEPT.includes(name) : ADMIN.includes(name),
  );
  const runs = Math.ceil(REQUESTS_MIN / fuzzed.length / 2) + 1;
  for (const operation of fuzzed) {
    const request = requestOf(operation);
    const both = fc.tuple(request, request.chain(mutated));
    await fc.assert(
      fc.asyncProperty(both, async ([valid, broken]) => {
        const first = await send(valid);
        const second = await send(broken);
        count += 2;
        expect([...operation.statuses, 404, 400]).toContain(first.status);
        for (const answer of [first, second]) {
          expect(answer.status).toBeLessThan(500);
          if (answer.json !== undefined && answer.status >= 400) {
            expectEnvelope(answer);
          }
        }
        if (second.status >= 400 && second.json) {
          expect([...operation.statuses, ...TRANSPORT, 401, 402, 403, 409, 422]).toContain(second.status);
        }
      }),
      { numRuns: runs, seed: 20_261, endOnFailure: false },
    );
  }
  expect(count).toBeGreaterThanOrEqual(REQUESTS_MIN);
}, 180_000);

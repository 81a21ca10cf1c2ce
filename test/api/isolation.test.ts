import { transactionId } from '../../src/billing/transaction-id.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { eventually } from '../factories/eventually.ts';
import type { OperatorServer } from '../operators/support/operator-server.ts';
import {
  type DescribedOperation,
  type DescribedParameter,
  describedApi,
} from './support/described-operations.ts';
import { TAKES } from './support/id-parameters.ts';
import { createTenants, type ObjectKind, type Tenant } from './support/tenant.ts';
import { startWholeApplication } from './support/whole-application.ts';

const { operations: all, components } = describedApi();
/** Workers belong to no account. test/api/worker-api.test.ts tests what their tokens give access to. */
const operations = all.filter(({ path }) => !path.startsWith('/worker/'));

/** The payer has no key: anyone with the link of a checkout session may pay it. */
const LINKS = ['getCheckoutResult.session_id', 'getPaymentPage.session_id', 'payTestCheckout.session_id'];

/** Parameters that do not refer to an object of an account. */
const PLAIN = [
  'canceled',
  // from the catalog, limited to the models that the caller may use
  'model',
  'limit',
  'order',
  'cursor',
  // positions in the caller's own list of models
  'after_id',
  'before_id',
  'beta',
  'category',
  'endpoint',
  'q',
  'at',
  'booked_by',
  'start_time',
  'end_time',
  'created_after',
  'created_before',
  'granularity',
  'dry_run',
  'group_by',
  'type',
  'status',
  'state',
  'kind',
  'actor',
  'suspended',
  'sort',
  'action',
  'period_start',
  'period_end',
  'month',
  'index',
  'variant',
  'exp',
  'kid',
  'sig',
  'dl',
  // of a worker
  'host',
  'token_name',
];

/**
 * Body fields that do not refer to an object of an account. The secret of the key that a browser signs in with grants the access
 * itself, earlier responses are never stored, and a cache key is the caller's own text for the provider. A browser switches only to
 * accounts of its person: test/api/members.test.ts.
 */
const NO_OBJECT = ['account_id', 'api_key', 'previous_response_id', 'prompt_cache_key'];

/** Well-formed ids that do not exist. */
const UNKNOWN: Readonly<Record<ObjectKind, string>> = {
  account: publicId('account', newUuid()),
  key: 'f'.repeat(64),
  generation: publicId('generation', newUuid()),
  task: publicId('generation', newUuid()),
  video: publicId('generation', newUuid()),
  delivery: publicId('webhookDelivery', newUuid()),
  session: publicId('checkoutSession', newUuid()),
  transaction: transactionId({ type: 'usage_charge', reference: newUuid() }),
  invoice: publicId('invoice', newUuid()),
  model: 'acme/unknown',
  file: `${newUuid()}/0-original.png`,
  queue: 'unknown',
  browser: publicId('browserSession', newUuid()),
  member: publicId('member', newUuid()),
  invitation: publicId('invitation', newUuid()),
};

/** Headers that may differ between two answers without revealing anything: the time and the state of the caller's own rate limit. */
const VARYING = /^(date|x-ratelimit-(limit|remaining|reset)-(requests|tokens))$/;

let server: OperatorServer;
let ours: Tenant;
let theirs: Tenant;

beforeAll(async () => {
  server = await startWholeApplication({ redisDatabase: 13 });
  [ours, theirs] = await createTenants(server, 'acme/hidden');
  const body = { allowed_models: ['acme/small', 'image-turbo'] };
  await server.call('PATCH', `/admin/v1/accounts/${ours.ids.account}`, { body });
  await eventually(
    async () =>
      !(await server.call('GET', '/api/v1/models', { token: ours.owner })).text.includes('acme/hidden'),
    30_000,
    'the hiding of a model',
  );
});
afterAll(() => server?.close());

interface Use {
  readonly operation: DescribedOperation;
  readonly parameter: DescribedParameter;
  readonly kind: ObjectKind;
  /** The operation and parameter, such as `getTask.id`. */
  readonly name: string;
}

/** Every use of an id in the document. */
const uses: readonly Use[] = operations.flatMap((operation) =>
  operation.parameters.flatMap((parameter) => {
    const kind = TAKES[operation.name]?.[parameter.name];
    return kind ? [{ operation, parameter, kind, name: `${operation.name}.${parameter.name}` }] : [];
  }),
);
const forTenants = uses.filter(({ operation }) => !operation.path.startsWith('/admin/'));
const forOperators = uses.filter(({ operation }) => operation.path.startsWith('/admin/'));

interface Seen {
  readonly status: number;
  readonly headers: string;
  readonly text: string;
}

let addresses = 0;

/** Returns a new address for each request, so that failed authentications do not add up. */
function nextAddress(): string {
  addresses += 1;
  return `10.0.${addresses >> 8}.${addresses & 255}`;
}

/** Returns the whole answer to a request that differs only in one id. The request id is fixed, so all of it can be compared. */
async function ask({ operation, parameter }: Use, token: string, id: string, others: Tenant): Promise<Seen> {
  let { path } = operation;
  for (const { name, in: place } of operation.parameters) {
    if (place === 'path') {
      const kind = TAKES[operation.name]?.[name] ?? 'key';
      path = path.replace(`{${name}}`, name === parameter.name ? id : others.ids[kind]);
    }
  }
  const query = parameter.in === 'query' ? `?${parameter.name}=${encodeURIComponent(id)}` : '';
  const answer = await server.call(operation.method, path + query, {
    token,
    headers: { 'x-request-id': 'the-same', 'x-forwarded-for': nextAddress() },
    ...(operation.body && { body: { name: 'taken over', role: 'owner' } }),
  });
  const headers = [...answer.headers].filter(([name]) => !VARYING.test(name));
  return { status: answer.status, headers: JSON.stringify(headers), text: answer.text };
}

test('every parameter of every operation is a covered id or refers to no object of an account', () => {
  const unsaid = operations.flatMap(({ name, parameters }) =>
    parameters
      .filter(({ in: place }) => place !== 'header')
      .filter((parameter) => TAKES[name]?.[parameter.name] === undefined && !PLAIN.includes(parameter.name))
      .map((parameter) => `${name}.${parameter.name}`),
  );
  expect(unsaid).toEqual(LINKS);
});

test('every covered id parameter still exists', () => {
  const told = Object.entries(TAKES).flatMap(([name, parameters]) =>
    Object.keys(parameters).map((parameter) => `${name}.${parameter}`),
  );
  expect(uses.map(({ name }) => name).sort()).toEqual(told.sort());
});

test('no customer request body takes the id of an account’s object', () => {
  const bodies = operations.filter(
    ({ path, body }) => body?.['application/json'] && !path.startsWith('/admin/'),
  );
  const members = bodies.flatMap(({ body }) => {
    const schema = body?.['application/json']?.schema ?? {};
    const name = typeof schema.$ref === 'string' ? (schema.$ref.split('/').at(-1) ?? '') : '';
    return Object.keys((components[name]?.properties ?? schema.properties ?? {}) as object);
  });
  expect(members.length).toBeGreaterThan(20);
  const ids = members.filter((name) => !NO_OBJECT.includes(name) && /(^|_)(id|hash|key|account)$/.test(name));
  expect(ids).toEqual([]);
});

/** Returns whether there are no rows, or whether their sum is zero. */
const isNothing = (data: unknown[] | { amount: { value: string } }) =>
  Array.isArray(data) ? data.length === 0 : data.amount.value === '0.00';

test.each(forTenants.map((use) => [use.name, use] as const))(
  '%s: an id of another account is answered exactly like an unknown one',
  async (_, use) => {
    const foreign = await ask(use, ours.owner, theirs.ids[use.kind], ours);
    const unknown = await ask(use, ours.owner, UNKNOWN[use.kind], ours);
    expect(foreign).toEqual(unknown);
    // a filter finds nothing, an unsigned URL is invalid, everything else does not exist, also the place where a page begins
    const { in: place, name, required } = use.parameter;
    const isFilter = place === 'query' && !required && name !== 'after';
    const isLog = use.name === 'listWebhookDeliveries.task_id';
    const expected = isFilter || isLog ? 200 : use.kind === 'file' ? 403 : 404;
    expect([foreign.status, foreign.text]).toEqual([expected, expect.not.stringContaining(theirs.accountId)]);
    expect(!(isFilter || isLog) || isNothing(JSON.parse(foreign.text).data)).toBe(true);
  },
);

test.each(
  forTenants.filter(({ kind }) => !['model', 'file'].includes(kind)).map((use) => [use.name, use] as const),
)(
  '%s: an inference key cannot tell an object of another key of its account from an unknown one',
  async (_, use) => {
    const foreign = await ask(use, ours.inference, ours.ids[use.kind], ours);
    const unknown = await ask(use, ours.inference, UNKNOWN[use.kind], ours);
    expect(foreign).toEqual(unknown);
    expect([200, 403, 404]).toContain(foreign.status);
  },
);

test.each(forOperators.map((use) => [use.name, use] as const))(
  '%s: a customer key cannot tell its own id from an unknown one',
  async (_, use) => {
    // three calls, not four: an address has a limit of failed authentications
    const unknown = await ask(use, theirs.owner, UNKNOWN[use.kind], theirs);
    for (const token of [theirs.owner, theirs.inference]) {
      const own = await ask(use, token, theirs.ids[use.kind], theirs);
      expect(own).toEqual(unknown);
      expect(own.status).toBe(401);
    }
  },
);

test('leaves everything unchanged for its owner', async () => {
  const { owner: token, ids } = theirs;
  const key = await server.call('GET', `/api/v1/keys/${ids.key}`, { token });
  expect(key.json.data).toMatchObject({ name: 'test', disabled: false });
  const log = await server.call('GET', `/api/v1/webhooks/deliveries?task_id=${ids.task}`, { token });
  expect(log.json.data).toHaveLength(1);
  const destructive = ['deleteKey', 'deleteTask', 'deleteVideo', 'removeMember'];
  const order = [...forTenants].sort(
    (a, b) => destructive.indexOf(a.operation.name) - destructive.indexOf(b.operation.name),
  );
  for (const use of order.filter(({ kind }) => kind !== 'file')) {
    const own = await ask(use, token, ids[use.kind], theirs);
    // An ended task cannot be canceled; a waiting one has no content and cannot be deleted. Their owner is told so. A session
    // without a payment has no receipt.
    const others = {
      getTaskContent: 302,
      getVideoContent: 409,
      deleteVideo: 409,
      cancelTask: 409,
      getCheckoutReceipt: 404,
    };
    const expected = (others as Record<string, number>)[use.operation.name] ?? 200;
    expect([use.name, own.status]).toEqual([use.name, expected]);
  }
});

test.each(
  operations
    .filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/') && !path.includes('{'))
    .filter(({ parameters }) => !parameters.some((parameter) => parameter.required))
    // an endless stream: test/api/events.test.ts tests who receives which events
    .filter(({ name }) => name !== 'followAccount')
    .map(({ name, path }) => [name, path]),
)('%s shows nothing of another account', async (_, path) => {
  const grouped = path.endsWith('/costs') ? `${path}?group_by=api_key` : path;
  const mine = await server.call('GET', grouped, { token: ours.owner });
  expect(mine.status).toBe(200);
  for (const [kind, id] of Object.entries(theirs.ids)) {
    // one account of the two used the model, and queues belong to no account
    if (!['model', 'queue'].includes(kind)) {
      expect(mine.text).not.toContain(id);
    }
  }
});

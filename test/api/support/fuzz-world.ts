import { newUuid, publicId } from '../../../src/lib/ids.ts';
import { createAccount } from '../../factories/account.ts';
import { createKey } from '../../factories/api-key.ts';
import { createGeneration } from '../../factories/generation.ts';
import { purchaseCredits, usd } from '../../factories/ledger.ts';
import { createMember } from '../../factories/member.ts';
import { failTask, orderImage, orderVideo } from '../../operators/support/customer.ts';
import { ADMIN_TOKEN, type OperatorServer } from '../../operators/support/operator-server.ts';
import type { FuzzWorld } from './fuzz-requests.ts';
import { createTenants } from './tenant.ts';

const OF_EACH = 6;

/** Fills an installation with every kind of object that an operation can refer to. No worker is left running. */
export async function createFuzzWorld(server: OperatorServer): Promise<FuzzWorld> {
  // operator requests use another account: the fuzzer must not suspend its own
  const [own, other] = await createTenants(server);
  const { database } = server.db;
  const { customer } = own;
  const several = async (make: () => Promise<string>): Promise<string[]> => {
    const made: string[] = [];
    for (let index = 0; index < OF_EACH; index += 1) {
      made.push(await make());
    }
    return made;
  };
  const keysOf = (accountId: string) =>
    several(async () => (await createKey(database, accountId, { role: 'inference' })).hash);
  const orders = () => several(() => orderImage(server, customer));
  const failed = await orders();
  for (const task of failed) {
    await failTask(server, customer, task, true);
  }
  const videos = await several(() => orderVideo(server, customer));
  for (const video of videos.slice(3)) {
    await failTask(server, customer, video, true);
  }
  const checkout = async (): Promise<string> => {
    const body = { amount: '5.00' };
    const path = '/api/v1/billing/checkout/sessions';
    return (await server.call('POST', path, { token: own.owner, body })).json.data.id;
  };
  const sessions = await several(checkout);
  const paid = await checkout();
  await fetch(`${server.url}/checkout/${paid}`, {
    method: 'POST',
    body: new URLSearchParams({ card: 'accepted' }),
    redirect: 'manual',
  });
  const browsers = await several(async () => {
    const body = { api_key: own.owner };
    return (await server.call('POST', '/api/v1/sessions', { token: null, body })).json.data.id;
  });
  const members = () => several(async () => (await createMember(database, own.accountId, 'viewer')).id);
  const debtor = await createDebtor(server);
  const content = await server.call('GET', `/api/v1/tasks/${own.ids.task}/content`, { token: own.owner });
  const media = new URL(content.headers.get('location') ?? '');
  const ended = [own.ids.task, ...(await orders())];
  const account = [publicId('account', (await createAccount(database)).id), other.ids.account];
  // a worker that counts as alive for as long as the calls go on
  await database.money.query(
    `INSERT INTO workers (worker, host, version, queues, resting, running, seen_at)
     VALUES ('gpu-3.77', 'gpu-3', '1', '{generate-local}', '{}', 0, now() + interval '1 h')`,
  );
  const createToken = async (name: string) =>
    (await server.call('POST', '/admin/v1/worker-tokens', { body: { name, pools: ['local'] } })).json;
  const rented = await createToken('rented');
  const revocable = await several(async () => (await createToken(`token-${newUuid().slice(-8)}`)).data.name);
  return {
    keySecret: own.owner,
    operatorToken: ADMIN_TOKEN,
    workerToken: rented.token,
    ids: {
      ...{ hash: await keysOf(own.accountId), api_key_hash: [own.ids.key], session_id: sessions },
      ...{
        transaction_id: [own.ids.transaction],
        model: ['acme/small', 'acme%2Fhidden'],
        account_id: account,
      },
      host: ['gpu-3'],
      token_name: revocable,
      ...{ worker: ['host-1.77'], attempt: ['1'], bytes: ['7'], offset: ['0'], sha256: ['0'.repeat(64)] },
      ...{ 'getOutput.index': ['0'], 'uploadOutput.index': ['0'] },
      invoice_id: [own.ids.invoice, `${own.ids.invoice}.csv`, `${own.ids.invoice}.pdf`],
      ...{ task_id: ended, name: ['webhooks', 'generate-local'], 'getGeneration.id': [own.ids.generation] },
      ...{
        'getTask.id': ended,
        'cancelTask.id': ended,
        'getVideo.id': videos.slice(0, 3),
        'getVideoContent.id': videos.slice(0, 3),
        'deleteVideo.id': videos.slice(3),
        'deleteTask.id': failed.slice(3),
        'getOperatorTask.id': ended,
        'getChargeRecord.id': [own.ids.generation],
      },
      ...{ 'getTaskContent.id': [own.ids.task], 'retryTask.id': failed.slice(0, 3) },
      'getCheckoutReceipt.session_id': [paid],
      ...Object.fromEntries(
        ['Margin', 'WriteOffs', 'Payouts', 'Credits'].flatMap((report) => [
          [`report${report}.start_time`, ['2026-09-01T00:00:00Z', '2026-10-01T00:00:00Z']],
          [`report${report}.end_time`, ['2026-11-01T00:00:00Z']],
        ]),
      ),
      'endSession.id': browsers,
      'endOperatorSession.id': await several(async () => {
        const id = newUuid();
        await database.money.query(
          `INSERT INTO operator_sessions (id, token_hash, operator, rule, ends_at)
           VALUES ($1, repeat(md5($2), 2), 'ada@example.com', 'groups=tollgate-operators', now() + interval '1 h')`,
          [id, id],
        );
        return publicId('browserSession', id);
      }),
      'changeMember.id': await members(),
      'removeMember.id': await members(),
      'withdrawInvitation.id': await several(async () => {
        const body = { email: `${newUuid()}@example.com` };
        return (await server.call('POST', '/api/v1/invitations', { token: own.owner, body })).json.data.id;
      }),
      'redeliverWebhook.id': [own.ids.delivery],
      'redeliverOperatorDelivery.id': [own.ids.delivery],
      id: account,
      'eraseAccount.id': await several(async () => publicId('account', (await createAccount(database)).id)),
      'clearDebt.id': [debtor],
      'changeAccountKey.id': [other.ids.account],
      'changeAccountKey.hash': await keysOf(other.accountId),
      'createRefund.id': [other.ids.account],
    },
    bodies: {
      // with an existing pool the call would wait for a task
      claimTask: [{ worker: 'host-1.77', pool: 'nowhere', wait_seconds: 0 }],
      createWorkerToken: [{ name: 'another', pools: ['local'] }],
      // the call would wait for an image that nobody makes
      createImage: [{ model: 'acme/small', prompt: 'a gate' }],
      clearDebt: [{ kind: 'paid', amount: '0.01', description: 'Transfer' }],
      createSession: [{ api_key: own.owner }],
      estimateCall: ['/api/v1/chat/completions', '/vendorx/v1/messages'].map((endpoint) => ({
        endpoint,
        request: { model: 'acme/small', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
      })),
      createRefund: [{ generation_id: other.ids.generation, description: 'unusable' }],
      payTestCheckout: ['card=accepted', 'card=declined', ''],
    },
    addresses: { getMedia: [media.pathname + media.search] },
    headers: {},
  };
}

/** Creates an account with a debt from a reversed payment. Returns its public id. */
async function createDebtor(server: OperatorServer): Promise<string> {
  const { database } = server.db;
  const { id } = await createAccount(database, { credits: '0.00' });
  const account = publicId('account', id);
  const key = await createKey(database, id);
  const reference = newUuid();
  await purchaseCredits(database, { accountId: id, reference, description: 'Credits' }, usd('20.00'));
  await database.money.query(
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, url, success_url,
       cancel_url, status, payment_status, expires_at, credited_at)
     VALUES ($1::uuid, $2, $3, 'USD', 'test', $1::text, '', '', '', 'complete', 'paid', now(), now())`,
    [reference, id, usd('20.00').toString()],
  );
  await createGeneration(database, { accountId: id, apiKeyId: key.id, charge: '12.00' });
  const path = '/api/v1/billing/balance-transactions?type=credit_purchase';
  const [bought] = (await server.call('GET', path, { token: key.secret })).json.data;
  const reversed = await server.call('POST', `/admin/v1/accounts/${account}/refunds`, {
    token: ADMIN_TOKEN,
    body: { transaction_id: bought.id, amount: '20.00', description: 'Chargeback' },
  });
  expect(reversed.json).toMatchObject({ data: { debt: '12.00' } });
  return account;
}

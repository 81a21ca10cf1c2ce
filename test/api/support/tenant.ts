import { transactionId } from '../../../src/billing/transaction-id.ts';
import { parsePublicId } from '../../../src/lib/ids.ts';
import { createKey } from '../../factories/api-key.ts';
import { eventually } from '../../factories/eventually.ts';
import { createMember } from '../../factories/member.ts';
import { type Customer, createCustomer, orderImage, orderVideo } from '../../operators/support/customer.ts';
import type { OperatorServer } from '../../operators/support/operator-server.ts';
import { startOperatorWorker } from '../../operators/support/operator-worker.ts';

/** Kinds of objects that an id can refer to. */
export const OBJECT_KINDS = [
  'account',
  'key',
  'generation',
  'task',
  'video',
  'delivery',
  'session',
  'transaction',
  'invoice',
  'model',
  'file',
  'queue',
  'browser',
  'member',
  'invitation',
] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

export interface Tenant {
  readonly customer: Customer;
  readonly accountId: string;
  /** Secret of an owner key. */
  readonly owner: string;
  /** Secret of an inference key that made none of the objects. */
  readonly inference: string;
  /** An id of each kind, in its public form. */
  readonly ids: Readonly<Record<ObjectKind, string>>;
}

/**
 * Creates two accounts that have one object of every kind. The first one has called `acme/small`, the second one `model`. No worker is
 * left running.
 */
export async function createTenants(server: OperatorServer, model = 'acme/small'): Promise<[Tenant, Tenant]> {
  const worker = await startOperatorWorker(server.environment);
  const made = await Promise.all([createEnded(server, 'acme/small'), createEnded(server, model)]).finally(
    () => worker.close(),
  );
  // nobody runs these: a video takes long
  const withVideo = async (tenant: EndedTenant): Promise<Tenant> => ({
    ...tenant,
    ids: { ...tenant.ids, video: await orderVideo(server, tenant.customer) },
  });
  return [await withVideo(made[0]), await withVideo(made[1])];
}

type EndedTenant = Omit<Tenant, 'ids'> & { readonly ids: Omit<Tenant['ids'], 'video'> };

/** Resolves when its image is made. */
async function createEnded(server: OperatorServer, model: string): Promise<EndedTenant> {
  const customer = await createCustomer(server);
  const token = customer.secret;
  const spare = await createKey(server.db.database, customer.accountId, { role: 'inference' });
  const idle = await createKey(server.db.database, customer.accountId, { role: 'inference' });
  const webhook = { url: 'https://127.0.0.1/refused' };
  const task = await orderImage(server, customer, { extra: { webhook } });
  const chat = await server.call('POST', '/api/v1/chat/completions', {
    token,
    body: { model, max_tokens: 5, messages: [{ content: 'hello' }] },
  });
  const session = await server.call('POST', '/api/v1/billing/checkout/sessions', {
    token,
    body: { amount: '5.00' },
  });
  const browser = await server.call('POST', '/api/v1/sessions', {
    token: null,
    body: { api_key: token },
  });
  const member = await createMember(server.db.database, customer.accountId, 'viewer');
  const invitation = await server.call('POST', '/api/v1/invitations', {
    token,
    body: { email: 'invited@example.com' },
  });
  const invoices = await server.call('GET', '/api/v1/billing/invoices', { token });
  const found = await eventually(
    async () => {
      const native = await server.call('GET', `/api/v1/tasks/${task}`, { token });
      const events = await server.call('GET', `/api/v1/webhooks/deliveries?task_id=${task}`, { token });
      const [delivery] = events.json.data;
      return native.json.data.status === 'succeeded' && delivery !== undefined && delivery;
    },
    60_000,
    'the end of the task and its webhook',
  );
  const content = await server.call('GET', `/api/v1/tasks/${task}/content`, { token });
  const reference = parsePublicId('generation', chat.json.id) ?? '';
  return {
    customer,
    accountId: customer.accountId,
    owner: token,
    inference: idle.secret,
    ids: {
      account: customer.account,
      key: spare.hash,
      generation: chat.json.id,
      task,
      delivery: found.id,
      session: session.json.data.id,
      transaction: transactionId({ type: 'usage_charge', reference }),
      invoice: invoices.json.data[0].id,
      model,
      file: new URL(content.headers.get('location') ?? '').pathname.replace('/media/', ''),
      queue: 'webhooks',
      browser: browser.json.data.id,
      member: member.id,
      invitation: invitation.json.data.id,
    },
  };
}

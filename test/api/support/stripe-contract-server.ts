import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeSession {
  id: string;
  object: 'checkout.session';
  client_reference_id: string | null;
  amount_total: number;
  currency: string;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'unpaid' | 'paid' | 'no_payment_required';
  payment_intent: string | null;
  url: string;
  /** Expanded, as in responses that request it. */
  invoice?: { hosted_invoice_url: string | null } | null;
  receipt_url?: string;
}

export interface FakeReversal {
  id: string;
  /** Amount in cents. */
  amount: number;
  status: string;
  payment_intent: string;
  /** USD if not given. */
  currency?: string;
  /** Balance movements of a dispute on the seller's account, in cents. */
  balance_transactions?: { amount: number; currency?: string }[];
}

/** A balance transaction. `payout` is the payout it is listed under and is not part of the response. */
export interface FakeMove {
  id: string;
  type: string;
  amount: number;
  fee: number;
  currency: string;
  exchange_rate: number | null;
  /** Unix seconds. */
  created: number;
  available_on: number;
  source: { id: string; payment_intent?: string } | null;
  payout?: string;
}

export interface FakePayout {
  id: string;
  automatic: boolean;
  status: string;
  /** Unix seconds. */
  created: number;
  arrival_date: number;
}

const DOWN = { error: { type: 'api_error', message: 'no' } };
const MISSING = {
  error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' },
};

/** The part of Stripe's API that Tollgate uses, as documented: form-encoded requests, JSON objects, idempotency keys. */
export class StripeContractServer {
  readonly sessions = new Map<string, FakeSession>();
  readonly refunds: FakeReversal[] = [];
  readonly disputes: FakeReversal[] = [];
  /** Newest first, as Stripe lists them. */
  readonly moves: FakeMove[] = [];
  readonly payouts: FakePayout[] = [];
  readonly idempotencyKeys: string[] = [];
  readonly secret = `whsec_${randomBytes(16).toString('hex')}`;
  /** Whether every request is answered with 500. */
  isDown = false;
  /** Awaited before a request takes effect and again before it is answered. */
  gate: (step: 'asked' | 'done') => Promise<void> = async () => undefined;
  /** The answer to each Idempotency-Key and the request it belongs to. */
  readonly #answered = new Map<string, { readonly form: string; readonly session: FakeSession }>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  pay(id: string, changes: Partial<FakeSession> = {}): FakeSession {
    const session = this.sessions.get(id);
    if (!session) {
      throw new Error(`no session ${id}`);
    }
    return Object.assign(
      session,
      { status: 'complete', payment_status: 'paid', payment_intent: `pi_${id}` },
      changes,
    );
  }

  /** Returns an event as Stripe would send it: body and signature header. */
  event(
    type: string,
    object: object,
    options: { id?: string; secret?: string; at?: number } = {},
  ): {
    body: string;
    signature: string;
  } {
    const id = options.id ?? `evt_${randomBytes(8).toString('hex')}`;
    const body = JSON.stringify({ id, object: 'event', type, api_version: '2026-01-01', data: { object } });
    const at = options.at ?? Math.floor(Date.now() / 1000);
    const digest = createHmac('sha256', options.secret ?? this.secret)
      .update(`${at}.${body}`)
      .digest('hex');
    return { body, signature: `t=${at},v1=${digest}` };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk);
    }
    const url = new URL(request.url ?? '/', 'http://stripe');
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    await this.gate('asked');
    const reply = this.isDown ? undefined : this.#reply(request, url, form);
    await this.gate('done');
    const isRefused = reply !== undefined && 'error' in reply;
    response.statusCode = isRefused ? 400 : reply ? 200 : this.isDown ? 500 : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(reply ?? (this.isDown ? DOWN : MISSING)));
  }

  #reply(request: IncomingMessage, url: URL, form: URLSearchParams): object | undefined {
    const [, , , kind, id, act] = url.pathname.split('/');
    if (url.pathname === '/v1/checkout/sessions' && request.method === 'POST') {
      return this.#create(String(request.headers['idempotency-key']), form);
    }
    if (kind === 'sessions' && id !== undefined && act === 'expire') {
      return this.#expire(id);
    }
    if (kind === 'sessions' && id !== undefined) {
      return this.#session(id, url.searchParams.getAll('expand[1]').length > 0);
    }
    if (url.pathname === '/v1/balance_transactions') {
      const payout = url.searchParams.get('payout');
      const moves = this.moves.filter((move) => payout === null || move.payout === payout);
      return rangePage(moves, url.searchParams);
    }
    if (url.pathname === '/v1/payouts') {
      return rangePage(this.payouts, url.searchParams);
    }
    const list = { '/v1/refunds': this.refunds, '/v1/disputes': this.disputes }[url.pathname];
    return (
      list &&
      page(
        list.map((reversal) => ({ currency: 'usd', ...reversal })),
        url.searchParams,
      )
    );
  }

  #expire(id: string): object | undefined {
    const session = this.sessions.get(id);
    const error = {
      type: 'invalid_request_error',
      message: 'Only sessions with a status of open can be expired.',
    };
    return session && (session.status === 'open' ? Object.assign(session, { status: 'expired' }) : { error });
  }

  #session(id: string, isExpanded: boolean): object | undefined {
    const session = this.sessions.get(id);
    if (!session || !isExpanded) {
      return session;
    }
    const { receipt_url, payment_intent: payment, ...rest } = session;
    const latest_charge = receipt_url === undefined ? null : { id: `ch_${payment}`, receipt_url };
    return { ...rest, payment_intent: payment === null ? null : { id: payment, latest_charge } };
  }

  /** Gives the same answer to the same request under the same key and rejects a different request. */
  #create(idempotencyKey: string, form: URLSearchParams): object {
    this.idempotencyKeys.push(idempotencyKey);
    const before = this.#answered.get(idempotencyKey);
    if (before !== undefined) {
      const error = { type: 'idempotency_error', message: 'another request under this key' };
      return before.form === form.toString() ? before.session : { error };
    }
    const id = `cs_test_${randomBytes(8).toString('hex')}`;
    const session: FakeSession = {
      id,
      object: 'checkout.session',
      client_reference_id: form.get('client_reference_id'),
      amount_total: Number(form.get('line_items[0][price_data][unit_amount]')),
      currency: form.get('line_items[0][price_data][currency]') ?? '',
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: null,
      url: `https://checkout.stripe.test/${id}`,
    };
    this.sessions.set(id, session);
    this.#answered.set(idempotencyKey, { form: form.toString(), session });
    return session;
  }
}

/** Lists what was created in the requested range, always two per page whatever the limit, so that clients must follow pages. */
function rangePage(items: readonly (FakeMove | FakePayout)[], query: URLSearchParams): object {
  const [from, to] = [query.get('created[gte]'), query.get('created[lte]')];
  const own = items.filter(
    ({ created }) => created >= Number(from ?? 0) && created <= Number(to ?? Number.POSITIVE_INFINITY),
  );
  const start = own.findIndex((item) => item.id === query.get('starting_after')) + 1;
  return { object: 'list', url: '/v1', has_more: start + 2 < own.length, data: own.slice(start, start + 2) };
}

/** Lists newest first, up to the requested limit. The rest follows after `starting_after`. */
function page(list: readonly FakeReversal[], query: URLSearchParams): object {
  const own = list.filter((item) => item.payment_intent === query.get('payment_intent')).reverse();
  const start = own.findIndex((item) => item.id === query.get('starting_after')) + 1;
  const end = start + Number(query.get('limit') ?? 10);
  return { object: 'list', data: structuredClone(own.slice(start, end)), has_more: end < own.length };
}

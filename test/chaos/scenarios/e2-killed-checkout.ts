import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { StripeContractServer } from '../../api/support/stripe-contract-server.ts';
import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { type ChaosAccount, type ChaosStack, startStack, throughPort } from '../stack.ts';
import { openStatementTrap, type StatementTrap, type Trap } from '../statement-trap.ts';

const STRIPE_ADDRESS = fileURLToPath(new URL('../stripe-address.mjs', import.meta.url));
const KILLS_EACH = 4;
const AMOUNT_USD = '3.00';
const AMOUNT_NANO = 3_000_000_000n;
const STRIKE_WITHIN_MS = 20_000;
/** Time for repetitions, in ms: the Idempotency-Key of a process that died is free again after a minute. */
const REPEATED_WITHIN_MS = 75_000;
const CREDITED_WITHIN_MS = 15_000;
const EVENTS_EACH = 3;

interface Point {
  readonly name: string;
  readonly at: Trap | 'asked' | 'done';
  /** Whether the customer pays before the shop repeats the request: the provider has already given them the link. */
  readonly isPaidAtOnce?: boolean;
}

const POINTS: readonly Point[] = [
  { name: 'session stored', at: { statement: /^insert_checkout_session$/, side: 'unheard' } },
  { name: 'provider asked', at: 'asked' },
  { name: 'provider has opened it', at: 'done' },
  { name: 'provider has answered', at: { statement: /^UPDATE "checkout_sessions"/, side: 'unsent' } },
  {
    name: 'address stored, not told',
    at: { statement: /^idempotency_complete$/, side: 'unsent' },
    isPaidAtOnce: true,
  },
];

interface Shop {
  readonly stack: ChaosStack;
  readonly stripe: StripeContractServer;
  readonly trap: StatementTrap;
  readonly account: ChaosAccount;
}

interface Answer {
  readonly status: number;
  /** Public id of the session, or the code of the error. */
  readonly word: string;
}

export const killedCheckout: ChaosScenario = {
  id: 'E2',
  fault: `kill -9 of the API between storing a checkout session, opening it at the provider and answering, ${POINTS.length * KILLS_EACH} times; the shop retries with its Idempotency-Key`,
  asked:
    'every kill at its point; 0 double sessions, 0 lost: each shop gets its session, paid once and credited once',
  inShortForm: false,
  async run(services) {
    const stripe = new StripeContractServer();
    const address = await stripe.start();
    const trap = await openStatementTrap(services.postgresPort);
    const stack = await startStack(services, {
      apis: 2,
      settings: {
        NODE_OPTIONS: `--import ${STRIPE_ADDRESS}`,
        STRIPE_CONTRACT_SERVER: address,
        STRIPE_SECRET_KEY: 'sk_test_of_the_chaos_runs',
        STRIPE_WEBHOOK_SECRET: stripe.secret,
      },
      databaseUrl: (url, { place }) => (place === 0 ? throughPort(trap.port)(url) : url),
    });
    const shop: Shop = { stack, stripe, trap, account: await stack.openAccount('0') };
    const keys: string[] = [];
    const failures: string[] = [];
    const waiting: Promise<Answer>[] = [];
    for (const point of POINTS) {
      for (let kill = 0; kill < KILLS_EACH; kill += 1) {
        const key = randomUUID();
        keys.push(key);
        const struck = await strike(shop, point, key);
        failures.push(...struck.failures);
        waiting.push(struck.again);
      }
    }
    const kills = keys.length - failures.length;
    const waited = await Promise.all(waiting);
    const sessions = await repeat(shop, keys);
    const told = [...sessions.values()];
    failures.push(
      ...waited.flatMap((answer, place) =>
        answer.status === 201 && answer.word === sessions.get(keys[place]!)
          ? []
          : [`repeated at once: ${JSON.stringify(answer)}`],
      ),
      ...(await payAll(shop, told)),
    );
    failures.push(...(await auditBooks(stack.database.ownerUrl, 1_000)));
    await stack.stop();
    await Promise.all([trap.close(), stripe.stop()]);
    return {
      measured: `${kills} kills; ${told.length} of ${keys.length} shops got their session on retry; ${stripe.sessions.size} sessions at the provider, each paid and reported by ${EVENTS_EACH} events, ${failures.length} wrong`,
      failures,
    };
  },
};

interface Struck {
  readonly failures: readonly string[];
  /** The answer to an immediate repetition at another process, which waits until the key is free. */
  readonly again: Promise<Answer>;
}

async function strike({ stack, stripe, trap, account }: Shop, point: Point, key: string): Promise<Struck> {
  const [victim, survivor] = stack.urls as [string, string];
  const before = new Set(stripe.sessions.keys());
  let isStruck = false;
  const kill = () => {
    isStruck = true;
    stack.apis[0]?.signal('SIGKILL');
  };
  if (typeof point.at === 'string') {
    stripe.gate = async (step) => {
      if (step === point.at && !isStruck) {
        kill();
      }
    };
  } else {
    trap.arm(point.at, kill);
  }
  const first = await Promise.race([open(victim, account, key), pause(STRIKE_WITHIN_MS)]);
  trap.disarm();
  stripe.gate = async () => undefined;
  const again = open(survivor, account, key);
  await stack.replaceApi(0);
  const opened = [...stripe.sessions.keys()].find((id) => !before.has(id));
  if (point.isPaidAtOnce && opened !== undefined) {
    await pay(stripe, survivor, opened);
  }
  const wasStruck = isStruck && first?.status === 0;
  return { failures: wasStruck ? [] : [`not reached: ${point.name} ${JSON.stringify(first)}`], again };
}

/** Repeats the request with every key until it is answered with a session. Returns the public ids by key. */
async function repeat({ stack, account }: Shop, keys: readonly string[]): Promise<Map<string, string>> {
  const told = new Map<string, string>();
  const deadline = Date.now() + REPEATED_WITHIN_MS;
  while (told.size < keys.length && Date.now() < deadline) {
    for (const key of keys.filter((one) => !told.has(one))) {
      const { status, word } = await open(stack.urls[1]!, account, key);
      if (status === 201) {
        told.set(key, word);
      }
    }
    await pause(1_000);
  }
  return told;
}

/** Pays every session at the provider, sends several events for each, and compares the books with that. */
async function payAll({ stack, stripe }: Shop, told: readonly string[]): Promise<string[]> {
  const { ownerUrl } = stack.database;
  await Promise.all([...stripe.sessions.keys()].map((id) => pay(stripe, stack.urls[1]!, id)));
  const deadline = Date.now() + CREDITED_WITHIN_MS;
  let credited: { id: string; amount: string | null; entries: number }[] = [];
  for (;;) {
    credited = await queryOwner(
      ownerUrl,
      `SELECT s.provider_session_id AS id, sum(e.amount) AS amount, count(e.reference)::integer AS entries
         FROM checkout_sessions s LEFT JOIN ledger_entries e ON e.reference = s.id AND e.type = 'credit_purchase'
        GROUP BY s.id`,
    );
    if (credited.every(({ entries }) => entries > 0) || Date.now() > deadline) {
      break;
    }
    await pause(250);
  }
  const sold = new Set([...stripe.sessions.values()].map(({ client_reference_id: id }) => String(id)));
  const shops = POINTS.length * KILLS_EACH;
  return [
    ...(told.length === shops ? [] : [`${told.length} of ${shops} shops were told a session`]),
    ...(stripe.sessions.size === told.length ? [] : [`${stripe.sessions.size} sessions at the provider`]),
    ...told.filter((id) => !sold.has(id)).map((id) => `${id} was told, but the provider has no such session`),
    ...(new Set(told).size === told.length ? [] : ['two shops were told the same session']),
    ...(credited.length === told.length ? [] : [`${credited.length} sessions are stored`]),
    ...credited
      .filter(({ amount, entries }) => entries !== 1 || BigInt(amount ?? 0) !== AMOUNT_NANO)
      .map(({ id, amount, entries }) => `${id}: ${entries} credits of ${amount} nano-USD`),
  ];
}

async function open(url: string, { key: secret }: ChaosAccount, key: string): Promise<Answer> {
  try {
    const response = await fetch(`${url}/api/v1/billing/checkout/sessions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ amount: AMOUNT_USD }),
    });
    const { data, error } = (await response.json()) as { data?: { id: string }; error?: { code: string } };
    return { status: response.status, word: data?.id ?? error?.code ?? '' };
  } catch (error) {
    return { status: 0, word: String(error) };
  }
}

async function pay(stripe: StripeContractServer, url: string, id: string): Promise<void> {
  const session = stripe.pay(id);
  for (let times = 0; times < EVENTS_EACH; times += 1) {
    const { body, signature } = stripe.event('checkout.session.completed', session);
    const headers = { 'stripe-signature': signature, 'content-type': 'application/json' };
    const response = await fetch(`${url}/webhooks/stripe`, { method: 'POST', headers, body });
    if (!response.ok) {
      throw new Error(`an event was answered with ${response.status}`);
    }
  }
}

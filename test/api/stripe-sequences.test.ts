import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { CheckoutService } from '../../src/billing/checkout.service.ts';
import { CheckoutStore } from '../../src/billing/checkout.store.ts';
import { StripePayment } from '../../src/billing/payment/stripe.payment.ts';
import { PaymentInboxService } from '../../src/billing/payment-inbox.service.ts';
import { PaymentInboxStore } from '../../src/billing/payment-inbox.store.ts';
import { ReversalsService } from '../../src/billing/reversals.service.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { oneCell } from '../../src/store/cells.ts';
import { purchaseCredits, silentLog } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { StripeContractServer } from './support/stripe-contract-server.ts';
import { type PaymentCommand, paymentStory, StripePaymentModel } from './support/stripe-payment-model.ts';

/** `npm test` runs a few hundred. For the full proof: STRIPE_SEQUENCES=10000 npm test -- test/api/stripe-sequences.test.ts. */
const SEQUENCES = Number(process.env.STRIPE_SEQUENCES ?? 200);
const SHARDS = 4;
const NANO_PER_CENT = 10_000_000n;

interface Shard {
  readonly db: TestDatabase;
  readonly stripe: StripeContractServer;
  /** Provider answers in flight: the first one read need not be the first to arrive. */
  readonly answers: (() => void)[];
  readonly movements: Movements;
  readonly inbox: PaymentInboxService;
}

let shards: Shard[];

beforeAll(async () => {
  shards = await Promise.all(Array.from({ length: SHARDS }, openShard));
});
afterAll(async () => {
  for (const { db, stripe } of shards) {
    await db.close();
    await stripe.stop();
  }
});

async function openShard(): Promise<Shard> {
  const db = await createTestDatabase();
  const stripe = new StripeContractServer();
  const answers: (() => void)[] = [];
  stripe.gate = (step) =>
    step === 'asked' ? Promise.resolve() : new Promise((resolve) => void answers.push(resolve));
  const provider = new StripePayment({
    secretKey: 'sk_test_0123456789',
    webhookSecret: stripe.secret,
    baseUrl: await stripe.start(),
  });
  const log = silentLog;
  const clock = { now: Date.now };
  const { money } = db.database;
  const sessions = new CheckoutStore(oneCell(db.database));
  const movements = new Movements(() => money);
  const inbox = new PaymentInboxService(
    {
      inbox: new PaymentInboxStore(money, 'stripe'),
      sessions,
      checkout: new CheckoutService({
        store: sessions,
        movements,
        settings: { publicUrl: 'http://a.example', provider },
        clock,
        log,
      }),
      reversals: new ReversalsService(movements, sessions, provider, log),
    },
    'stripe',
    clock,
    log,
  );
  return { db, stripe, answers, movements, inbox };
}

/** Creates a payment of `cents`, of which `spent` cents are already used up. */
async function paidSession(
  shard: Shard,
  cents: number,
  spent: number,
): Promise<{ accountId: string; purchase: string; payment: string }> {
  const { money } = shard.db.database;
  const [accountId, purchase] = [newUuid(), newUuid()];
  const payment = `pi_${purchase}`;
  await shard.movements.openAccount(accountId, 'buyer');
  await money.query(
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, payment_id, url, success_url,
       cancel_url, status, payment_status, expires_at, credited_at)
     VALUES ($1::uuid, $2, $3, 'USD', 'stripe', $1::text, $4, '', '', '', 'complete', 'paid', now(), now())`,
    [purchase, accountId, (BigInt(cents) * NANO_PER_CENT).toString(), payment],
  );
  await purchaseCredits(
    shard.db.database,
    { accountId, reference: purchase, description: 'bought' },
    nanoUsd(BigInt(cents) * NANO_PER_CENT),
  );
  if (spent > 0) {
    await shard.movements.adjust(
      { accountId, reference: newUuid(), description: 'used' },
      nanoUsd(BigInt(-spent) * NANO_PER_CENT),
    );
  }
  return { accountId, purchase, payment };
}

/** Plays a story. Its events are processed while later things happen: several at once, some twice, some only at the end. */
async function happen(
  shard: Shard,
  model: StripePaymentModel,
  story: readonly PaymentCommand[],
): Promise<void> {
  const running: Promise<unknown>[] = [];
  const tell = async (objectId: string) => {
    const event = { id: newUuid(), type: 'refund.updated', subject: 'payment', objectId } as const;
    // an event that was not accepted is delivered again, and an accepted one is processed by the next sweep
    await untilTaken(() => shard.inbox.receive(event));
    await shard.inbox.process(10).catch(() => undefined);
  };
  let untold = 0;
  for (const command of story) {
    await pause(1);
    if (command.do === 'refund') {
      untold += model.refund(command.cents, command.status) ? 1 : 0;
    } else if (command.do === 'dispute') {
      untold += model.dispute(command.cents, command.status, command.withdrawn) ? 1 : 0;
    } else if (command.do === 'change') {
      untold += model.change(command.which, command.way) ? 1 : 0;
    } else if (command.do === 'tell' && untold > 0) {
      running.push(...Array.from({ length: command.times }, () => tell(model.payment)));
      untold -= 1;
    } else if (command.do === 'answer') {
      shard.answers.splice(command.which % Math.max(1, shard.answers.length), 1)[0]?.();
    }
  }
  // Stripe delivers every event at least once, however late
  running.push(tell(model.payment));
  await arriveInAnyOrder(shard, Promise.all(running));
  const { money } = shard.db.database;
  for (;;) {
    const due = 'UPDATE webhook_inbox SET next_try_at = clock_timestamp() WHERE processed_at IS NULL';
    const waiting = await money.query(due).catch(() => undefined);
    if (waiting?.rowCount === 0) {
      return;
    }
    await arriveInAnyOrder(
      shard,
      shard.inbox.process(50).catch(() => 0),
    );
  }
}

/** Repeats a delivery until it is acknowledged, as Stripe does. */
async function untilTaken(deliver: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await deliver();
    } catch (error) {
      if (tries >= 20) {
        throw error;
      }
      await pause(50);
    }
  }
}

/** Lets answers arrive in any order, so that sometimes the oldest view of a payment is the last one to be booked. */
async function arriveInAnyOrder(shard: Shard, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  for (let turn = 0; !isDone; turn += 1) {
    await pause(1);
    shard.answers.splice((turn * 7) % Math.max(1, shard.answers.length), 1)[0]?.();
  }
  await ended;
}

interface Books {
  /** Nano-USD that the account can spend, or owes when negative. */
  readonly worth: bigint;
  readonly unbooked: bigint;
  /** Nano-USD that were taken and given back according to the audit log. */
  readonly audited: bigint;
}

async function booksOf(shard: Shard, accountId: string, purchase: string): Promise<Books> {
  const { rows } = await shard.db.database.money.query(
    `SELECT b.posted - b.debt AS worth,
            (SELECT coalesce(sum(unbooked), 0) FROM payment_standings p WHERE p.account_id = b.account_id) AS unbooked,
            (SELECT coalesce(sum(CASE a.action WHEN 'payment.reverse' THEN -1 ELSE 1 END * (a.detail->>'amount')::numeric), 0)
               FROM audit_log a WHERE a.actor = 'stripe' AND a.object = $2) * 1000000000 AS audited
       FROM balances b WHERE b.account_id = $1`,
    [accountId, publicId('checkoutSession', purchase)],
  );
  const [{ worth, unbooked, audited }] = rows;
  return { worth: BigInt(worth), unbooked: BigInt(unbooked), audited: BigInt(Math.round(Number(audited))) };
}

async function tellStories(shard: Shard, seed: number): Promise<void> {
  const { stripe } = shard;
  await fc.assert(
    fc.asyncProperty(
      paymentStory,
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 0, max: 1_000 }),
      async (story, paid, used) => {
        const spent = Math.min(used, paid);
        const { accountId, purchase, payment } = await paidSession(shard, paid, spent);
        stripe.refunds.length = 0;
        stripe.disputes.length = 0;
        const model = new StripePaymentModel(payment, paid, (kind, reversal) =>
          (kind === 'refund' ? stripe.refunds : stripe.disputes).push(reversal),
        );
        await happen(shard, model, story);
        const taken = Math.min(paid, model.gone);
        expect(await booksOf(shard, accountId, purchase)).toEqual({
          worth: BigInt(paid - spent - taken) * NANO_PER_CENT,
          unbooked: BigInt(model.gone - taken) * NANO_PER_CENT,
          audited: BigInt(-taken) * NANO_PER_CENT,
        });
      },
    ),
    { numRuns: SEQUENCES / SHARDS, seed, endOnFailure: false },
  );
}

test(
  `${SEQUENCES} payments with any order of refunds and disputes: the credits equal the money`,
  async () => {
    const seed = Number(process.env.STRIPE_SEED ?? Math.floor(Math.random() * 2 ** 31));
    await Promise.all(shards.map((shard, index) => tellStories(shard, seed + index)));
  },
  60_000 + SEQUENCES * 200,
);

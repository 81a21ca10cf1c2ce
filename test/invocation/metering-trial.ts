import { request } from 'node:http';
import fc from 'fast-check';
import { costCeiling, ONE_CALL } from '../../src/catalog/pricing.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { type NanoUsd, nanoUsd, ZERO_USD } from '../../src/lib/money.ts';
import { fundedAccount, type TestAccount, testLedger, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { Gateway, model, SIMPLE_PRICES } from './gateway.ts';
import { type Bill, HonestProvider, ITEM_TOKENS } from './honest-provider.ts';
import { chatCall, type MeteredCall, messagesCall } from './metering-calls.ts';
import { responsesCall } from './metering-responses.ts';

const CALLS = { chat: chatCall, messages: messagesCall, responses: responsesCall };
type Spoken = keyof typeof CALLS;
type Protocol = 'openai' | 'responses';

/** The dialect of each concurrent caller, each with its own account, and the protocol of the provider of the chat models. */
const LANES: readonly (readonly [Spoken, Protocol])[] = [
  ['chat', 'openai'],
  ['messages', 'openai'],
  ['chat', 'responses'],
  ['messages', 'responses'],
  ['chat', 'openai'],
  ['messages', 'openai'],
  ['responses', 'openai'],
  ['responses', 'responses'],
];

export interface Trial {
  readonly cases: number;
  readonly seed: number;
}

/** The totals of a trial, in nano-USD as recorded in the database. */
export interface TrialSums {
  readonly served: Readonly<Record<Spoken, number>>;
  readonly refused: number;
  readonly charged: string;
  /** By cause. */
  readonly writeOffs: readonly { readonly reason: string; readonly calls: string; readonly amount: string }[];
}

/**
 * Makes calls of every shape in every dialect through gateways on the real ledger, to a provider that counts honestly. Throws when a
 * served call paid neither at least 95 % of what the provider's own count is worth at our prices, nor the caller's X-Max-Cost with the
 * rest written off.
 */
export async function tryMetering({ cases, seed }: Trial): Promise<TrialSums> {
  const provider = await new HonestProvider().start();
  const db = await createTestDatabase();
  const lanes = await Promise.all(LANES.map((lane) => Lane.open(db, provider, ...lane)));
  let failed = false;
  try {
    const runs = lanes.map((lane, index) =>
      fc.assert(
        fc.asyncProperty(CALLS[lane.speaks], async (call) => {
          // after one lane has failed, the others have nothing more to show
          if (!failed) {
            await lane.make(call);
          }
        }),
        { numRuns: Math.ceil(cases / LANES.length), seed: seed + index, endOnFailure: true },
      ),
    );
    for (const run of runs) {
      run.catch(() => {
        failed = true;
      });
    }
    const failure = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
    if (failure) {
      throw failure.reason;
    }
    const servedOf = (speaks: Spoken) =>
      lanes.reduce((sum, lane) => sum + (lane.speaks === speaks ? lane.served : 0), 0);
    return {
      served: {
        chat: servedOf('chat'),
        messages: servedOf('messages'),
        responses: servedOf('responses'),
      },
      refused: lanes.reduce((sum, lane) => sum + lane.refused, 0),
      ...(await moneyOf(db)),
    };
  } finally {
    await Promise.all(lanes.map((lane) => lane.close()));
    await provider.close();
    await db.close();
  }
}

async function moneyOf({ database }: TestDatabase): Promise<Pick<TrialSums, 'charged' | 'writeOffs'>> {
  const charged = await database.money.query<{ amount: string }>(
    'SELECT coalesce(sum(charge), 0) AS amount FROM generations',
  );
  const writeOffs = await database.money.query<TrialSums['writeOffs'][number]>(
    'SELECT reason, count(*) AS calls, sum(amount) AS amount FROM write_offs GROUP BY reason ORDER BY reason',
  );
  return { charged: charged.rows[0]!.amount, writeOffs: writeOffs.rows };
}

/** What a call paid, in nano-USD, and its row. */
interface Paid {
  readonly charge: string;
  readonly beyond: string;
  readonly waived: string;
  readonly told: object;
}

/** One account and the gateway it calls through, one call at a time. */
class Lane {
  readonly #db: TestDatabase;
  readonly #provider: HonestProvider;
  readonly #gateway: Gateway;
  readonly #account: TestAccount;
  readonly #movements: Movements;
  readonly speaks: Spoken;
  served = 0;
  refused = 0;
  #connections = 0;

  private constructor(
    db: TestDatabase,
    provider: HonestProvider,
    gateway: Gateway,
    account: TestAccount,
    speaks: Spoken,
  ) {
    this.speaks = speaks;
    this.#db = db;
    this.#provider = provider;
    this.#gateway = gateway;
    this.#account = account;
    this.#movements = new Movements(() => db.database.money);
  }

  static async open(
    db: TestDatabase,
    provider: HonestProvider,
    speaks: Spoken,
    protocol: Protocol,
  ): Promise<Lane> {
    const account = await fundedAccount(db.database, '0');
    const takes = {
      inputModalities: ['text', 'image', 'file', 'video', 'audio'],
      itemTokens: ITEM_TOKENS,
    };
    const pass_through = ['documents', 'chat_template_kwargs'];
    const models = ['chat', 'messages'].flatMap((dialect) => {
      const route = (context: number) => [{ provider: dialect, model: String(context) }];
      return [
        model(`${dialect}-bounded`, route(50_000), { ...takes, contextLength: 50_000 }),
        model(`${dialect}-unbounded`, route(12_000), { ...takes, itemTokens: {}, contextLength: 12_000 }),
        model(`${dialect}-text`, route(100_000), { inputModalities: ['text'], itemTokens: {} }),
      ];
    });
    const gateway = await Gateway.start({
      providers: [
        { id: 'chat', protocol, base_url: provider.url, pass_through },
        { id: 'messages', protocol: 'anthropic', base_url: provider.url, pass_through },
      ],
      models,
      books: {
        ledger: testLedger(db.database),
        caller: { ...account, allowedModels: null, spendable: ZERO_USD },
      },
    });
    return new Lane(db, provider, gateway, account, speaks);
  }

  async make(call: MeteredCall): Promise<void> {
    const user = `user-${newUuid()}`;
    await this.#setBalance(usd(call.balance));
    const connected = () => {
      this.#connections += 1;
    };
    await send(`${this.#gateway.url}${call.path}`, JSON.stringify(call.bodyOf(user)), call, connected);
    await this.#gateway.idle(this.#connections);
    const bill = this.#provider.bills.get(user);
    if (!bill) {
      this.refused += 1;
      return;
    }
    this.#provider.bills.delete(user);
    this.served += 1;
    await this.#requirePaid(bill, call);
  }

  async close(): Promise<void> {
    await this.#gateway.close();
  }

  async #requirePaid(bill: Bill, call: MeteredCall): Promise<void> {
    const { rows } = await this.#db.database.money.query<Paid>(
      `SELECT g.charge, coalesce(w.beyond, 0) AS beyond, coalesce(w.waived, 0) AS waived, to_jsonb(g) AS told
         FROM generations g, LATERAL (
              SELECT sum(amount) FILTER (WHERE reason = 'above_max_cost') AS beyond,
                     sum(amount) FILTER (WHERE reason = 'provider_failure') AS waived
                FROM write_offs WHERE generation_id = g.id) w
        WHERE g.account_id = $1 ORDER BY g.id DESC LIMIT 1`,
      [this.#account.accountId],
    );
    const { charge, beyond, waived, told } = rows[0]!;
    const most = call.maxCost === undefined ? undefined : usd(call.maxCost);
    // the caller's limit was reached, or they left with nothing: the rest must have been written off
    const leftWithNothing = call.leaveAfter !== undefined && bill.output === 0;
    const paid =
      BigInt(charge) +
      (BigInt(charge) === most ? BigInt(beyond) : 0n) +
      (leftWithNothing ? BigInt(waived) : 0n);
    const worth = costCeiling(bill.input, bill.output, ONE_CALL, SIMPLE_PRICES);
    if (paid < (worth * 95n) / 100n) {
      const about = { worth: `${worth}`, bill, told, body: call.bodyOf(''), call };
      throw new Error(`served for less than its worth: ${JSON.stringify(about)}`);
    }
  }

  async #setBalance(target: NanoUsd): Promise<void> {
    const { rows } = await this.#db.database.money.query<{ posted: string }>(
      'SELECT posted FROM balances WHERE account_id = $1',
      [this.#account.accountId],
    );
    const change = target - BigInt(rows[0]!.posted);
    if (change !== 0n) {
      const { accountId } = this.#account;
      await this.#movements.adjust(
        { accountId, reference: newUuid(), description: 'for the next call' },
        nanoUsd(change),
      );
    }
  }
}

/** Sends a call and hangs up after that many bytes of the answer. Calls `connected` once the gateway has the connection. */
function send(
  url: string,
  body: string,
  { maxCost, leaveAfter }: MeteredCall,
  connected: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', ...(maxCost && { 'x-max-cost': maxCost }) };
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (leaveAfter !== undefined && bytes >= leaveAfter) {
          sent.destroy();
        }
      });
      response.on('close', resolve);
      response.on('error', () => resolve());
    });
    sent.on('socket', (socket) => socket.once('connect', connected));
    sent.on('error', () => resolve());
    sent.end(body);
    if (leaveAfter !== undefined && leaveAfter < 20) {
      setTimeout(() => sent.destroy(), leaveAfter);
    }
  });
}

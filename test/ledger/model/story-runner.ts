import { expect } from '@jest/globals';
import type { PostgresLedger } from '../../../src/ledger/ledger.engine.ts';
import { closeMonths } from '../../../src/ledger/ledger.sql.ts';
import { LedgerStore } from '../../../src/ledger/ledger.store.ts';
import { Movements } from '../../../src/ledger/movements.ts';
import { HoldReaper } from '../../../src/ledger/reaper.ts';
import { newUuid } from '../../../src/lib/ids.ts';
import { nanoUsd } from '../../../src/lib/money.ts';
import { NO_USAGE } from '../../../src/lib/usage.ts';
import type { Database } from '../../../src/store/database.ts';
import { UsageDays } from '../../../src/usage/usage-days.store.ts';
import { holdRequest, purchaseCredits, settlement, silentLog, testKey } from '../../factories/ledger.ts';
import type { LedgerCommand } from './ledger-commands.ts';
import { LedgerModel, type ModelHold } from './ledger-model.ts';
import { expectOutcome, pick, setClock } from './story-support.ts';

/** Plays one story on the model and on the real ledger, and compares both after every command. */
export class StoryRunner {
  readonly #database: Database;
  readonly #ledger: PostgresLedger;
  readonly #movements: Movements;
  readonly #store: LedgerStore;
  readonly #accountId: string;
  readonly #model: LedgerModel;
  #clockDays = 0;

  private constructor(
    database: Database,
    ledger: PostgresLedger,
    accountId: string,
    keys: readonly string[],
  ) {
    this.#database = database;
    this.#ledger = ledger;
    this.#movements = new Movements(() => database.money);
    this.#store = new LedgerStore(database.money);
    this.#accountId = accountId;
    this.#model = new LedgerModel(keys);
  }

  static async begin(database: Database, ledger: PostgresLedger): Promise<StoryRunner> {
    await setClock(database.money, 0);
    const accountId = newUuid();
    await new Movements(() => database.money).openAccount(accountId, 'model');
    const keys = [await testKey(database, accountId), await testKey(database, accountId)];
    return new StoryRunner(database, ledger, accountId, keys);
  }

  async tell(command: LedgerCommand): Promise<void> {
    await this.#carryOut(command);
    await this.#compare();
  }

  /** Ends what is open, so that the next story in this database starts alone. */
  async end(): Promise<void> {
    for (const hold of this.#model.holds.filter((candidate) => candidate.closedAt === undefined)) {
      await this.#settle(hold, 0n);
    }
    await this.#compare();
  }

  get accountId(): string {
    return this.#accountId;
  }

  async #carryOut(command: LedgerCommand): Promise<void> {
    switch (command.do) {
      case 'nothing':
        return;
      case 'reserve':
        return await this.#reserve(command.key, command.amount, command.minimum);
      case 'reserve again':
        return await this.#reserveAgain(command.hold);
      case 'settle':
        for (let time = 0; time < command.times; time += 1) {
          await this.#settleShare(command.hold, command.permille);
        }
        return;
      case 'release':
        return await this.#settleShare(command.hold, 0);
      case 'extend':
        return await this.#extend(command.hold, command.amount);
      case 'meter':
        return await this.#meter(command.hold, command.permille);
      case 'lose the process':
        return await this.#loseProcess();
      case 'pass time':
        this.#clockDays += command.days;
        // leases are renewed while the process lives, however much time passes
        await setClock(this.#database.money, this.#clockDays);
        return await this.#renewAll(60_000);
      case 'close months':
        await this.#database.money.query(closeMonths.text, [this.#accountId]);
        return;
      case 'roll up days':
        await new UsageDays(this.#database.money).rollUp();
        return;
      default:
        return await this.#administer(command);
    }
  }

  async #administer(command: LedgerCommand): Promise<void> {
    switch (command.do) {
      case 'purchase':
        return await this.#purchase(command.amount, command.times);
      case 'adjust': {
        const accepted = this.#model.adjust(command.amount);
        const outcome = this.#movements.adjust(this.#movement(newUuid()), nanoUsd(command.amount));
        return await expectOutcome(outcome, accepted ? 'posted' : 'insufficient_credits');
      }
      case 'clear debt': {
        const cleared = this.#model.clearDebt(command.amount);
        const outcome = this.#movements.clearDebt(
          this.#movement(newUuid()),
          command.kind,
          nanoUsd(command.amount),
        );
        return await expectOutcome(
          outcome,
          cleared ? { outcome: 'posted', amount: command.amount } : 'invalid_parameter',
        );
      }
      case 'refund':
        return await this.#refund(command.charge, command.amount, command.times);
      case 'reverse':
      case 'reinstate':
        return await this.#movePayment(command.do, command.purchase, command.amount, command.times);
      case 'limit': {
        const key = this.#model.keys[command.key]!;
        key.limit = command.limit;
        const limit = command.limit === null ? null : nanoUsd(command.limit);
        await this.#movements.changeKey(this.#accountId, key.id, { limit });
        return;
      }
      case 'disable': {
        const key = this.#model.keys[command.key]!;
        key.disabled = command.disabled;
        await this.#movements.changeKey(this.#accountId, key.id, { disabled: command.disabled });
        return;
      }
      case 'suspend':
        this.#model.suspended = command.suspended;
        await this.#movements.changeAccount(this.#accountId, { suspended: command.suspended });
    }
  }

  async #reserve(keyIndex: number, amount: bigint, minimum: bigint): Promise<void> {
    const key = this.#model.keys[keyIndex]!;
    const request = holdRequest({ accountId: this.#accountId, apiKeyId: key.id }, nanoUsd(amount), {
      minimum: nanoUsd(minimum),
    });
    const expected = this.#model.reserve(request.id, key, amount, minimum);
    await expectOutcome(
      this.#ledger.reserve(request).then((hold) => hold.granted),
      expected,
    );
  }

  async #reserveAgain(index: number): Promise<void> {
    const hold = pick(this.#model.holds, index);
    if (hold !== undefined) {
      const request = holdRequest({ accountId: this.#accountId, apiKeyId: hold.key.id }, nanoUsd(7n), {
        id: hold.id,
      });
      const outcome = this.#ledger.reserve(request).then((held) => held.granted);
      await expectOutcome(outcome, hold.closedAt === undefined ? hold.amount : 'idempotency_completed');
    }
  }

  async #settleShare(index: number, permille: number): Promise<void> {
    const hold = pick(this.#model.holds, index);
    if (hold !== undefined) {
      await this.#settle(hold, (hold.amount * BigInt(permille)) / 1_000n);
    }
  }

  async #settle(hold: ModelHold, due: bigint): Promise<void> {
    const before = hold.closedAt;
    const stands = this.#model.settle(hold, due);
    const result = await this.#ledger.settle(
      settlement({ id: hold.id, accountId: this.#accountId, apiKeyId: hold.key.id }, nanoUsd(due)),
    );
    const outcome = before === undefined ? 'settled' : 'closed';
    const shortfall = before === undefined ? due - stands : 0n;
    expect(result).toEqual({ outcome, charge: stands, shortfall, waived: 0n });
  }

  async #extend(index: number, extra: bigint): Promise<void> {
    const hold = pick(this.#model.holds, index);
    if (hold !== undefined) {
      const held = {
        id: hold.id,
        accountId: this.#accountId,
        apiKeyId: hold.key.id,
        granted: nanoUsd(hold.amount),
      };
      const expected = this.#model.extend(hold, extra);
      expect(await this.#ledger.extend(held, nanoUsd(extra))).toBe(expected);
    }
  }

  async #meter(index: number, permille: number): Promise<void> {
    const hold = pick(this.#model.holds, index);
    if (hold !== undefined && hold.closedAt === undefined) {
      hold.metered = (hold.amount * BigInt(permille)) / 1_000n;
      await this.#renewAll(60_000);
    }
  }

  async #renewAll(ttlMs: number): Promise<void> {
    const open = this.#model.holds.filter((hold) => hold.closedAt === undefined);
    const holds = open.map(({ id, metered }) => ({
      id,
      metered: {
        charge: { amount: nanoUsd(metered), lines: metered > 0n ? { output: nanoUsd(metered) } : {} },
        usage: NO_USAGE,
      },
    }));
    expect(await this.#store.renew(holds, ttlMs)).toBe(open.length);
  }

  /** Lets every lease expire and the reaper of another process clean up. */
  async #loseProcess(): Promise<void> {
    await this.#renewAll(-1);
    const open = this.#model.holds.filter((hold) => hold.closedAt === undefined);
    expect(await new HoldReaper(this.#store, this.#ledger, silentLog).reap()).toBe(open.length);
    // in the database's order: nothing depends on it, the sums are the same
    for (const hold of open) {
      this.#model.settle(hold, hold.metered);
    }
  }

  async #purchase(amount: bigint, times: number): Promise<void> {
    const reference = newUuid();
    this.#model.purchase(reference, amount);
    for (let time = 0; time < times; time += 1) {
      const outcome = purchaseCredits(this.#database, this.#movement(reference), nanoUsd(amount));
      await expectOutcome(outcome, time === 0 ? 'posted' : 'exists');
    }
    await this.#insertPaidSession(reference, amount);
  }

  async #refund(index: number, amount: bigint, times: number): Promise<void> {
    const charge = pick(this.#model.charges, index);
    if (charge === undefined) {
      return;
    }
    const reference = newUuid();
    const accepted = this.#model.refund(charge, amount);
    for (let time = 0; time < times; time += 1) {
      const outcome = this.#movements.refundCharge(
        this.#movement(reference),
        charge.generation,
        nanoUsd(amount),
      );
      const booked = { outcome: time === 0 ? 'posted' : 'exists', amount };
      await expectOutcome(outcome, accepted ? booked : 'invalid_parameter');
    }
  }

  async #movePayment(
    kind: 'reverse' | 'reinstate',
    index: number,
    amount: bigint,
    times: number,
  ): Promise<void> {
    const purchase = pick(this.#model.purchases, index);
    if (purchase === undefined) {
      return;
    }
    const reference = newUuid();
    const accepted = this.#model[kind](purchase, amount);
    const method = kind === 'reverse' ? 'reversePayment' : 'reinstatePayment';
    for (let time = 0; time < times; time += 1) {
      const movement = this.#movement(reference);
      const outcome = this.#movements[method](movement, purchase.reference, nanoUsd(amount));
      await expectOutcome(outcome, accepted ? (time === 0 ? 'posted' : 'exists') : 'invalid_parameter');
    }
  }

  #movement(reference: string): { accountId: string; reference: string; description: string } {
    return { accountId: this.#accountId, reference, description: 'model' };
  }

  async #insertPaidSession(reference: string, amount: bigint): Promise<void> {
    await this.#database.money.query(
      `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, url, success_url,
         cancel_url, status, payment_status, expires_at, credited_at)
       VALUES ($1, $2, $3, 'USD', 'test', $4, '', '', '', 'complete', 'paid', now(), now())`,
      [reference, this.#accountId, amount.toString(), reference],
    );
  }

  async #compare(): Promise<void> {
    const { rows } = await this.#database.money.query(
      `SELECT b.posted, b.held, b.used, b.debt,
              (b.seq - (SELECT count(*) FROM ledger_entries e
                WHERE e.account_id = b.account_id AND e.reason_code = 'debt_repayment'))::integer AS entries,
              (SELECT coalesce(sum(w.amount), 0) FROM write_offs w
                WHERE w.account_id = b.account_id AND w.reason = 'above_hold') AS lost,
              (SELECT json_agg(json_build_object('id', k.id, 'spent', k.spent::text, 'held', k.held::text)
                 ORDER BY k.id) FROM api_keys k WHERE k.account_id = b.account_id) AS keys
         FROM balances b WHERE b.account_id = $1`,
      [this.#accountId],
    );
    const model = this.#model;
    expect(rows[0]).toEqual({
      posted: model.posted.toString(),
      held: model.held.toString(),
      used: model.used.toString(),
      debt: model.debt.toString(),
      lost: model.lost.toString(),
      entries: model.entries,
      keys: [...model.keys]
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map((key) => ({ id: key.id, spent: key.spent.toString(), held: key.held.toString() })),
    });
  }
}

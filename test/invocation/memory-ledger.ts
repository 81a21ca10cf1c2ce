import { capCharge } from '../../src/catalog/pricing.ts';
import type {
  Hold,
  HoldRequest,
  Ledger,
  MeteredSoFar,
  Settlement,
  SettleResult,
} from '../../src/ledger/ledger.types.ts';
import { AppError } from '../../src/lib/errors.ts';
import { type NanoUsd, nanoUsd, ZERO_USD } from '../../src/lib/money.ts';

/** A settlement as booked: its charge is what was taken, `due` what it asked for, in nano-USD. */
export type Booked = Settlement & {
  readonly shortfall: NanoUsd;
  readonly waived: NanoUsd;
  readonly due: NanoUsd;
};

/** An in-memory ledger with one account that enforces the rules the real one enforces in SQL. */
export class MemoryLedger implements Ledger {
  balance: NanoUsd;
  readonly holds = new Map<string, NanoUsd>();
  readonly requests: HoldRequest[] = [];
  /** As booked, with what was due. */
  readonly settlements: Booked[] = [];
  waived = 0n;
  readonly extensions: NanoUsd[] = [];
  readonly metered = new Map<string, () => MeteredSoFar>();
  /** Makes settle fail, as when the database is away. */
  failSettle = false;

  constructor(balance: NanoUsd) {
    this.balance = balance;
  }

  get held(): bigint {
    return [...this.holds.values()].reduce((sum, amount) => sum + amount, 0n);
  }

  get last(): Booked {
    return this.settlements.at(-1)!;
  }

  async reserve(request: HoldRequest, signal?: AbortSignal): Promise<Hold> {
    signal?.throwIfAborted();
    await Promise.resolve();
    const available = this.balance - this.held;
    if (request.minimum > request.amount || request.minimum < 0n) {
      throw new Error('minimum above amount');
    }
    if (available < request.minimum) {
      throw new AppError('insufficient_credits', 'not enough credits');
    }
    const granted = nanoUsd(request.amount < available ? request.amount : available);
    this.requests.push(request);
    this.holds.set(request.id, granted);
    const { id, accountId, apiKeyId } = request;
    return { id, accountId, apiKeyId, granted };
  }

  async requireFunds(_accountId: string, _apiKeyId: string, amount: NanoUsd = nanoUsd(1n)): Promise<void> {
    if (this.balance - this.held < amount) {
      throw new AppError('insufficient_credits', 'not enough credits');
    }
  }

  async extend(hold: Hold, amount: NanoUsd): Promise<NanoUsd | undefined> {
    const held = this.holds.get(hold.id);
    if (held === undefined || this.balance - this.held < amount) {
      return undefined;
    }
    this.extensions.push(amount);
    const total = nanoUsd(held + amount);
    this.holds.set(hold.id, total);
    return total;
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    await Promise.resolve();
    if (this.failSettle) {
      throw new AppError('service_unavailable', 'the database is away');
    }
    const held = this.holds.get(settlement.holdId);
    if (held === undefined) {
      throw new Error('settled twice or never held');
    }
    const due = settlement.charge.amount;
    const lines = Object.values(settlement.charge.lines).reduce((sum, line) => sum + line, 0n);
    if (lines !== due) {
      throw new Error('lines that do not add up');
    }
    const { waiverMax } = settlement;
    const waive = waiverMax !== undefined && this.waived + due <= waiverMax;
    const free = this.balance - this.held;
    const most = held + (free > 0n ? free : 0n);
    const charge = waive ? ZERO_USD : nanoUsd(due < most ? due : most);
    const waived = waive ? due : ZERO_USD;
    const shortfall = waive ? ZERO_USD : nanoUsd(due - charge);
    this.waived += waived;
    this.holds.delete(settlement.holdId);
    this.balance = nanoUsd(this.balance - charge);
    const lost = nanoUsd(shortfall + settlement.beyondMaxCost);
    const booked = capCharge(settlement.charge, charge).charge;
    this.settlements.push({ ...settlement, charge: booked, shortfall: lost, waived, due });
    return { outcome: 'settled', charge, shortfall, waived };
  }

  keepAlive(hold: Hold, metered: () => MeteredSoFar): () => void {
    this.metered.set(hold.id, metered);
    return () => this.metered.delete(hold.id);
  }
}

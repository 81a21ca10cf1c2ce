/** A second, deliberately simple ledger: plain bigints in memory. Postgres must agree with it. */
export interface ModelKey {
  readonly id: string;
  limit: bigint | null;
  spent: bigint;
  held: bigint;
  disabled: boolean;
}

export interface ModelHold {
  readonly id: string;
  readonly key: ModelKey;
  amount: bigint;
  metered: bigint;
  closedAt: bigint | undefined;
}

export interface ModelCharge {
  readonly generation: string;
  readonly key: ModelKey;
  readonly amount: bigint;
  refunded: bigint;
}

export interface ModelPurchase {
  readonly reference: string;
  readonly amount: bigint;
  /** Reversed and not reinstated since. */
  reversed: bigint;
}

export class LedgerModel {
  posted = 0n;
  held = 0n;
  used = 0n;
  debt = 0n;
  /** Written off: covered neither by the hold nor by free money. */
  lost = 0n;
  suspended = false;
  /** Without repayments of debts: calls that settle together repay in one entry. */
  entries = 0;
  readonly keys: ModelKey[];
  readonly holds: ModelHold[] = [];
  readonly charges: ModelCharge[] = [];
  readonly purchases: ModelPurchase[] = [];

  constructor(keyIds: readonly string[]) {
    this.keys = keyIds.map((id) => ({ id, limit: null, spent: 0n, held: 0n, disabled: false }));
  }

  /** Returns the granted amount, or the code of the rejection. */
  reserve(id: string, key: ModelKey, amount: bigint, minimum: bigint): bigint | string {
    const refusal = this.#refusalOf(key, minimum);
    if (refusal !== undefined) {
      return refusal;
    }
    const granted = smallest(amount, this.posted - this.held, freeOf(key));
    this.held += granted;
    key.held += granted;
    this.holds.push({ id, key, amount: granted, metered: 0n, closedAt: undefined });
    return granted;
  }

  /** Returns the final charge: beyond the hold it takes what is free on the account and the key, never what other calls hold. */
  settle(hold: ModelHold, due: bigint): bigint {
    if (hold.closedAt !== undefined) {
      return hold.closedAt;
    }
    const free = largest(0n, smallest(this.posted - this.held, freeOf(hold.key)));
    const charge = smallest(due, hold.amount + free);
    this.lost += due - charge;
    this.held -= hold.amount;
    hold.key.held -= hold.amount;
    this.posted -= charge;
    this.used += charge;
    hold.key.spent += charge;
    hold.closedAt = charge;
    if (charge > 0n) {
      this.entries += 1;
      this.charges.push({ generation: hold.id, key: hold.key, amount: charge, refunded: 0n });
    }
    this.#repayDebt();
    return charge;
  }

  extend(hold: ModelHold, extra: bigint): bigint | undefined {
    const affordable = this.debt === 0n && this.posted - this.held >= extra && freeOf(hold.key) >= extra;
    if (hold.closedAt !== undefined || !affordable) {
      return undefined;
    }
    hold.amount += extra;
    hold.key.held += extra;
    this.held += extra;
    return hold.amount;
  }

  purchase(reference: string, amount: bigint): void {
    this.posted += amount;
    this.entries += 1;
    this.purchases.push({ reference, amount, reversed: 0n });
    this.#repayDebt();
  }

  adjust(amount: bigint): boolean {
    if (this.posted - this.held + amount < 0n) {
      return false;
    }
    this.posted += amount;
    this.entries += 1;
    this.#repayDebt();
    return true;
  }

  /** Clears some of the debt from outside: forgiven or paid. */
  clearDebt(amount: bigint): boolean {
    if (amount > this.debt) {
      return false;
    }
    this.debt -= amount;
    this.entries += 1;
    return true;
  }

  refund(charge: ModelCharge, amount: bigint): boolean {
    if (charge.refunded + amount > charge.amount) {
      return false;
    }
    charge.refunded += amount;
    charge.key.spent -= amount;
    this.posted += amount;
    this.used -= amount;
    this.entries += 1;
    this.#repayDebt();
    return true;
  }

  reverse(purchase: ModelPurchase, amount: bigint): boolean {
    if (purchase.reversed + amount > purchase.amount) {
      return false;
    }
    purchase.reversed += amount;
    const taken = smallest(amount, this.posted - this.held);
    this.posted -= taken;
    this.debt += amount - taken;
    this.entries += taken < amount ? 2 : 1;
    return true;
  }

  reinstate(purchase: ModelPurchase, amount: bigint): boolean {
    if (amount > purchase.reversed) {
      return false;
    }
    purchase.reversed -= amount;
    this.posted += amount;
    this.entries += 1;
    this.#repayDebt();
    return true;
  }

  #repayDebt(): void {
    const repaid = smallest(this.debt, this.posted - this.held);
    if (repaid > 0n) {
      this.debt -= repaid;
      this.posted -= repaid;
    }
  }

  #refusalOf(key: ModelKey, minimum: bigint): string | undefined {
    if (key.disabled) {
      return 'key_disabled';
    }
    if (this.suspended) {
      return 'account_suspended';
    }
    if (this.debt > 0n || this.posted - this.held < minimum) {
      return 'insufficient_credits';
    }
    return freeOf(key) < minimum ? 'key_limit_exceeded' : undefined;
  }
}

const UNLIMITED = 1n << 62n;

function freeOf(key: ModelKey): bigint {
  return key.limit === null ? UNLIMITED : key.limit - key.spent - key.held;
}

function largest(first: bigint, other: bigint): bigint {
  return first > other ? first : other;
}

function smallest(first: bigint, ...rest: bigint[]): bigint {
  return rest.reduce((least, value) => (value < least ? value : least), first);
}

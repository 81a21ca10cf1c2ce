import { Arrivals } from '../../lib/arrivals.ts';
import { FairQueue } from '../../lib/fair-queue.ts';

/** One call that wants to begin. */
export interface PacedCall {
  /** Whose turn it takes. */
  readonly account: string;
  /** Share of a turn: 1 is an ordinary account's. */
  readonly weight: number;
  /** 1 for an ordinary paid call. */
  readonly cost: number;
  begin(): void;
  /** Tells the caller to come back later. */
  refuse(): void;
  /** Whether nobody waits for it any more. */
  isGone(): boolean;
}

export interface PacerOptions {
  /** In ms, of a clock that never goes back. */
  readonly now: () => number;
  /** How far the database is behind, in ms. */
  readonly delayMs: () => number;
  /** Pieces of blocking work that wait for a turn of the event loop. */
  readonly backlog: () => number;
  /** Runs something in the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs something after some ms. */
  readonly later: (run: () => void, milliseconds: number) => void;
}

/** A call is taken if it will probably begin within this many ms. */
const EXPECTED_WAIT_MS_MAX = 2_000;
/** A call that was taken and still waits after so many ms is refused: the process has become slower than it was. */
const WAIT_MS_MAX = 5_000;
/** The same while the database is behind and nothing begins: as long as the ledger tries to hold credits for a call that has begun. */
const WAIT_BEHIND_MS_MAX = 3_000;
/** Calls that may wait at once. */
const WAITING_MAX = 5_000;
/** A turn of the event loop that takes longer holds up everybody, in ms. */
const LONG_TURN_MS = 6;
/** Work that is put off keeps turns short while the process falls behind: more of it than this counts as a long turn. */
const BACKLOG_MAX = 16;
/** Calls begun in one turn, in units of cost: grows while turns are short, falls while they are long. */
const PER_TURN_MAX = 8;
const PER_TURN_MIN = 0.25;
const GROWTH = 1.2;
const FALL = 0.7;
/** Who waits longer than this for the database has too much before it, in ms: nothing is begun meanwhile. */
const BEHIND_MS = 300;
/** Ms after which a database that is behind is looked at again. */
const LOOK_AGAIN_MS = 5;
/** Ms after which turns are looked at again while nobody waits, so that a loop with nothing to do sleeps. */
const CALM_LOOK_MS = 1;
/** Cost per ms that a process is believed to do until it has shown what it can do. */
const UNPROVEN_RATE = 0.6;
/** Ms of work over which the rate is measured. */
const MEASURED_MS = 1_000;
/** What is left of the peak at the next measurement. */
const PEAK_DECAY = 0.97;
/** The same while calls are refused that have waited in vain: they are dearer than those of the peak. */
const WRONG_PEAK_DECAY = 0.7;

/**
 * Begins calls as fast as this process can carry them, and no faster: while the turns of the event loop are short, at once; else they
 * wait, account after account, so that one that sends more than its share waits behind itself. The process always has as much to do as
 * it can do, so nothing is lost by refusing calls that would wait too long. How long that is follows from the peak it has shown, which is
 * soon forgotten once calls wait in vain.
 */
export class CallPacer {
  readonly #options: PacerOptions;
  readonly #queue = new FairQueue<PacedCall & { readonly since: number }>();
  readonly #arrivals: Arrivals;
  #perTurn = 1;
  #credit = 1;
  /** When the last turn was, while turns are looked at. */
  #turnAt: number | undefined;
  /** The look that is due: one that was scheduled before it is void. */
  #look = 0;
  /** Ms that the look which is due waits for on purpose. */
  #calmMs = 0;
  /** Whether a timer is set that looks again at a database that is behind. */
  #looksAgain = false;
  /** The cost of what was begun since the last turn. */
  #begunCost = 0;
  /** Since the last measurement: ms of turns after which somebody waited, and the cost of what was begun in them. */
  #busyMs = 0;
  #busyCost = 0;
  /** Whether calls were refused since then that had been taken. */
  #hasRefusedLate = false;
  #measurements = 0;
  #peak = UNPROVEN_RATE;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#arrivals = new Arrivals(options.now);
  }

  /** Calls that wait for their turn. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** To be called for every new connection. */
  connectionOpened(): void {
    this.#arrivals.connectionOpened();
  }

  /** Whether a call of that cost may begin without waiting; then it counts as begun. */
  admits(cost: number): boolean {
    this.#lookAtTurns();
    if (this.#queue.size > 0 || this.#credit <= 0 || this.#options.delayMs() > BEHIND_MS) {
      return false;
    }
    this.#begins(cost);
    return true;
  }

  /** Begins the call when its turn comes; refuses it when that would take too long. */
  enqueue(call: PacedCall): void {
    const { account, weight, cost } = call;
    const behindMs = Math.max(0, this.#options.delayMs() - BEHIND_MS);
    const waitMs = this.#queue.costBefore(account, weight, cost) / this.#peak + behindMs;
    if (waitMs > EXPECTED_WAIT_MS_MAX || this.#queue.size >= WAITING_MAX) {
      call.refuse();
      return;
    }
    this.#queue.push(account, weight, cost, { ...call, since: this.#options.now() });
    this.#lookAtTurns();
  }

  #begins(cost: number): void {
    // what a large body costs shows in the turns to come
    this.#credit -= Math.min(cost, 1);
    this.#begunCost += cost;
  }

  #lookAtTurns(): void {
    if (this.#turnAt === undefined) {
      this.#turnAt = this.#options.now();
      this.#credit = Math.max(1, this.#perTurn);
      this.#scheduleLook();
    } else if (this.#calmMs > 0 && this.#queue.size > 0) {
      this.#scheduleLook();
    }
  }

  #scheduleLook(): void {
    this.#look += 1;
    const look = this.#look;
    const turn = () => {
      if (look === this.#look) {
        this.#turn();
      }
    };
    this.#calmMs = this.#queue.size === 0 ? CALM_LOOK_MS : 0;
    if (this.#calmMs > 0) {
      this.#options.later(turn, this.#calmMs);
    } else {
      this.#options.nextTurn(turn);
    }
  }

  #turn(): void {
    const now = this.#options.now();
    this.#adapt(Math.max(0, now - (this.#turnAt ?? now) - this.#calmMs));
    this.#turnAt = now;
    const isBehind = this.#options.delayMs() > BEHIND_MS;
    if (isBehind) {
      this.#refuseHopeless(now);
    } else if (!this.#arrivals.standBack()) {
      this.#beginSome(now);
    }
    if (this.#queue.size === 0 && this.#credit >= Math.max(1, this.#perTurn)) {
      this.#turnAt = undefined;
    } else if (isBehind) {
      this.#turnAt = undefined;
      this.#lookAgain();
    } else {
      this.#scheduleLook();
    }
  }

  /** One timer for all who wait: each of them has had a turn scheduled when it came. */
  #lookAgain(): void {
    if (!this.#looksAgain) {
      this.#looksAgain = true;
      this.#options.later(() => {
        this.#looksAgain = false;
        this.#lookAtTurns();
      }, LOOK_AGAIN_MS);
    }
  }

  #adapt(turnMs: number): void {
    const isLong = turnMs > LONG_TURN_MS || this.#options.backlog() > BACKLOG_MAX;
    this.#perTurn = isLong
      ? Math.max(PER_TURN_MIN, this.#perTurn * FALL)
      : Math.min(PER_TURN_MAX, this.#perTurn * GROWTH);
    this.#credit = Math.min(this.#credit + this.#perTurn, Math.max(1, this.#perTurn));
    if (this.#queue.size > 0) {
      this.#busyMs += turnMs;
      this.#busyCost += this.#begunCost;
      this.#measure();
    }
    this.#begunCost = 0;
  }

  #beginSome(now: number): void {
    while (this.#credit > 0) {
      const call = this.#queue.shift();
      if (!call) {
        return;
      }
      if (call.isGone()) {
        continue;
      }
      if (now - call.since > WAIT_MS_MAX) {
        this.#hasRefusedLate = true;
        call.refuse();
        continue;
      }
      this.#begins(call.cost);
      call.begin();
    }
  }

  /** A database that stays behind gives nobody a turn: those who were promised one must not wait for the end of the outage. */
  #refuseHopeless(now: number): void {
    const hopeless = this.#queue.takeWhile(({ since }) => now - since > WAIT_BEHIND_MS_MAX);
    for (const call of hopeless) {
      if (!call.isGone()) {
        call.refuse();
      }
    }
  }

  /** The first measurement is of a process that warms up: it is believed only if it shows more than was assumed. */
  #measure(): void {
    if (this.#busyMs < MEASURED_MS) {
      return;
    }
    const rate = this.#busyCost / this.#busyMs;
    this.#measurements += 1;
    const decay = this.#hasRefusedLate ? WRONG_PEAK_DECAY : PEAK_DECAY;
    const before = this.#measurements === 2 ? 0 : this.#peak * decay;
    this.#peak = this.#measurements === 1 ? Math.max(rate, this.#peak) : Math.max(rate, before);
    this.#busyMs = 0;
    this.#busyCost = 0;
    this.#hasRefusedLate = false;
  }
}

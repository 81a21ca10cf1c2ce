import { ConnectionArrivals } from '../../lib/event-loop-queue.ts';
import { FairQueue } from '../../lib/fair-queue.ts';

/** One call that is about to begin. */
export interface PacedCall {
  /** The account whose share of turns the call uses. */
  readonly account: string;
  /** Share of turns relative to an ordinary account, which has 1. */
  readonly weight: number;
  /** 1 for an ordinary paid call. */
  readonly cost: number;
  begin(): void;
  /** Rejects the call and asks its caller to retry later. */
  refuse(): void;
  /** Returns whether the client has left. */
  isGone(): boolean;
}

export interface PacerOptions {
  /** Monotonic time, in ms. */
  readonly now: () => number;
  /** How far behind the database is, in ms. */
  readonly delayMs: () => number;
  /** Number of pieces of blocking work that wait for a turn of the event loop. */
  readonly backlog: () => number;
  /** Runs a function in the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs a function after a delay in ms. */
  readonly later: (run: () => void, milliseconds: number) => void;
}

/** Maximum expected wait, in ms. Calls expected to wait longer are rejected at once. */
const EXPECTED_WAIT_MS_MAX = 2_000;
/** Maximum wait of an accepted call, in ms. Longer waits mean that the process has become slower; the call is rejected. */
const WAIT_MS_MAX = 5_000;
/**
 * The same while the database is behind and nothing begins. Equals the time for which the ledger tries to place a hold for a call that
 * has begun.
 */
const WAIT_BEHIND_MS_MAX = 3_000;
/** Maximum number of waiting calls. */
const WAITING_MAX = 5_000;
/** More waiting calls than this are a crowd. */
const CROWD_CALLS = 16;
/** A turn of the event loop longer than this, in ms, delays everybody. */
const LONG_TURN_MS = 6;
/** A longer backlog counts as a long turn: deferring work keeps turns short although the process falls behind. */
const BACKLOG_MAX = 16;
/** Bounds and factors of the cost begun per turn, which grows while turns are short and shrinks while they are long. */
const PER_TURN_MAX = 8;
const PER_TURN_MIN = 0.25;
const GROWTH = 1.2;
const FALL = 0.7;
/** When the database is further behind than this, in ms, it has too much to do: no call begins meanwhile. */
const BEHIND_MS = 300;
/** Interval between checks on a database that is behind, in ms. */
const LOOK_AGAIN_MS = 5;
/** Interval between checks of the turns while no call waits, in ms, so that an idle event loop sleeps. */
const CALM_LOOK_MS = 1;
/** Assumed throughput of a process, in cost per ms, until it has been measured. */
const UNPROVEN_RATE = 0.6;
/** Amount of work over which the throughput is measured, in ms. */
const MEASURED_MS = 1_000;
/** Factor by which the peak decays at each measurement. */
const PEAK_DECAY = 0.97;
/** The same when accepted calls were rejected after waiting: calls cost more now than when the peak was measured. */
const WRONG_PEAK_DECAY = 0.7;

/**
 * Begins calls as fast as this process can handle them, and no faster. While the turns of the event loop are short, calls begin at once.
 * Otherwise they wait and accounts take turns, so an account that sends more than its share waits behind itself. The process always has
 * as much work as it can do, so rejecting calls that would wait too long loses nothing. The expected wait follows from the peak
 * throughput, which decays fast once accepted calls wait in vain.
 */
export class CallPacer {
  readonly #options: PacerOptions;
  readonly #queue = new FairQueue<PacedCall & { readonly since: number }>();
  readonly #arrivals: ConnectionArrivals;
  #perTurn = 1;
  #credit = 1;
  /** Time of the last turn; undefined while turns are not watched. */
  #turnAt: number | undefined;
  /** Number of the pending check; checks scheduled earlier are void. */
  #look = 0;
  /** Intended delay of the pending check, in ms. */
  #calmMs = 0;
  /** Whether a timer is set to check again on a database that is behind. */
  #looksAgain = false;
  /** Cost of the calls begun since the last turn. */
  #begunCost = 0;
  /** Since the last measurement: duration of the turns after which calls were waiting, in ms, and the cost begun in them. */
  #busyMs = 0;
  #busyCost = 0;
  /** Whether accepted calls were rejected since the last measurement. */
  #hasRefusedLate = false;
  #measurements = 0;
  #peak = UNPROVEN_RATE;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#arrivals = new ConnectionArrivals(options.now);
  }

  /** Number of waiting calls. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether so many calls wait for their turn that the process should spare work at the price of a little latency. */
  get isCrowded(): boolean {
    return this.#queue.size > CROWD_CALLS;
  }

  /** Must be called for every new connection. */
  connectionOpened(): void {
    this.#arrivals.connectionOpened();
  }

  /** Returns whether a call of this cost may begin without waiting; if so, it counts as begun. */
  admits(cost: number): boolean {
    this.#lookAtTurns();
    if (this.#queue.size > 0 || this.#credit <= 0 || this.#options.delayMs() > BEHIND_MS) {
      return false;
    }
    this.#begins(cost);
    return true;
  }

  /** Begins the call when its turn comes; rejects it when that would take too long. */
  enqueue(call: PacedCall): void {
    const { account, weight, cost } = call;
    const behindMs = Math.max(0, this.#options.delayMs() - BEHIND_MS);
    const waitMs = this.#queue.costBefore(account, weight, cost) / this.#peak + behindMs;
    if (waitMs > EXPECTED_WAIT_MS_MAX || this.#queue.size >= WAITING_MAX) {
      call.refuse();
      return;
    }
    this.#queue.push(account, weight, cost, { since: this.#options.now(), ...call });
    this.#lookAtTurns();
  }

  #begins(cost: number): void {
    // the cost of a large body beyond 1 shows in the turns to come
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

  /** Schedules one check for all waiting calls. Each of them asked for one when it arrived, which must not become a timer per call. */
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

  /**
   * Rejects accepted calls that waited too long: while the database stays behind, no call gets a turn, and none must wait for the end of
   * the outage.
   */
  #refuseHopeless(now: number): void {
    const hopeless = this.#queue.takeWhile(({ since }) => now - since > WAIT_BEHIND_MS_MAX);
    for (const call of hopeless) {
      if (!call.isGone()) {
        call.refuse();
      }
    }
  }

  /** Updates the peak throughput. The first measurement is of a process that warms up and counts only if it exceeds the assumption. */
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

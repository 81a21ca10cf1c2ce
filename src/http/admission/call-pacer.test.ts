import { CallPacer, type PacedCall } from './call-pacer.ts';

interface Offer {
  readonly account: string;
  readonly weight?: number;
  /** Time of arrival, in ms. */
  readonly at: number;
}

interface Outcome {
  readonly account: string;
  readonly at: number;
  readonly doneAt: number | undefined;
  readonly refusedAt?: number;
}

const STEPS = 6;

interface Process {
  /** How far behind the database is at a given time, in ms. */
  readonly behind?: (now: number) => number;
  /** Work per turn, in ms. The rest is deferred, first come, first served. */
  readonly workMsPerTurn?: number;
}

/** Simulates a process whose calls each take this many ms of its time, over several turns of the event loop. */
function simulate(
  offers: readonly Offer[],
  msPerCall: number | ((offer: Offer) => number),
  process: Process = {},
) {
  const msOf = typeof msPerCall === 'number' ? () => msPerCall : msPerCall;
  const { behind = () => 0, workMsPerTurn = Number.POSITIVE_INFINITY } = process;
  let runningMax = 0;
  let timersMax = 0;
  let now = 0;
  let next: (() => void)[] = [];
  const later: { at: number; run: () => void }[] = [];
  const pacer = new CallPacer({
    now: () => now,
    delayMs: () => behind(now),
    backlog: () => (Number.isFinite(workMsPerTurn) ? running.length : 0),
    nextTurn: (run) => next.push(run),
    later: (run, milliseconds) => later.push({ at: now + milliseconds, run }),
  });
  const outcomes: Outcome[] = [];
  let running: { offer: Offer; steps: number }[] = [];
  const coming = [...offers].sort((left, right) => left.at - right.at);
  const arrive = (offer: Offer): void => {
    const begin = () => running.push({ offer, steps: STEPS });
    if (pacer.admits(1)) {
      begin();
      return;
    }
    const call: PacedCall = {
      account: offer.account,
      weight: offer.weight ?? 1,
      cost: 1,
      begin,
      refuse: () =>
        outcomes.push({ account: offer.account, at: offer.at, doneAt: undefined, refusedAt: now }),
      isGone: () => false,
    };
    pacer.enqueue(call);
  };
  let arrived = 0;
  for (let turn = 0; coming.length - arrived + running.length + next.length + later.length > 0; turn += 1) {
    if (turn > 2_000_000) {
      throw new Error('the simulation does not end');
    }
    const runs = next;
    next = [];
    for (const run of runs) {
      run();
    }
    for (let offer = coming[arrived]; offer && offer.at <= now; offer = coming[arrived]) {
      arrived += 1;
      arrive(offer);
    }
    for (const due of later.splice(0).filter(({ at, run }) => at <= now || !later.push({ at, run }))) {
      due.run();
    }
    let workMs = 0.05;
    runningMax = Math.max(runningMax, running.length);
    timersMax = Math.max(timersMax, later.length);
    for (const call of running) {
      if (workMs >= workMsPerTurn) {
        break;
      }
      workMs += msOf(call.offer) / STEPS;
      call.steps -= 1;
    }
    // when nothing runs, skip to the next event
    const nextAt = Math.min(coming[arrived]?.at ?? Number.POSITIVE_INFINITY, ...later.map(({ at }) => at));
    const isIdle = running.length + next.length === 0 && Number.isFinite(nextAt);
    now = isIdle ? Math.max(now + workMs, nextAt) : now + workMs;
    for (const { offer } of running.filter(({ steps }) => steps === 0)) {
      outcomes.push({ account: offer.account, at: offer.at, doneAt: now });
    }
    running = running.filter(({ steps }) => steps > 0);
  }
  return { outcomes, pacer, runningMax, timersMax };
}

function every(ms: number, seconds: number, account: string, weight = 1, from = 0): Offer[] {
  const count = Math.round((seconds * 1_000) / ms);
  return Array.from({ length: count }, (_, index) => ({ account, weight, at: from + index * ms }));
}

const at = (ms: number, count: number, account: string): Offer[] =>
  Array.from({ length: count }, () => ({ account, at: ms }));

const servedOf = (outcomes: readonly Outcome[], account?: string) =>
  outcomes.filter((one) => one.doneAt !== undefined && (account === undefined || one.account === account));

test('a fresh process serves a burst of 1,000, first come, first served', () => {
  const { outcomes, pacer } = simulate(at(0, 1_000, 'a'), 3);
  expect(servedOf(outcomes)).toHaveLength(1_000);
  expect(Math.max(...outcomes.map(({ doneAt }) => doneAt ?? 0))).toBeLessThan(3_500);
  expect(pacer.waiting).toBe(0);
});

test('the excess of a burst is rejected at once; a second after the burst, all calls are served again', () => {
  const { outcomes } = simulate([...at(0, 2_000, 'a'), ...at(7_000, 300, 'a')], 3);
  const second = outcomes.filter((one) => one.at === 7_000);
  expect(servedOf(outcomes).length).toBeGreaterThan(1_300);
  expect(servedOf(second)).toHaveLength(300);
});

test('at three times its capacity, a process serves nearly as much as it can, shared equally', () => {
  const seconds = 15;
  const { outcomes } = simulate([...every(2, seconds, 'a'), ...every(2, seconds, 'b')], 3);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 5_000 && doneAt! <= seconds * 1_000);
  const capacity = ((seconds - 5) * 1_000) / 3;
  expect(settled.length).toBeGreaterThan(0.95 * capacity);
  const [a, b] = ['a', 'b'].map((account) => servedOf(settled, account).length) as [number, number];
  expect(Math.abs(a - b)).toBeLessThan(0.1 * Math.max(a, b));
});

test('deferred work that keeps turns short still shows that the process is full', () => {
  const { outcomes, runningMax } = simulate(every(1, 10, 'a'), 3, { workMsPerTurn: 2 });
  expect(runningMax).toBeLessThan(64);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 5_000 && doneAt! <= 10_000);
  expect(settled.length).toBeGreaterThan((0.95 * 5_000) / 3);
});

test('a quiet account hardly waits beside one at five times the capacity and beside strangers', () => {
  const seconds = 10;
  const { outcomes } = simulate(
    [...every(100, seconds, 'quiet'), ...every(0.6, seconds, 'loud'), ...every(1, seconds, 'strangers', 0.1)],
    3,
  );
  const quiet = servedOf(outcomes, 'quiet');
  expect(quiet).toHaveLength(seconds * 10);
  const waits = quiet.map((one) => one.doneAt! - one.at).sort((left, right) => left - right);
  expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(150);
  const share = servedOf(outcomes, 'strangers').length / servedOf(outcomes, 'loud').length;
  expect(share).toBeLessThan(0.15);
});

test('a crowd is more than sixteen waiting calls', () => {
  const { pacer } = simulate([], 1);
  const isCrowded = Array.from({ length: 18 }, () => {
    const call = { account: 'a', weight: 1, cost: 1, begin: () => {}, refuse: () => {}, isGone: () => false };
    pacer.enqueue(call);
    return pacer.isCrowded;
  });
  expect(isCrowded.indexOf(true)).toBe(16);
  expect(isCrowded.at(-1)).toBe(true);
});

test('below capacity, no call is rejected and no call waits', () => {
  const { outcomes } = simulate(every(5, 5, 'a'), 3);
  expect(servedOf(outcomes)).toHaveLength(1_000);
  expect(Math.max(...outcomes.map((one) => one.doneAt! - one.at))).toBeLessThan(60);
});

test('capacity is also learned when calls wait only now and then', () => {
  const gusts = Array.from({ length: 200 }, (_, index) => at(index * 50, 40, 'steady')).flat();
  const { outcomes } = simulate([...gusts, ...at(10_000, 300, 'other')], 1);
  expect(servedOf(outcomes)).toHaveLength(200 * 40 + 300);
});

test('while the database is behind nothing begins; calls that arrive when it is two seconds behind are rejected', () => {
  const since = (now: number) => (now > 1_000 && now < 3_800 ? now - 1_000 : 0);
  const { outcomes } = simulate(every(20, 8, 'a'), 1, { behind: since });
  const refused = outcomes.filter(({ doneAt }) => doneAt === undefined);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every((one) => one.at > 2_500 && one.at < 3_900)).toBe(true);
});

test('when the database stays away, no call waits for its return, neither earlier ones nor new ones', () => {
  const since = (now: number) => (now > 1_000 && now < 11_000 ? now - 1_000 : 0);
  const { outcomes, timersMax } = simulate(every(20, 15, 'a'), 1, { behind: since });
  const refused = outcomes.filter(({ doneAt }) => doneAt === undefined);
  const waits = refused.map((one) => one.refusedAt! - one.at);
  expect(refused.length).toBeGreaterThan(450);
  expect(Math.max(...waits)).toBeLessThan(3_100);
  expect(servedOf(outcomes).filter(({ at }) => at > 11_100)).toHaveLength(194);
  // one timer for all waiting calls, however many there are
  expect(timersMax).toBeLessThanOrEqual(2);
});

test('when calls become ten times as expensive, those that would wait too long are soon rejected at once again', () => {
  const offers = [...every(0.5, 10, 'a'), ...every(2, 30, 'a', 1, 10_000)];
  const { outcomes } = simulate(offers, ({ at }) => (at < 10_000 ? 1 : 10));
  const later = outcomes.filter((one) => one.at > 25_000);
  const refused = later.filter(({ doneAt }) => doneAt === undefined);
  expect(Math.max(...refused.map((one) => one.refusedAt! - one.at))).toBeLessThan(100);
  expect(Math.max(...servedOf(later).map((one) => one.doneAt! - one.at))).toBeLessThan(3_000);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 25_000 && doneAt! <= 40_000);
  expect(settled.length).toBeGreaterThan((0.95 * 15_000) / 10);
});

test('a process that stalled for three seconds soon takes calls as before', () => {
  let hasStalled = false;
  const { outcomes } = simulate(every(2, 30, 'a'), ({ at }) => {
    const stalls = at > 10_000 && !hasStalled;
    hasStalled ||= stalls;
    return stalls ? 3_000 * STEPS : 3;
  });
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 16_000 && doneAt! <= 30_000);
  expect(settled.length).toBeGreaterThan((0.95 * 14_000) / 3);
});

import { CallPacer, type PacedCall } from './call-pacer.ts';

interface Offer {
  readonly account: string;
  readonly weight?: number;
  /** When it comes, in ms. */
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
  /** How far the database is behind at a time, in ms. */
  readonly behind?: (now: number) => number;
  /** Work in one turn, in ms: what is left of it is put off, first come, first served. */
  readonly workMsPerTurn?: number;
}

/** A process whose calls each take so many ms of its time, in several turns of the event loop. */
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
    // where nothing runs, to what comes next
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

test('a burst of 1,000 on a fresh process is served, first come, first served', () => {
  const { outcomes, pacer } = simulate(at(0, 1_000, 'a'), 3);
  expect(servedOf(outcomes)).toHaveLength(1_000);
  expect(Math.max(...outcomes.map(({ doneAt }) => doneAt ?? 0))).toBeLessThan(3_500);
  expect(pacer.waiting).toBe(0);
});

test('of a burst that is too large the rest is told at once; a second after it all are served again', () => {
  const { outcomes } = simulate([...at(0, 2_000, 'a'), ...at(7_000, 300, 'a')], 3);
  const second = outcomes.filter((one) => one.at === 7_000);
  expect(servedOf(outcomes).length).toBeGreaterThan(1_300);
  expect(servedOf(second)).toHaveLength(300);
});

test('three times what it can do: nearly all of what it can is served, shared equally', () => {
  const seconds = 15;
  const { outcomes } = simulate([...every(2, seconds, 'a'), ...every(2, seconds, 'b')], 3);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 5_000 && doneAt! <= seconds * 1_000);
  const capacity = ((seconds - 5) * 1_000) / 3;
  expect(settled.length).toBeGreaterThan(0.95 * capacity);
  const [a, b] = ['a', 'b'].map((account) => servedOf(settled, account).length) as [number, number];
  expect(Math.abs(a - b)).toBeLessThan(0.1 * Math.max(a, b));
});

test('work that is put off, so that turns stay short, still tells that the process is full', () => {
  const { outcomes, runningMax } = simulate(every(1, 10, 'a'), 3, { workMsPerTurn: 2 });
  expect(runningMax).toBeLessThan(64);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 5_000 && doneAt! <= 10_000);
  expect(settled.length).toBeGreaterThan((0.95 * 5_000) / 3);
});

test('beside an account at five times what it can do, and beside strangers, a quiet one hardly waits', () => {
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

test('below what it can do nobody is refused and nobody waits', () => {
  const { outcomes } = simulate(every(5, 5, 'a'), 3);
  expect(servedOf(outcomes)).toHaveLength(1_000);
  expect(Math.max(...outcomes.map((one) => one.doneAt! - one.at))).toBeLessThan(60);
});

test('what it can do is learnt as well when somebody waits now and then only', () => {
  const gusts = Array.from({ length: 200 }, (_, index) => at(index * 50, 40, 'steady')).flat();
  const { outcomes } = simulate([...gusts, ...at(10_000, 300, 'other')], 1);
  expect(servedOf(outcomes)).toHaveLength(200 * 40 + 300);
});

test('while the database is behind nothing begins; who comes when it is two seconds behind is told so', () => {
  const since = (now: number) => (now > 1_000 && now < 3_800 ? now - 1_000 : 0);
  const { outcomes } = simulate(every(20, 8, 'a'), 1, { behind: since });
  const refused = outcomes.filter(({ doneAt }) => doneAt === undefined);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every((one) => one.at > 2_500 && one.at < 3_900)).toBe(true);
});

test('a database that stays away: nobody waits for the end of it, neither who came before nor who comes', () => {
  const since = (now: number) => (now > 1_000 && now < 11_000 ? now - 1_000 : 0);
  const { outcomes, timersMax } = simulate(every(20, 15, 'a'), 1, { behind: since });
  const refused = outcomes.filter(({ doneAt }) => doneAt === undefined);
  const waits = refused.map((one) => one.refusedAt! - one.at);
  expect(refused.length).toBeGreaterThan(450);
  expect(Math.max(...waits)).toBeLessThan(3_100);
  expect(servedOf(outcomes).filter(({ at }) => at > 11_100)).toHaveLength(194);
  // however many wait, one timer looks again for all of them
  expect(timersMax).toBeLessThanOrEqual(2);
});

test('calls that become ten times as dear: soon those who would wait too long are told at once again', () => {
  const offers = [...every(0.5, 10, 'a'), ...every(2, 30, 'a', 1, 10_000)];
  const { outcomes } = simulate(offers, ({ at }) => (at < 10_000 ? 1 : 10));
  const later = outcomes.filter((one) => one.at > 25_000);
  const refused = later.filter(({ doneAt }) => doneAt === undefined);
  expect(Math.max(...refused.map((one) => one.refusedAt! - one.at))).toBeLessThan(100);
  expect(Math.max(...servedOf(later).map((one) => one.doneAt! - one.at))).toBeLessThan(3_000);
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 25_000 && doneAt! <= 40_000);
  expect(settled.length).toBeGreaterThan((0.95 * 15_000) / 10);
});

test('a process that stood still for three seconds takes calls as before soon after', () => {
  let hasStalled = false;
  const { outcomes } = simulate(every(2, 30, 'a'), ({ at }) => {
    const stalls = at > 10_000 && !hasStalled;
    hasStalled ||= stalls;
    return stalls ? 3_000 * STEPS : 3;
  });
  const settled = servedOf(outcomes).filter(({ doneAt }) => doneAt! > 16_000 && doneAt! <= 30_000);
  expect(settled.length).toBeGreaterThan((0.95 * 14_000) / 3);
});

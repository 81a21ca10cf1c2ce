import fc from 'fast-check';
import { type Engine, EngineError } from '../../src/engines/engine.types.ts';
import { RunFailureError } from '../../src/tasks/engine-run.ts';
import { attempt, engineRequest } from '../factories/engine-attempt.ts';
import type { EngineReply } from '../factories/engine-server.ts';
import { hostileValue, withMember } from '../factories/hostile-json.ts';
import { createEngine, SUBJECTS } from './subjects.ts';

/**
 * Changes the answers of engines' servers at random places. Whatever a server answers, a run ends with files or with a failure of the
 * engine, and all that it reports can be shown and stored.
 */

/** `HOSTILE_RUNS=2000 npm test -- test/engines/hostile-answers.test.ts` makes that many for each engine. */
const RUNS = Number(process.env.HOSTILE_RUNS ?? 15);
/** A run that a changed answer leaves without an end is given up by its task. */
const RUN_MS = 1_000;
const STORED_MAX = 2n ** 63n;

const answer = fc.record({
  change: fc.constantFrom('none', 'member', 'member', 'member', 'status', 'text'),
  place: fc.nat(),
  value: hostileValue,
  status: fc.constantFrom(200, 204, 301, 404, 500),
});
type Change = typeof answer extends fc.Arbitrary<infer T> ? T : never;

function changed(reply: EngineReply, { change, place, value, status }: Change): EngineReply {
  switch (change) {
    case 'member':
      return reply.bytes || reply.json === undefined
        ? reply
        : { ...reply, json: JSON.parse(withMember(JSON.stringify(reply.json), place, value)) };
    case 'status':
      return { ...reply, status };
    case 'text':
      return { ...reply, bytes: Buffer.from(JSON.stringify(value) ?? '') };
    default:
      return reply;
  }
}

function isFraction(value: number | undefined): boolean {
  return value === undefined || (value >= 0 && value <= 1);
}

/** Whether the database can hold a count or an amount. */
function isCount(value: bigint | number | undefined): boolean {
  return (
    value === undefined ||
    (value >= 0 && value < STORED_MAX && (typeof value === 'bigint' || Number.isSafeInteger(value)))
  );
}

describe.each(SUBJECTS)('$name', (subject) => {
  const { server } = subject;
  let engine: Engine;

  beforeAll(async () => {
    await server.start();
    engine = createEngine(subject);
  });

  afterAll(async () => {
    await engine?.close();
    await server.close();
  });

  async function run(changes: readonly Change[]): Promise<void> {
    server.reset();
    const waiting = [...changes];
    server.change = (reply) => {
      const change = waiting.shift();
      return change ? changed(reply, change) : reply;
    };
    const signal = AbortSignal.timeout(RUN_MS);
    try {
      const { outputs, progress, status } = await attempt(engine, engineRequest(subject.request), { signal });
      expect(outputs.length).toBeGreaterThan(0);
      expect([...progress, status.progress].filter((fraction) => !isFraction(fraction))).toEqual([]);
      expect([status.costNanoUsd, status.queuePosition].filter((count) => !isCount(count))).toEqual([]);
    } catch (error) {
      const isTold = error instanceof EngineError || error instanceof RunFailureError;
      if (!isTold && error !== signal.reason) {
        throw error;
      }
    }
  }

  test(
    `ends ${RUNS} runs, whatever its server answers`,
    async () => {
      const answers = fc.array(answer, { minLength: 1, maxLength: 6 });
      await fc.assert(fc.asyncProperty(answers, run), { numRuns: RUNS });
    },
    60_000 + RUNS * RUN_MS,
  );
});

import { jest } from '@jest/globals';
import type * as ForwardedStream from '../../src/invocation/forward-stream.ts';
import type * as InputContent from '../../src/invocation/input-content.ts';
import type * as InputEstimate from '../../src/invocation/input-estimate.ts';
import type * as UpstreamSignal from '../../src/invocation/upstream-signal.ts';
import type * as UsageJudgement from '../../src/invocation/usage-judgment.ts';
import { NO_USAGE } from '../../src/lib/usage.ts';
import { without } from '../../src/providers/json.ts';

/** Metering bugs that gateways like this one have had. The trial of honest metering must catch each. */

const CASES = 1_500;
const SEED = 20_261_122;

interface MeteringMutant {
  readonly name: string;
  /** Replaces our functions by broken ones in modules that are loaded afterwards. */
  readonly plant: () => Promise<void>;
}

async function replace<Module extends object>(
  path: string,
  broken: (actual: Module) => Partial<Module>,
): Promise<void> {
  const actual = (await import(path)) as Module;
  jest.unstable_mockModule(path, () => ({ ...actual, ...broken(actual) }));
}

const MUTANTS: readonly MeteringMutant[] = [
  {
    name: 'the bound skips a member: tool definitions count as nothing',
    plant: () =>
      replace<typeof InputContent>('../../src/invocation/input-content.ts', ({ inputContent }) => ({
        inputContent: (body) => inputContent(without(body, 'tools')),
      })),
  },
  {
    name: 'the bound knows one vocabulary: digits and line ends count as in ours',
    plant: () =>
      replace<typeof InputEstimate>('../../src/invocation/input-estimate.ts', ({ countInput }) => ({
        countInput: async (...parameters) => {
          const counted = await countInput(...parameters);
          const framingTokens = counted.framingTokens - counted.unmergedTokens;
          return { ...counted, framingTokens, unmergedTokens: 0 };
        },
      })),
  },
  {
    name: 'an abort pays only for the visible text',
    plant: async () => {
      await replace<typeof UpstreamSignal>(
        '../../src/invocation/upstream-signal.ts',
        ({ upstreamSignal }) => ({
          upstreamSignal: (parts) => upstreamSignal({ ...parts, onDisconnect: 'abort' }),
        }),
      );
      await replace<typeof ForwardedStream>(
        '../../src/invocation/forward-stream.ts',
        ({ forwardStream }) => ({
          forwardStream: (relay) => forwardStream({ ...relay, onDisconnect: 'abort' }),
        }),
      );
    },
  },
  {
    name: 'empty means free: an answer without text is not charged',
    plant: () =>
      replace<typeof UsageJudgement>('../../src/invocation/usage-judgment.ts', ({ judgeUsage }) => ({
        judgeUsage: (evidence) =>
          evidence.outputLength === 0
            ? { usage: NO_USAGE, source: 'none', absurd: false }
            : judgeUsage(evidence),
      })),
  },
];

afterEach(() => {
  jest.resetModules();
});

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('catches: %s', async (_, { plant }) => {
  await plant();
  jest.resetModules();
  const { tryMetering } = await import('../invocation/metering-trial.ts');
  await expect(tryMetering({ cases: CASES, seed: SEED })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('served for less than its worth') },
  });
});

import fc from 'fast-check';
import { newRequestUuid, newUuid, ownedByRequest, publicId } from '../lib/ids.ts';
import { nanoUsd } from '../lib/money.ts';
import type { HoldRequest, ProviderAttempt, Settlement } from './ledger.types.ts';
import { attemptsOfCall, requestIdOfCall, storedAttempts, storedRequestId } from './stored-call.ts';

const attempt: fc.Arbitrary<ProviderAttempt> = fc
  .record(
    {
      provider: fc.constantFrom('acme', 'globex'),
      model: fc.string(),
      outcome: fc.constantFrom('ok', 'timeout'),
      latencyMs: fc.nat(),
      said: fc.string(),
      cost: fc.bigInt({ min: 0n, max: 10n }).map(String),
    },
    { requiredKeys: ['provider', 'model', 'outcome', 'latencyMs'] },
  )
  .map((made) => ({ ...made }));

const settlement = fc.record({
  attempts: fc.array(attempt, { maxLength: 2 }),
  provider: fc.constantFrom('acme', 'globex', null),
  providerCost: fc.option(fc.bigInt({ min: 0n, max: 10n }).map((amount) => nanoUsd(amount))),
  task: fc.constantFrom(undefined, {}),
}) as unknown as fc.Arbitrary<Settlement>;

test('attempts are read back as they were made', () => {
  fc.assert(
    fc.property(settlement, (made) => {
      const stored = storedAttempts(made);
      const row = { provider: made.provider, provider_cost: made.providerCost?.toString() ?? null };
      expect(attemptsOfCall({ ...row, attempts: JSON.parse(JSON.stringify(stored)) })).toEqual(made.attempts);
    }),
    { numRuns: 2_000 },
  );
});

test('a call answered at once stores only ms and model; a task, whose earlier runs are put in front, stores everything', () => {
  const only = { provider: 'acme', model: 'small', outcome: 'ok', latencyMs: 12, cost: '7' };
  const made = { attempts: [only], provider: 'acme', providerCost: nanoUsd(7n) } as unknown as Settlement;
  expect(storedAttempts(made)).toEqual([12, 'small']);
  expect(storedAttempts({ ...made, task: {} } as unknown as Settlement)).toEqual([only]);
});

test("a request id is stored where it does not follow from the generation's", () => {
  const account = newUuid();
  const request = newRequestUuid(1_700_000_000_000);
  const id = ownedByRequest(request, account);
  const requestId = publicId('request', request);
  expect(storedRequestId({ id, requestId } as HoldRequest)).toBeNull();
  expect(requestIdOfCall(id, null)).toBe(requestId);
  const other = { id: newUuid(), requestId } as HoldRequest;
  expect(requestIdOfCall(other.id, storedRequestId(other))).toBe(requestId);
  expect(storedRequestId({ id, requestId: 'mine' } as HoldRequest)).toBe('mine');
});

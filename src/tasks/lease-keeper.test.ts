import { createLogger } from '../lib/logger.ts';
import { LeaseKeeper } from './lease-keeper.ts';

const log = createLogger({ name: 'test', level: 'silent' });

interface Renewal {
  readonly progress: number;
  readonly queuePosition?: number | null;
}

/** Collects the first heartbeat. */
class RenewalStore {
  readonly first: Promise<readonly Renewal[]>;
  #told: (leases: readonly Renewal[]) => void = () => undefined;

  constructor() {
    this.first = new Promise((resolve) => {
      this.#told = resolve;
    });
  }

  async renew(leases: readonly Renewal[]): Promise<[]> {
    this.#told(leases.map(({ progress, queuePosition = null }) => ({ progress, queuePosition })));
    return [];
  }

  async findLease(): Promise<{ cancelRequested: boolean }> {
    return { cancelRequested: false };
  }
}

test('a heartbeat carries only values that the database accepts, whatever an engine reports', async () => {
  const store = new RenewalStore();
  const keeper = new LeaseKeeper(store, { leaseMs: 1_000, heartbeatMs: 10 }, log);
  const { signal } = new AbortController();
  const leases = ['a', 'b'].map((id) => keeper.hold({ id, attempt: 1, deadlineMs: 60_000 }, signal));
  const [first, second] = leases;
  for (const progress of [0.25, Number.NaN, 0.1]) {
    first?.report(progress);
  }
  first?.waitsAt(1e300);
  second?.report(7);
  second?.waitsAt(0.5);
  expect(await store.first).toEqual([
    { progress: 0.25, queuePosition: 1_000_000 },
    { progress: 1, queuePosition: 1 },
  ]);
  for (const lease of leases) {
    lease.release();
  }
  await keeper.close();
});

import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import type { TaskDraft } from '../../src/ledger/ledger.types.ts';
import { eventually } from '../factories/eventually.ts';
import { fundedAccount, holdRequest, silentLog, silentObserver, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db?.close());

/** Decides at once but withholds the answer until `mayAnswer` resolves. */
class SlowToAnswer extends LedgerStore {
  readonly #mayAnswer: Promise<void>;

  constructor(mayAnswer: Promise<void>) {
    super(db.database.money);
    this.#mayAnswer = mayAnswer;
  }

  override async reserve(...batch: Parameters<LedgerStore['reserve']>): ReturnType<LedgerStore['reserve']> {
    const decided = await super.reserve(...batch);
    await this.#mayAnswer;
    return decided;
  }
}

const task: TaskDraft = {
  kind: 'image',
  pool: 'local',
  parameters: {},
  seed: 1n,
  webhookUrl: null,
  deadlineMs: 600_000,
};

test.each([
  { what: 'a call', draft: undefined, end: { status: 'failed', state: null } },
  { what: 'a task', draft: task, end: { status: 'cancelled', state: 'canceled' } },
])('closes $what that is held after its caller was rejected, at no cost', async ({ draft, end }) => {
  const account = await fundedAccount(db.database, '5');
  let answer = (): void => undefined;
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const ledger = new PostgresLedger(new SlowToAnswer(mayAnswer), silentLog, silentObserver);
  const request = holdRequest(account, usd('2'), draft && { task: draft });
  await expect(ledger.reserve(request)).rejects.toMatchObject({ code: 'service_unavailable' });

  answer();
  const generation = await eventually(async () => {
    const { rows } = await db.database.money.query(
      'SELECT g.status, g.charge, t.state FROM generations g LEFT JOIN tasks t USING (id) WHERE g.id = $1',
      [request.id],
    );
    return rows[0];
  });
  expect(generation).toEqual({ charge: '0', ...end });
  await ledger.close();
});

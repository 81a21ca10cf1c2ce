import { Registry } from 'prom-client';
import { HiddenOverheadStore } from '../../src/invocation/hidden-overhead.store.ts';
import { HiddenOverhead } from '../../src/invocation/hidden-overhead.ts';
import { registerMarginGauges } from '../../src/telemetry/margin-gauges.ts';
import { silentLog } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { Gateway, model } from './gateway.ts';
import { HonestProvider } from './honest-provider.ts';

/** What templates add to inputs is learned from the provider's reports, kept, and included in holds. */

const PROSE = 'The treaty was signed in the autumn, after years of patient work. ';
const LONG = PROSE.repeat(150);
/** Approximate tokens the gateway and the provider count for `LONG`. */
const LONG_TOKENS = 2_100;

/** An input of two thousand tokens by our count. */
const TWO_THOUSAND = {
  textTokens: 2_000,
  tokens: 2_000,
  thoughtTokens: 0,
  spelledTokens: 2_000,
  spelledUnits: 9_000,
  framingTokens: 0,
  unmergedTokens: 0,
  items: { image: 0, file: 0, audio: 0, video: 0 },
  imagePixels: [],
  files: [],
};

let db: TestDatabase;
let provider: HonestProvider;
let gateway: Gateway;
let overhead: HiddenOverhead;

beforeAll(async () => {
  db = await createTestDatabase();
});

beforeEach(async () => {
  await db.database.money.query('DELETE FROM input_margins');
  provider = await new HonestProvider().start();
  overhead = process();
  gateway = await gatewayWith(overhead);
});

afterEach(async () => {
  await gateway?.close();
  await overhead?.close();
  await provider?.close();
});

afterAll(async () => {
  await db?.close();
});

/** The knowledge of a separate process. */
function process(): HiddenOverhead {
  return new HiddenOverhead(new HiddenOverheadStore(db.database.money), silentLog);
}

function gatewayWith(known: HiddenOverhead): Promise<Gateway> {
  return Gateway.start({
    providers: [{ id: 'honest', protocol: 'openai', base_url: provider.url }],
    models: [model('m', [{ provider: 'honest', model: '100000' }])],
    overhead: known,
  });
}

/** Makes a call. Returns its cost beyond its hold and roughly the tokens held for the input. */
async function call(content: string, through = gateway): Promise<{ beyond: bigint; heldTokens: number }> {
  const response = await fetch(`${through.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 2, messages: [{ role: 'user', content }] }),
  });
  expect(response.status).toBe(200);
  const held = through.ledger.requests.at(-1)!.amount;
  const { due } = through.ledger.last;
  return { beyond: due > held ? due - held : 0n, heldTokens: Number(held) / 1_000 };
}

test('holds in full after a few calls for a model whose template adds 40 %', async () => {
  provider.template = (tokens) => Math.ceil(tokens * 1.4) + 150;
  const first = [await call(LONG), await call('hi')];
  expect(first.every(({ beyond }) => beyond > 0n)).toBe(true);
  for (let round = 0; round < 3; round += 1) {
    await call(LONG);
    await call('hi');
  }
  for (const content of [LONG, 'hi', PROSE, LONG.repeat(3), PROSE.repeat(40)]) {
    expect(await call(content)).toMatchObject({ beyond: 0n });
  }
  const { heldTokens } = await call(LONG);
  expect(heldTokens).toBeLessThan(LONG_TOKENS * 1.4 * 1.3);
});

test('changes a hold by one step on an absurd report, and by a bounded factor on persistent lies', async () => {
  const honest = (await call(LONG)).heldTokens;
  provider.template = (tokens) => tokens * 20;
  await call(LONG);
  const afterOne = (await call(LONG)).heldTokens;
  expect(afterOne).toBeLessThan(honest * 1.1);
  for (let lie = 0; lie < 30; lie += 1) {
    await call(LONG);
  }
  expect((await call(LONG)).heldTokens).toBeLessThan(honest * 2.1);
});

test('learns nothing from a text of long tokens, made to raise the holds of others', async () => {
  const honest = (await call(LONG)).heldTokens;
  provider.template = (tokens) => tokens * 17;
  for (let attack = 0; attack < 5; attack += 1) {
    await call('ABCDEFGHIJKLMNOPQRSTUVWXYZ'.repeat(1_100));
  }
  expect((await call(LONG)).heldTokens).toBeLessThanOrEqual(honest);
});

test('keeps what one process learned after its end and shares it with the others', async () => {
  const other = process();
  provider.template = (tokens) => Math.ceil(tokens * 1.4) + 150;
  for (let round = 0; round < 4; round += 1) {
    await call(LONG);
    await call('hi');
  }
  const [learnt] = overhead.learnt();
  await overhead.close();
  await other.exchange();
  expect(other.learnt()).toEqual([learnt]);
  const restarted = await gatewayWith(other);
  try {
    expect(await call(LONG, restarted)).toMatchObject({ beyond: 0n });
    expect(await call('hi', restarted)).toMatchObject({ beyond: 0n });
  } finally {
    await restarted.close();
  }
});

test('gives two processes that learn at once the larger margin, and lets them unlearn together', async () => {
  const other = process();
  const route = { provider: 'honest', model: 'twice' };
  overhead.observe(route, 'chat', TWO_THOUSAND, 2_600);
  other.observe(route, 'chat', TWO_THOUSAND, 2_700);
  await Promise.all([overhead.exchange(), other.exchange()]);
  await Promise.all([overhead.exchange(), other.exchange()]);
  expect(overhead.marginOf(route, 'chat')).toEqual({ ratio: 1.35, tokens: 0 });
  expect(other.marginOf(route, 'chat')).toEqual({ ratio: 1.35, tokens: 0 });
  other.observe(route, 'chat', TWO_THOUSAND, 2_000);
  await other.exchange();
  await overhead.exchange();
  expect(overhead.marginOf(route, 'chat').ratio).toBeLessThan(1.35);
  expect(overhead.marginOf(route, 'chat')).toEqual(other.marginOf(route, 'chat'));
});

test('writes what was learned while the store was away once it is back', async () => {
  let away = true;
  const store = new HiddenOverheadStore(db.database.money);
  const patient = new HiddenOverhead(
    {
      exchange: async (changes) => {
        if (away) {
          throw new Error('away');
        }
        return await store.exchange(changes);
      },
    },
    silentLog,
  );
  patient.observe({ provider: 'honest', model: 'away' }, 'chat', TWO_THOUSAND, 2_600);
  await patient.exchange();
  away = false;
  await patient.close();
  const { rows } = await db.database.money.query(
    `SELECT ratio, reports FROM input_margins WHERE model = 'away'`,
  );
  expect(rows).toEqual([{ ratio: 1.3, reports: '1' }]);
});

test('shows operators what was learned', async () => {
  provider.template = (tokens) => tokens + 100;
  await call('hi');
  const registry = new Registry();
  registerMarginGauges(registry, overhead);
  const text = await registry.metrics();
  expect(text).toContain('tollgate_input_margin_ratio{provider="honest",model="100000"} 1.25');
  expect(text).toMatch(/tollgate_input_margin_tokens\{provider="honest",model="100000"\} [1-9]/);
});

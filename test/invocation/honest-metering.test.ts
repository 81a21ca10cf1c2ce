import { tryMetering } from './metering-trial.ts';

/**
 * Whatever a tenant sends, and whenever it hangs up: the call is refused before the provider was asked, or pays at least 95 % of
 * what the provider's own count is worth at our prices, or the caller's X-Max-Cost with the rest written off.
 */

const CASES = Number(process.env.METERING_CASES ?? 2_000);

test(`${CASES} calls of every shape in both dialects: refused, or paid by the provider's own count`, async () => {
  const seed = Number(process.env.METERING_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const sums = await tryMetering({ cases: CASES, seed });
  process.stdout.write(`metering, seed ${seed}: ${JSON.stringify(sums)}\n`);
  expect(sums.servedChat).toBeGreaterThan(CASES / 40);
  expect(sums.servedMessages).toBeGreaterThan(CASES / 40);
  expect(sums.refused).toBeGreaterThan(CASES / 10);
}, 3_600_000);

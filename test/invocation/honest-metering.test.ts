import { tryMetering } from './metering-trial.ts';

/**
 * Whatever a tenant sends, and whenever it hangs up: the call is rejected before the provider was asked, or pays at least 95 % of what
 * the provider's own count is worth at our prices, or the caller's X-Max-Cost with the rest written off.
 */

const CASES = Number(process.env.METERING_CASES ?? 2_000);

test(`rejects ${CASES} calls of every shape in every dialect, or charges them by the provider's own count`, async () => {
  const seed = Number(process.env.METERING_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const sums = await tryMetering({ cases: CASES, seed });
  process.stdout.write(`metering, seed ${seed}: ${JSON.stringify(sums)}\n`);
  for (const served of Object.values(sums.served)) {
    expect(served).toBeGreaterThan(CASES / 80);
  }
  expect(sums.refused).toBeGreaterThan(CASES / 10);
}, 3_600_000);

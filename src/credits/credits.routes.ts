import { z } from 'zod';
import { answerOf, CURRENCY, currencyJson, usdString } from '../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CreditsReadModel, CreditsRow } from './credits.read-model.ts';

const creditsJson = z
  .object({
    total_credits: usdString.meta({ description: 'Bought or granted so far, USD' }),
    total_usage: usdString.meta({ description: 'Charged so far minus refunds, USD' }),
    remaining_credits: usdString.meta({ description: 'total_credits − total_usage, over settled entries' }),
    debt: usdString.meta({ description: 'Owed for reversed payments; blocks new calls until it is paid' }),
    currency: currencyJson,
    updated_at: z.iso.datetime().meta({ description: 'When the balance last changed' }),
  })
  .meta({ id: 'Credits' });

/** Novita's user object (get-user-balance): its SDKs read the balance as an integer of 1/10000 USD. */
const novitaUserJson = z.object({
  allow_features: z.array(z.string()).meta({ description: 'Always empty' }),
  credit_balance: z.int().meta({ description: 'Balance in 1/10000 USD, rounded down' }),
  free_trial: z.record(z.string(), z.int()).meta({ description: 'Always empty' }),
});

const NANO_USD_PER_CREDIT = 100_000n;

/** `/api/v1/credits`, and `/v3/user` for Novita's clients. */
export function creditRoutes(credits: CreditsReadModel): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/credits',
      operationId: 'getCredits',
      summary: 'Get the credits of the account',
      tag: 'Usage',
      access: 'inference',
      envelope: 'data',
      response: { status: 200, schema: answerOf(creditsJson, 'The credits of the account') },
      errors: [],
      async handle({ principal }) {
        return { body: { data: presentCredits(await credits.get(principal.accountId)) } };
      },
    }),
    defineRoute({
      method: 'get',
      path: '/v3/user',
      operationId: 'getNovitaUser',
      summary: "The balance as Novita's SDKs read it: `credit_balance` in 1/10000 USD, rounded down",
      tag: 'Usage',
      access: 'inference',
      envelope: 'task',
      response: { status: 200, schema: novitaUserJson },
      errors: [],
      async handle({ principal }) {
        return { body: presentNovitaUser(await credits.get(principal.accountId)) };
      },
    }),
  ];
}

function presentNovitaUser(row: CreditsRow): z.output<typeof novitaUserJson> {
  const posted = nanoUsd(row.posted);
  const below = posted < 0n && posted % NANO_USD_PER_CREDIT !== 0n ? 1n : 0n;
  return {
    allow_features: [],
    credit_balance: Number(posted / NANO_USD_PER_CREDIT - below),
    free_trial: {},
  };
}

function presentCredits(row: CreditsRow): z.output<typeof creditsJson> {
  const remaining = nanoUsd(row.posted);
  const used = nanoUsd(row.used);
  return {
    total_credits: formatUsd(nanoUsd(remaining + used)),
    total_usage: formatUsd(used),
    remaining_credits: formatUsd(remaining),
    debt: formatUsd(nanoUsd(row.debt)),
    currency: CURRENCY,
    updated_at: row.changed_at.toISOString(),
  };
}

import { z } from 'zod';
import { accountId, answerOf, CURRENCY, currencyJson, usdString } from '../http/input/wire-shapes.ts';
import type { RateLimits } from '../http/limits/rate-policy.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import { type AccountOverviewRow, type AccountReadModel, availableOf } from './account.read-model.ts';

const count = z.int().min(0);

const accountOverviewJson = z
  .object({
    id: accountId,
    name: z.string().meta({ description: 'Display name, chosen by the operator' }),
    suspended: z
      .boolean()
      .meta({ description: 'true: its keys can only read, and paid calls are rejected with 403' }),
    created_at: z.iso.datetime().meta({ description: 'When it was opened' }),
    remaining_credits: usdString.meta({ description: 'Settled balance, including what is held' }),
    held: usdString.meta({ description: 'Reserved for running calls and tasks' }),
    available: usdString.meta({
      description: 'Most that a new call may cost; nothing while something is owed',
    }),
    debt: usdString.meta({ description: 'Owed for reversed payments that the balance did not cover' }),
    currency: currencyJson,
    running_calls: count.meta({
      description: 'Calls that hold credits now; a key that is not an owner key sees only its own',
    }),
    running_tasks: count.meta({
      description: 'Tasks that have not ended; a key that is not an owner key sees only its own',
    }),
    limits: z
      .object({
        requests_per_minute: count.meta({ description: 'Requests per minute' }),
        tokens_per_minute: count.meta({ description: 'Prompt and answer tokens per minute' }),
        concurrency: count.meta({ description: 'Paid calls in flight at the same time' }),
      })
      .meta({ description: 'Limits for all keys of an account together, as configured here' }),
    features: z
      .object({
        payments: z
          .enum(['stripe', 'test'])
          .nullable()
          .meta({ description: 'null: credits are not sold here' }),
        keep_prompts: z.boolean().meta({ description: 'Whether prompts of tasks are kept after the task' }),
      })
      .meta({ description: 'What this installation offers' }),
  })
  .meta({ id: 'AccountOverview' });

type AccountOverviewJson = z.output<typeof accountOverviewJson>;

/** Features of an installation. */
interface ConsoleFeatures {
  readonly payments: 'stripe' | 'test' | null;
  readonly keepPrompts: boolean;
}

export interface AccountRouteParts {
  readonly accounts: AccountReadModel;
  readonly limits: () => RateLimits;
  readonly features: ConsoleFeatures;
}

/** `/api/v1/account`. */
export function accountOverviewRoutes({ accounts, limits, features }: AccountRouteParts): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/account',
      operationId: 'getAccountOverview',
      summary: 'Get the account with its held credits, limits and running work',
      tag: 'Console',
      access: 'inference',
      envelope: 'data',
      response: { status: 200, schema: answerOf(accountOverviewJson, 'The account') },
      errors: [],
      async handle({ principal }) {
        const { accountId, apiKeyId, role } = principal;
        const row = await accounts.get(accountId, role === 'owner' ? null : apiKeyId);
        return { body: { data: presentAccountOverview(row, limits(), features) } };
      },
    }),
  ];
}

function presentAccountOverview(
  row: AccountOverviewRow,
  limits: RateLimits,
  features: ConsoleFeatures,
): AccountOverviewJson {
  return {
    id: publicId('account', row.id),
    name: row.name,
    suspended: row.suspended,
    created_at: row.created_at.toISOString(),
    remaining_credits: formatUsd(nanoUsd(row.posted)),
    held: formatUsd(nanoUsd(row.held)),
    available: formatUsd(availableOf(row)),
    debt: formatUsd(nanoUsd(row.debt)),
    currency: CURRENCY,
    running_calls: row.running_calls,
    running_tasks: row.running_tasks,
    limits: {
      requests_per_minute: limits.requestsPerMinute,
      tokens_per_minute: limits.tokensPerMinute,
      concurrency: limits.concurrency,
    },
    features: { payments: features.payments, keep_prompts: features.keepPrompts },
  };
}

import { answerOf } from '../http/input/wire-shapes.ts';
import type { RateLimits } from '../http/limits/rate-policy.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { accountOverviewJson, type ConsoleFeatures, presentAccountOverview } from './account.presenter.ts';
import type { AccountReadModel } from './account.read-model.ts';

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
      summary: 'Get the account with its held money, limits and running work',
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

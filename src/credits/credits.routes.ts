import { answerOf } from '../http/input/wire-shapes.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { creditsJson, novitaUserJson, presentCredits, presentNovitaUser } from './credits.presenter.ts';
import type { CreditsReadModel } from './credits.read-model.ts';

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

import { z } from 'zod';
import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { presentKey } from '../keys/keys.presenter.ts';
import {
  createdKeyResponse,
  createKeyBody,
  keyListResponse,
  keyParams,
  keyResponse,
  listKeysQuery,
} from '../keys/keys.schema.ts';
import type { AccountKeysService } from './account-keys.service.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { accountParams } from './operators.schema.ts';

const accountKeyParams = z.object({ ...accountParams.shape, hash: keyParams.shape.hash });
const changeKeyBody = z
  .object({
    disabled: z
      .boolean()
      .meta({ description: 'true: calls with this key are rejected with 401 until it is enabled again' }),
  })
  .meta({ id: 'ChangeAccountKey', examples: [{ disabled: true }] });

/** `/admin/v1/accounts/{id}/keys`. */
export function accountKeyRoutes(keys: AccountKeysService): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/accounts/{id}/keys',
      operationId: 'listAccountKeys',
      summary: "List an account's keys, newest first",
      params: accountParams,
      query: listKeysQuery,
      response: { status: 200, schema: keyListResponse },
      errors: ['account_not_found', 'invalid_cursor'],
      async handle({ params, query, url }) {
        const page = await keys.list(params.id, query);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentKey) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/admin/v1/accounts/{id}/keys',
      operationId: 'createAccountKey',
      summary: 'Create a key for an account; the secret is shown in this response only',
      params: accountParams,
      body: createKeyBody,
      response: { status: 201, schema: createdKeyResponse },
      errors: ['account_not_found', 'too_many_keys'],
      idempotency: 'replay',
      async handle({ params, body, operator, requestId }) {
        const { row, secret } = await keys.create(params.id, body, { operator, requestId });
        return { body: { data: presentKey(row), key: secret } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'patch',
      path: '/admin/v1/accounts/{id}/keys/{hash}',
      operationId: 'changeAccountKey',
      summary: 'Disable or enable a key; takes effect everywhere from the next paid call',
      params: accountKeyParams,
      body: changeKeyBody,
      response: { status: 200, schema: keyResponse },
      errors: ['account_not_found', 'key_not_found'],
      async handle({ params, body, operator, requestId }) {
        const row = await keys.setDisabled(params.id, params.hash, body.disabled, { operator, requestId });
        return { body: { data: presentKey(row) } };
      },
    }),
  ];
}

import { linkHeader } from '../http/answers/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentKey } from './keys.presenter.ts';
import {
  createdKeyResponse,
  createKeyBody,
  keyListResponse,
  keyParams,
  keyResponse,
  listKeysQuery,
  updateKeyBody,
} from './keys.schema.ts';
import type { KeysService } from './keys.service.ts';

/** `/api/v1/keys` and `/api/v1/key`. */
export function keyRoutes(keys: KeysService): Route[] {
  return [...collectionRoutes(keys), ...itemRoutes(keys), currentKeyRoute(keys)];
}

function collectionRoutes(keys: KeysService): Route[] {
  return [
    defineRoute({
      method: 'post',
      path: '/api/v1/keys',
      operationId: 'createKey',
      summary: 'Create an API key; its secret is shown in this answer only',
      tag: 'Keys',
      access: 'owner',
      envelope: 'data',
      body: createKeyBody,
      response: { status: 201, schema: createdKeyResponse },
      errors: ['idempotency_in_progress', 'idempotency_key_reused', 'too_many_keys'],
      idempotency: 'replay',
      recentLogin: true,
      leastRole: 'developer',
      async handle({ principal, body }) {
        const { row, secret } = await keys.create(principal.accountId, body, principal);
        return { body: { data: presentKey(row), key: secret } };
      },
    }),
    defineRoute({
      method: 'get',
      path: '/api/v1/keys',
      operationId: 'listKeys',
      summary: 'List the keys of the account, newest first',
      tag: 'Keys',
      access: 'owner',
      envelope: 'data',
      query: listKeysQuery,
      response: { status: 200, schema: keyListResponse },
      errors: ['invalid_cursor'],
      async handle({ principal, query, url }) {
        const page = await keys.list(principal.accountId, query);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentKey) } };
      },
    }),
  ];
}

function itemRoutes(keys: KeysService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/keys/{hash}',
      operationId: 'getKey',
      summary: 'Get a key',
      tag: 'Keys',
      access: 'owner',
      envelope: 'data',
      params: keyParams,
      response: { status: 200, schema: keyResponse },
      errors: ['key_not_found'],
      async handle({ principal, params }) {
        return { body: { data: presentKey(await keys.get(principal.accountId, params.hash)) } };
      },
    }),
    defineRoute({
      method: 'patch',
      path: '/api/v1/keys/{hash}',
      operationId: 'updateKey',
      summary: 'Change a key; takes effect everywhere within a second, and at once for paid calls',
      tag: 'Keys',
      access: 'owner',
      envelope: 'data',
      params: keyParams,
      body: updateKeyBody,
      response: { status: 200, schema: keyResponse },
      errors: ['key_not_found', 'key_in_use'],
      leastRole: 'developer',
      async handle({ principal, params, body }) {
        return { body: { data: presentKey(await keys.update(principal, params.hash, body)) } };
      },
    }),
    defineRoute({
      method: 'delete',
      path: '/api/v1/keys/{hash}',
      operationId: 'deleteKey',
      summary: 'Delete a key; its history stays in the reports',
      recentLogin: true,
      tag: 'Keys',
      access: 'owner',
      envelope: 'data',
      params: keyParams,
      response: { status: 200, schema: keyResponse },
      errors: ['key_not_found', 'key_in_use'],
      leastRole: 'developer',
      async handle({ principal, params }) {
        return { body: { data: presentKey(await keys.delete(principal, params.hash)) } };
      },
    }),
  ];
}

function currentKeyRoute(keys: KeysService): Route {
  return defineRoute({
    method: 'get',
    path: '/api/v1/key',
    operationId: 'getCurrentKey',
    summary: 'Get the key that authenticates this request',
    tag: 'Keys',
    access: 'inference',
    envelope: 'data',
    response: { status: 200, schema: keyResponse },
    errors: [],
    async handle({ principal }) {
      return { body: { data: presentKey(await keys.get(principal.accountId, principal.keyHash)) } };
    },
  });
}

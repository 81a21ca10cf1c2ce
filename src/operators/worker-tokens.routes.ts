import { defineRoute, type Route } from '../http/route.ts';
import type { WorkerTokensService } from '../remote-workers/worker-tokens.service.ts';
import type { WorkerTokenRow } from '../remote-workers/worker-tokens.store.ts';
import { audited, OPERATOR_ROUTE } from './operator-access.ts';
import {
  createdWorkerTokenResponse,
  createWorkerTokenBody,
  type WorkerTokenJson,
  workerTokenListResponse,
  workerTokenParams,
  workerTokenResponse,
} from './worker-tokens.schema.ts';

/** `/admin/v1/worker-tokens`. */
export function workerTokenRoutes(tokens: WorkerTokensService): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/worker-tokens',
      operationId: 'listWorkerTokens',
      summary: 'List the tokens of workers on hosts without a database',
      response: { status: 200, schema: workerTokenListResponse },
      errors: [],
      async handle() {
        return { body: { data: (await tokens.list()).map(presentToken) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/admin/v1/worker-tokens',
      operationId: 'createWorkerToken',
      summary: 'Create a token for workers of some pools; its secret is shown in this response only',
      body: createWorkerTokenBody,
      response: { status: 201, schema: createdWorkerTokenResponse },
      errors: ['key_in_use'],
      idempotency: 'replay',
      async handle({ body: { name, pools }, operator, requestId }) {
        const act = audited({ operator, requestId }, 'worker_token.create', name, { pools });
        const { row, secret } = await tokens.create(name, pools, act);
        return { body: { data: presentToken(row), token: secret } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'delete',
      path: '/admin/v1/worker-tokens/{token_name}',
      operationId: 'revokeWorkerToken',
      summary: 'Revoke a token: its workers are rejected on their next call',
      params: workerTokenParams,
      response: { status: 200, schema: workerTokenResponse },
      errors: ['key_not_found'],
      async handle({ params: { token_name: name }, operator, requestId }) {
        const act = audited({ operator, requestId }, 'worker_token.revoke', name, {});
        return { body: { data: presentToken(await tokens.revoke(name, act)) } };
      },
    }),
  ];
}

function presentToken(row: WorkerTokenRow): WorkerTokenJson {
  return {
    name: row.name,
    pools: [...row.pools],
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

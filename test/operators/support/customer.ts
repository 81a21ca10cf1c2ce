import { randomUUID } from 'node:crypto';
import { parsePublicId, publicId } from '../../../src/lib/ids.ts';
import { TaskEndings } from '../../../src/tasks/task-endings.ts';
import { createAccount } from '../../factories/account.ts';
import { createKey } from '../../factories/api-key.ts';
import type { OperatorServer } from './operator-server.ts';

export interface Customer {
  /** Stored id. */
  readonly accountId: string;
  /** Public id. */
  readonly account: string;
  readonly keyId: string;
  readonly secret: string;
  readonly hash: string;
}

/** Creates an account with ten dollars and an owner key. */
export async function createCustomer(server: OperatorServer): Promise<Customer> {
  const { database } = server.db;
  const { id } = await createAccount(database);
  const key = await createKey(database, id);
  return {
    accountId: id,
    account: publicId('account', id),
    keyId: key.id,
    secret: key.secret,
    hash: key.hash,
  };
}

/** Orders an image and returns the task's public id. No worker runs unless a test starts one. */
export async function orderImage(
  server: OperatorServer,
  customer: Customer,
  extra: object = {},
): Promise<string> {
  const body = { prompt: 'a canary in a coal mine', size: '256*256', seed: 7, ...extra };
  return (await ordered(server, customer, '/v3/async/image-turbo', body)).task_id;
}

/** Orders, and returns the answer. */
async function ordered(server: OperatorServer, { secret }: Customer, path: string, body: object) {
  const headers = { 'idempotency-key': randomUUID() };
  const answer = await server.call('POST', path, { token: secret, body, headers });
  expect(answer.status).toBe(200);
  return answer.json;
}

/** Orders a video. No worker makes it. */
export async function orderVideo(server: OperatorServer, customer: Customer): Promise<string> {
  // a seed for waves, which are drawn faster than the other scenes
  const body = { model: 'video-fast', prompt: 'a canary in a coal mine', seed: 4 };
  return (await ordered(server, customer, '/api/v1/videos', body)).id;
}

/** Fails a waiting task like a worker that gives up on it. */
export async function failTask(
  server: OperatorServer,
  customer: Customer,
  task: string,
  keepPrompts: boolean,
): Promise<void> {
  const id = parsePublicId('generation', task)!;
  const { ledger, clock } = server.foundation;
  const endings = new TaskEndings(ledger, { mediaTtlMs: 1_000, keepPrompts }, clock);
  const outcome = await endings.fail(
    { id, accountId: customer.accountId, apiKeyId: customer.keyId, createdAt: new Date() },
    { attempt: null, from: ['queued'] },
    { code: 'upstream_unavailable', message: 'every attempt at this task failed' },
  );
  expect(outcome).toBe('settled');
}

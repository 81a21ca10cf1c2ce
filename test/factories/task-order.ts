import type { Principal } from '../../src/http/route.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { parseUsd } from '../../src/lib/money.ts';
import type { Database } from '../../src/store/database.ts';
import type { TaskSubmit } from '../../src/tasks/submit-task.service.ts';
import { fundedAccount, type TestAccount } from './ledger.ts';
import { TASK_CATALOG, type TaskStack } from './task-stack.ts';

export interface TestCustomer extends TestAccount {
  readonly principal: Principal;
}

/** Creates an account with credits (USD text) and an owner key. */
export async function customer(database: Database, credits = '10.00'): Promise<TestCustomer> {
  const account = await fundedAccount(database, credits);
  const { rows } = await database.money.query<{ hash: string }>('SELECT hash FROM api_keys WHERE id = $1', [
    account.apiKeyId,
  ]);
  const principal: Principal = {
    accountId: account.accountId,
    accountName: 'test account',
    apiKeyId: account.apiKeyId,
    keyHash: rows[0]?.hash ?? '',
    role: 'owner',
    allowedModels: null,
    rateLimits: { key: null, account: null, queuedTasks: null },
    spendable: parseUsd(credits)!,
  };
  return { ...account, principal };
}

/** Returns an image order; `prompt` tells the scripted engine what to do. */
export function imageOrder(prompt: string, changes: Partial<TaskSubmit> = {}): TaskSubmit {
  return {
    endpoint: '/v3/async/image-turbo',
    model: TASK_CATALOG.orderable('image-turbo', 'image', { allowedModels: null }),
    prompt,
    width: 512,
    height: 512,
    steps: undefined,
    seed: 42,
    seconds: undefined,
    base64Output: false,
    webhookUrl: null,
    ...changes,
  };
}

/** Submits an image task and returns its id. */
export async function submitImage(
  stack: Pick<TaskStack, 'submits'>,
  who: TestCustomer,
  prompt = '',
  changes: Partial<TaskSubmit> = {},
): Promise<string> {
  const context = {
    principal: who.principal,
    requestId: 'req_test',
    signal: new AbortController().signal,
    headers: {},
  };
  return await stack.submits.submit(imageOrder(prompt, changes), { ...context, generationId: newUuid() });
}

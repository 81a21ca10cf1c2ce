import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { transactionId } from '../../src/billing/transaction-id.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { purchaseCredits, usd } from '../factories/ledger.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { type CliRun, cliRun } from './support/cli-run.ts';
import { createCustomer, failTask, orderImage } from './support/customer.ts';
import { ADMIN_TOKEN, type OperatorServer, startOperatorServer } from './support/operator-server.ts';

let server: OperatorServer;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 11 });
});
afterAll(() => server?.close());

function environment(changes: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, TOLLGATE_URL: server.url, ADMIN_TOKEN, ...changes };
}

/** Runs the program as a separate process. */
async function spawned(args: readonly string[], env: NodeJS.ProcessEnv = environment()): Promise<CliRun> {
  const main = await compiled('src/operators/cli/main.ts');
  return await new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Runs the program with a reader that leaves at once, as `head` does. */
async function unread(...args: readonly string[]): Promise<Omit<CliRun, 'stdout'>> {
  const main = await compiled('src/operators/cli/main.ts');
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { env: environment() }, (error, _, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stderr });
    });
    child.stdout?.destroy();
  });
}

/** Runs the program in this process, without a terminal. */
function run(...args: readonly string[]): Promise<CliRun> {
  return cliRun(environment(), args);
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
async function json(...args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

describe('as a process', () => {
  test('help, data, a proof of the books, errors and wrong usage each have their exit code', async () => {
    const folder = temporaryFolder('cli');
    await writeFile(join(folder, 'admin.token'), `${ADMIN_TOKEN}\n`);
    const fromFile = environment({ ADMIN_TOKEN: undefined, DATA_DIR: folder });
    const nowhere = environment({ ADMIN_TOKEN: undefined, DATA_DIR: join(folder, 'empty') });
    const [help, queues, verified, refused, usage, denied, untold, left] = await Promise.all([
      spawned(['--help']),
      spawned(['queues', 'list', '--json'], fromFile),
      spawned(['ledger', 'verify']),
      spawned(['tasks', 'show', 'gen-01JD0000000000000000000000']),
      spawned(['accounts', 'rename']),
      spawned(['accounts', 'list'], environment({ ADMIN_TOKEN: 'not the token' })),
      spawned(['accounts', 'list'], nowhere),
      unread('queues', 'list'),
    ]);
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('Exit codes')]);
    expect(JSON.parse(queues.stdout).map((queue: { name: string }) => queue.name)).toContain(
      'generate-local',
    );
    expect(verified).toEqual({
      code: 0,
      stdout: expect.stringMatching(/books are correct: \d+/),
      stderr: '',
    });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: 'tollgate: There is no such task. (task_not_found)\n',
    });
    expect([usage.code, usage.stderr]).toEqual([2, expect.stringContaining('unknown command')]);
    expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining('invalid_api_key')]);
    expect([untold.code, untold.stderr]).toEqual([2, expect.stringContaining('no operator token')]);
    expect(left).toEqual({ code: 1, stderr: '' });
  });

  test('incorrect books exit with code 1 and say what is wrong', async () => {
    const { accountId } = await createCustomer(server);
    const skew = (by: number) =>
      asOwner(`UPDATE balances SET used = used + ${by} WHERE account_id = '${accountId}'`);
    await skew(1);
    try {
      const result = await spawned(['ledger', 'verify']);
      expect([result.code, result.stdout]).toEqual([1, expect.stringContaining('The books are WRONG')]);
      expect(result.stdout).toContain(accountId);
      const each = await run('ledger', 'verify', '--each', '--json');
      expect([each.code, JSON.parse(each.stdout).ok]).toEqual([1, false]);
    } finally {
      await skew(-1);
    }
  });
});

async function asOwner(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.db.ownerUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

test('--version prints the version of package.json', async () => {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(await run('--version')).toMatchObject({ code: 0, stdout: `${JSON.parse(file).version}\n` });
});

describe('every command', () => {
  test('accounts, money and keys', async () => {
    const created = await json('accounts', 'create', 'Acme', '--credits', '12.50');
    const { id, key } = created;
    expect(created).toMatchObject({ name: 'Acme', remaining_credits: '12.50' });
    const use = async () => (await server.call('GET', '/api/v1/credits', { token: key })).status;
    expect(await use()).toBe(200);
    expect(await json('accounts', 'suspend', id)).toMatchObject({ suspended: true });
    expect(await json('accounts', 'resume', id)).toMatchObject({ suspended: false });
    const confined = await json('accounts', 'allow-models', id, 'image-turbo', 'video-fast');
    expect(confined.allowed_models).toEqual(['image-turbo', 'video-fast']);
    expect((await json('accounts', 'allow-models', id, '--all')).allowed_models).toBeNull();
    expect((await run('accounts', 'allow-models', id)).code).toBe(2);
    const mistyped = await run('accounts', 'allow-models', id, 'image-turbi');
    expect(mistyped.code).toBe(1);
    expect(mistyped.stderr).toContain('there is no model "image-turbi". Did you mean "image-turbo"?');
    expect(await json('accounts', 'max-keys', id, '7')).toMatchObject({ max_keys: 7 });
    expect(await run('accounts', 'max-keys', id, 'many')).toMatchObject({
      code: 2,
      stderr: 'tollgate: count must be a whole number above zero, not "many"\n',
    });
    const limits = ['accounts', 'limits', id];
    expect((await json(...limits, '--concurrency', '5')).rate_limits).toEqual({ concurrency: 5 });
    for (const option of [
      '--requests-per-minute',
      '--tokens-per-minute',
      '--concurrency',
      '--queued-tasks',
    ]) {
      expect(await run(...limits, option, '0')).toMatchObject({
        code: 2,
        stderr: `tollgate: ${option} must be a whole number above zero, not "0"\n`,
      });
    }
    expect((await json(...limits)).rate_limits).toBeNull();
    const fee = ['adjust', id, '-2.50', '-d', 'Fee', '-k', 'fee-of-may', '--yes'];
    expect((await json(...fee)).remaining_credits).toBe('10.00');
    expect((await json(...fee)).remaining_credits).toBe('10.00');
    expect((await run('refund', id, '-d', 'x')).code).toBe(2);
    const spare = await json('keys', 'create', id, 'spare', '--role', 'owner');
    expect(await json('keys', 'disable', id, spare.hash)).toMatchObject({ disabled: true });
    expect((await server.call('GET', '/api/v1/credits', { token: spare.key })).status).toBe(401);
    expect(await json('keys', 'enable', id, spare.hash)).toMatchObject({ disabled: false });
    const listed = await run('keys', 'list', id);
    expect(listed.stdout).toMatch(/^HASH +NAME +ROLE/);
    expect(listed.stdout.trim().split('\n')).toHaveLength(3);
    const audit = await json('audit', '--object', id, '--limit', 'all');
    expect(audit.map((entry: { action: string }) => entry.action)).toEqual([
      'key.enable',
      'key.disable',
      'key.create',
      // requested twice under one key, booked and recorded once
      'account.adjust',
      ...Array(7).fill('account.update'),
      'account.create',
    ]);
  });

  test('money is booked only after a yes, and a dry run shows what would happen or be rejected', async () => {
    const { account } = await createCustomer(server);
    const { name } = await json('accounts', 'show', account);
    const left = async () => (await json('accounts', 'show', account)).remaining_credits;
    const fee = ['adjust', account, '-2.50', '-d', 'Fee'];
    expect(await run(...fee)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    const plan = `book -2.50 USD (correction) on ${account} "${name}"; the balance is then 7.50 USD`;
    expect(await run(...fee, '--dry-run')).toEqual({
      code: 0,
      stdout: `Nothing was booked. This would ${plan}.\n`,
      stderr: '',
    });
    const tooMuch = await run('adjust', account, '-d', 'Fee', '--dry-run', '--', '-10.01');
    expect(tooMuch).toMatchObject({ code: 1, stderr: expect.stringContaining('insufficient_credits') });
    const questions: string[] = [];
    const answer = (word: boolean) => async (question: string) => {
      questions.push(question);
      return word;
    };
    expect(await cliRun(environment(), fee, answer(false))).toMatchObject({
      code: 1,
      stderr: 'tollgate: nothing was booked\n',
    });
    expect(await left()).toBe('10.00');
    expect(
      (await json('audit', '--object', account)).map(({ action }: { action: string }) => action),
    ).toEqual([]);
    expect((await cliRun(environment(), fee, answer(true))).code).toBe(0);
    expect(await left()).toBe('7.50');
    expect(questions).toEqual(Array(2).fill(`This will ${plan}. Continue?`));
    const nothingOwed = await run('debt', 'forgive', account, '-d', 'x', '--dry-run');
    expect(nothingOwed).toMatchObject({ code: 1, stderr: expect.stringContaining('owes 0.00 USD') });
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['cut', (response) => void response.destroy()],
    ['cut in the middle', (response) => void response.writeHead(201).end('{"data', () => response.destroy())],
    ['replaced by a page of a proxy', (response) => void response.writeHead(504).end('<html>504</html>')],
  ])('when an answer is %s, says how to book or open once and not twice', async (_, lose) => {
    const { account } = await createCustomer(server);
    const proxy = createServer(async (request, response) => {
      const { method = '', headers, url } = request;
      const { authorization = '', 'idempotency-key': key = '' } = headers as Record<string, string>;
      const kept = { authorization, 'idempotency-key': key, 'content-type': 'application/json' };
      await fetch(server.url + url, { method, headers: kept, body: await text(request) });
      lose(response);
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    const behind = environment({ TOLLGATE_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
    const gift = ['adjust', account, '1.00', '-d', 'Gift', '--yes'];
    const opening = ['accounts', 'create', `Lost ${account}`, '--credits', '3.00'];
    for (const command of [gift, opening]) {
      const lost = await cliRun(behind, command);
      expect(lost).toMatchObject({ code: 1, stdout: '' });
      const [, key = ''] = /with --idempotency-key (\S+) .*once\.\n$/.exec(lost.stderr) ?? [];
      expect((await run(...command, '--idempotency-key', key)).code).toBe(0);
    }
    proxy.close();
    expect((await json('accounts', 'show', account)).remaining_credits).toBe('11.00');
    const accounts: { name: string }[] = await json('accounts', 'list', '--limit', 'all');
    expect(accounts.filter(({ name }) => name === `Lost ${account}`)).toHaveLength(1);
  });

  test('refunds a charge', async () => {
    const customer = await createCustomer(server);
    const chat = await server.call('POST', '/api/v1/chat/completions', {
      token: customer.secret,
      body: { model: 'tollgate/small', messages: [{ role: 'user', content: 'Hello' }] },
    });
    const before = await json('accounts', 'show', customer.account);
    expect(before.total_usage).not.toBe('0.00');
    await json('refund', customer.account, '--generation', chat.json.id, '-d', 'Unusable', '-y');
    expect(await json('accounts', 'show', customer.account)).toMatchObject({ remaining_credits: '10.00' });
  });

  test('says how much of a purchase that is taken back is then owed', async () => {
    const { account, accountId } = await createCustomer(server);
    const { database } = server.db;
    const reference = newUuid();
    await purchaseCredits(database, { accountId, reference, description: 'Purchase' }, usd('20.00'));
    await database.money.query(
      `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, url, success_url, cancel_url, status, payment_status,
         expires_at, credited_at)
       VALUES ($1, $2, $3, 'USD', 'test', '', '', '', 'complete', 'paid', ledger_now(), ledger_now())`,
      [reference, accountId, usd('20.00').toString()],
    );
    expect((await run('adjust', '-d', 'Fee', '-y', account, '--', '-25.00')).code).toBe(0);
    const purchase = transactionId({ type: 'credit_purchase', reference });
    const takeBack = ['refund', account, '-t', purchase, '-a', '20.00', '-d', 'Chargeback'];
    const owed = ', of which the account then owes 15.00 USD';
    expect((await run(...takeBack, '--dry-run')).stdout).toContain(`${owed}; the balance is then 0.00 USD`);
    expect((await run(...takeBack, '-y')).stdout).toMatch(
      new RegExp(`^20\\.00 USD refunded as txn_R\\w+${owed}`),
    );
  });

  test('tasks: list, show, and retry of several with one failure', async () => {
    const customer = await createCustomer(server);
    const [failed, waiting] = [await orderImage(server, customer), await orderImage(server, customer)];
    await failTask(server, customer, failed, true);
    const listed = await json('tasks', 'list', '--state', 'failed', '--account', customer.account);
    expect(listed.map((task: { id: string }) => task.id)).toEqual([failed]);
    const shown = await run('tasks', 'show', failed);
    expect(shown.stdout).toContain('upstream_unavailable: every attempt at this task failed');
    expect(shown.stdout).toMatch(/History +TIME +STATE/);
    const retried = await run('tasks', 'retry', failed, waiting, '--json');
    expect(retried.code).toBe(1);
    expect(JSON.parse(retried.stdout)).toMatchObject([
      { task: failed, result: { created: true }, refused: null },
      { task: waiting, result: null, refused: expect.stringContaining('task_not_retryable') },
    ]);
    expect((await json('tasks', 'list', '-a', customer.account, '-n', 'all')).length).toBe(3);
    for (const rows of ['many', '']) {
      expect(await run('tasks', 'list', '-n', rows)).toMatchObject({
        code: 2,
        stderr: `tollgate: --limit must be a number of rows or "all", not "${rows}"\n`,
      });
    }
    expect((await run('books', 'export', '-f', '')).stderr).toContain('beancount, not ""');
  });

  test('an order without workers shows up where an operator looks', async () => {
    const customer = await createCustomer(server);
    await server.db.database.money.query("INSERT INTO worker_slots VALUES ('host.1', 'webhooks', 20)");
    await orderImage(server, customer);
    const queues = await json('queues', 'list');
    const [pool] = queues.filter(({ name }: { name: string }) => name === 'generate-local');
    expect(pool).toMatchObject({ workers: 0, slots: 0, oldest_seconds: expect.any(Number) });
    expect(pool.backlog).toBeGreaterThan(0);
    const { stdout } = await run('queues', 'list');
    expect(stdout).toMatch(/^generate-local +no worker +[1-9]\d* +\d+ s +0 +0 /m);
    expect(stdout).toMatch(/^webhooks +running +\d+ +\S+( s)? +1 +20 /m);
    expect((await server.call('GET', '/metrics')).text).toMatch(
      /^tollgate_unserved_tasks\{pool="local"\} [1-9]/m,
    );
  });

  test('worker hosts are listed, drained and resumed by name, recording who did it', async () => {
    const { money } = server.db.database;
    await money.query(
      "INSERT INTO workers (worker, host, version, queues, resting, running) VALUES ('gpu-3.77', 'gpu-3', '1', '{generate-local}', '{local}', 2)",
    );
    expect((await run('workers', 'list')).stdout).toMatch(
      /^gpu-3 +gpu-3\.77 +serves +2 +local +generate-local/m,
    );
    const drained = await run('workers', 'drain', 'gpu-3');
    expect(drained.stdout).toBe(
      'Host gpu-3 stops taking work within five seconds; 2 tasks are running there.\n',
    );
    expect(await json('workers', 'list')).toMatchObject([
      { host: 'gpu-3', drained_by: 'operator', draining: null },
    ]);
    expect((await run('workers', 'list')).stdout).toMatch(/^gpu-3 +gpu-3\.77 +draining /m);
    await money.query('DELETE FROM workers');
    expect((await run('workers', 'list')).stdout).toMatch(/^gpu-3 +– +drained, no worker /m);
    expect((await run('workers', 'resume', 'gpu-3')).stdout).toBe('Host gpu-3 takes work again.\n');
    expect((await run('workers', 'resume', 'gpu-3')).stderr).toContain('worker_not_found');
    const acts = await json('audit', '--object', 'gpu-3');
    expect(acts.map(({ action }: { action: string }) => action)).toEqual(['worker.resume', 'worker.drain']);
    const by = (actor: string) => json('audit', '--object', 'gpu-3', '--actor', actor);
    expect([await by(acts[0].actor), await by('nobody')]).toEqual([acts, []]);
  });

  test('worker tokens are created, shown once, listed and revoked', async () => {
    const made = await json('worker-tokens', 'create', 'rented', '--pools', 'local');
    expect(made).toMatchObject({
      name: 'rented',
      pools: ['local'],
      token: expect.stringMatching(/^sk-tgw-/),
    });
    const again = await run('worker-tokens', 'create', 'rented', '--pools', 'local');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('key_in_use')]);
    expect((await run('worker-tokens', 'list')).stdout).toMatch(/^rented +local +operator +\d{4}-/m);
    expect((await run('worker-tokens', 'revoke', 'rented')).stdout).toContain('Token rented is revoked.');
    const acts = await json('audit', '--object', 'rented');
    expect(acts.map(({ action }: { action: string }) => action)).toEqual([
      'worker_token.revoke',
      'worker_token.create',
    ]);
  });

  test('queues and webhooks', async () => {
    expect(await json('queues', 'pause', 'postprocess')).toMatchObject({ paused: true });
    expect((await run('queues', 'list')).stdout).toMatch(/^postprocess +paused/m);
    expect(await json('queues', 'resume', 'postprocess')).toMatchObject({ paused: false });
    const customer = await createCustomer(server);
    const task = await orderImage(server, customer, {
      extra: { webhook: { url: 'https://hook.example/canary?token=canary' } },
    });
    await failTask(server, customer, task, false);
    const [delivery] = await json('webhooks', 'list', '--task', task);
    const { stdout } = await run('webhooks', 'list', '--task', task);
    expect([stdout.includes('https://hook.example'), stdout.includes('canary')]).toEqual([true, false]);
    expect(await json('webhooks', 'redeliver', delivery.id)).toMatchObject({ state: 'pending' });
  });

  test("a customer's text cannot control the terminal", async () => {
    const name = 'evil\u001b[2J\u0007name';
    await server.call('POST', '/admin/v1/accounts', { body: { name } });
    const { stdout } = await run('accounts', 'list');
    expect(stdout).toContain('evil');
    expect([stdout.includes('\u001b'), stdout.includes('\u0007')]).toEqual([false, false]);
  });

  test('nor does the name of a key in a sentence', async () => {
    const customer = await createCustomer(server);
    const body = { name: 'evil\u001b[2J\u202ename' };
    const { data } = (await server.call('POST', '/api/v1/keys', { token: customer.secret, body })).json;
    const { stdout } = await run('keys', 'disable', customer.account, data.hash);
    expect(stdout).toBe('Key evil [2J name is disabled.\n');
  });

  test("a customer's text cannot turn a line around", async () => {
    await server.call('POST', '/admin/v1/accounts', { body: { name: 'lies\u202e\u2067\u2028name' } });
    expect((await run('accounts', 'list')).stdout).toMatch(/ lies {3}name +0\.00 +0\.00 /);
    expect(await json('accounts', 'list')).toContainEqual(
      expect.objectContaining({ name: 'lies\u202e\u2067\u2028name' }),
    );
  });

  test('reports an unreachable service in one line', async () => {
    const result = await run('--url', 'http://127.0.0.1:1', 'queues', 'list');
    expect([result.code, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toMatch(/^tollgate: http:\/\/127\.0\.0\.1:1 is unreachable: .+\n$/);
  });
});

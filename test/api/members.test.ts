import { choosePort } from '../../ops/embedded/free-port.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { cliRun } from '../operators/support/cli-run.ts';
import { createCustomer } from '../operators/support/customer.ts';
import { ADMIN_TOKEN, type Answer, type OperatorServer } from '../operators/support/operator-server.ts';
import { startOpenIdProvider, type TestOpenIdProvider } from './support/openid-provider.ts';
import { startWholeApplication } from './support/whole-application.ts';

/** People sign in as themselves through a real OpenID provider, over HTTP. */

let provider: TestOpenIdProvider;
let server: OperatorServer;
beforeAll(async () => {
  const port = await choosePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  provider = await startOpenIdProvider(publicUrl);
  server = await startWholeApplication({
    redisDatabase: 8,
    port,
    environment: { PUBLIC_URL: publicUrl, ...provider.settings },
  });
});
afterAll(async () => {
  await server?.close();
  await provider?.close();
});

/** Cookies by name, as a browser keeps them for a host. */
class Jar {
  readonly #cookies = new Map<string, string>();

  take(response: Response): void {
    for (const header of response.headers.getSetCookie()) {
      const [pair = ''] = header.split(';', 1);
      const [name = ''] = pair.split('=', 1);
      if (/Max-Age=0|Expires=Thu, 01 Jan 1970/i.test(header)) {
        this.#cookies.delete(name);
      } else {
        this.#cookies.set(name, pair);
      }
    }
  }

  get header(): string {
    return [...this.#cookies.values()].join('; ');
  }
}

async function visit(jar: Jar, url: string): Promise<Response> {
  const response = await fetch(url, { redirect: 'manual', headers: { cookie: jar.header } });
  jar.take(response);
  return response;
}

const locationOf = (response: Response) => response.headers.get('location') ?? '';

/** Follows the provider until it redirects the browser back. Returns that address. */
async function throughProvider(start: string): Promise<string> {
  const jar = new Jar();
  let url = start;
  while (url.startsWith(provider.issuer)) {
    url = new URL(locationOf(await visit(jar, url)), url).href;
  }
  return url;
}

interface Browser {
  readonly jar: Jar;
  /** Where the service redirected in the end. */
  readonly led: string;
  readonly csrf: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Signs a person in with a browser of their own. */
async function signIn(subject: string, query = ''): Promise<Browser> {
  provider.person = subject;
  const jar = new Jar();
  const begun = await visit(jar, `${server.url}/console/oidc/start${query}`);
  const back = await throughProvider(locationOf(begun));
  const led = locationOf(await visit(jar, back));
  return browserOf(jar, led);
}

async function browserOf(jar: Jar, led = ''): Promise<Browser> {
  const send = async (method: string, path: string, csrf: string, body?: unknown) => {
    const headers = { cookie: jar.header, ...(method !== 'GET' && { 'x-csrf-token': csrf }) };
    return server.call(method, path, { token: null, headers, ...(body !== undefined && { body }) });
  };
  const session = await send('GET', '/api/v1/session', '');
  const csrf: string = session.json.data?.csrf ?? '';
  return { jar, led, csrf, call: (method, path, body) => send(method, path, csrf, body) };
}

async function invite(token: string, email: string, role: string): Promise<string> {
  const answer = await server.call('POST', '/api/v1/invitations', { token, body: { email, role } });
  expect(answer.status).toBe(201);
  return new URL(answer.json.url).search;
}

/** Creates a new account with one person as its member. */
async function member(role: string, subject: string) {
  const customer = await createCustomer(server);
  const email = `${subject}@example.com`;
  provider.people[subject] = { email: email.toUpperCase(), email_verified: true, name: `Name of ${subject}` };
  const browser = await signIn(subject, await invite(customer.secret, email, role));
  expect(browser.led).toBe('/console/');
  return { customer, email, browser };
}

const codeOf = ({ json }: Answer): string | undefined => json?.error?.code;

test('an invited person signs in, is recognized later by subject alone, and calls with a key of their own', async () => {
  const { customer, email, browser } = await member('developer', 'ada');
  const session = await browser.call('GET', '/api/v1/session');
  expect(session.json.data).toMatchObject({
    account: { id: customer.account },
    member: { email, name: 'Name of ada', role: 'developer', accounts: [{ id: customer.account }] },
  });
  // a different address later, no invitation: still the same person
  provider.people.ada = { email: 'new@example.com', email_verified: false };
  const again = await signIn('ada', '?next=keys');
  expect(again.led).toBe('/console/keys');
  const messages = [{ role: 'user', content: 'hello' }];
  const call = { model: 'acme/small', max_tokens: 5, messages };
  expect((await again.call('POST', '/api/v1/chat/completions', call)).status).toBe(200);
  const hash = session.json.data.key.hash;
  const path = `/api/v1/generations?api_key_hash=${hash}`;
  expect((await server.call('GET', path, { token: customer.secret })).json.data).toHaveLength(1);
});

test('an invitation is for one verified address, single use, and expires', async () => {
  const customer = await createCustomer(server);
  const link = await invite(customer.secret, 'grace@example.com', 'viewer');
  const tryAs = async (subject: string, person: object) => {
    provider.people[subject] = person;
    return new URL((await signIn(subject, link)).led, server.url).searchParams.get('problem');
  };
  expect(await tryAs('eve', { email: 'eve@example.com', email_verified: true })).toBe(
    'invitation_for_another',
  );
  expect(await tryAs('mal', { email: 'grace@example.com', email_verified: false })).toBe(
    'email_not_verified',
  );
  expect(await tryAs('nil', {})).toBe('email_not_verified');
  expect(await tryAs('grace', { email: 'Grace@example.com', email_verified: true })).toBeNull();
  expect(await tryAs('twin', { email: 'grace@example.com', email_verified: true })).toBe('invitation_ended');
  const late = await invite(customer.secret, 'late@example.com', 'viewer');
  await server.db.database.money.query(`UPDATE invitations SET ends_at = now() - interval '1 s'`);
  provider.people.late = { email: 'late@example.com', email_verified: true };
  expect((await signIn('late', late)).led).toContain('problem=invitation_ended');
  expect((await signIn('nobody')).led).toContain('problem=not_a_member');
});

test('a removed member loses access at once on every replica and can be invited again', async () => {
  const { customer, email, browser } = await member('owner', 'rob');
  const token = customer.secret;
  const [row] = (await server.call('GET', '/api/v1/members', { token })).json.data;
  expect(row).toMatchObject({ email, role: 'owner', you: false });
  const removed = await server.call('DELETE', `/api/v1/members/${row.id}`, { token });
  expect(removed.json.data).toEqual({ removed: true });
  expect((await browser.call('GET', '/api/v1/credits')).status).toBe(401);
  expect((await signIn('rob')).led).toContain('problem=not_a_member');
  expect(codeOf(await server.call('DELETE', `/api/v1/members/${row.id}`, { token }))).toBe(
    'member_not_found',
  );
  const back = await signIn('rob', await invite(token, email, 'viewer'));
  expect((await back.call('GET', '/api/v1/session')).json.data.member.role).toBe('viewer');
});

test('a reduced role takes effect within a second, and a developer can neither change an owner’s nor a member’s key', async () => {
  const { customer, browser } = await member('developer', 'dev');
  const token = customer.secret;
  const own = (await browser.call('GET', '/api/v1/session')).json.data.key.hash;
  const owners = await createKey(server.db.database, customer.accountId, { role: 'owner' });
  const made = await browser.call('POST', '/api/v1/keys', { name: 'ci' });
  expect([made.status, made.json.data.role]).toEqual([201, 'inference']);
  const refused = [
    await browser.call('POST', '/api/v1/keys', { name: 'more', role: 'owner' }),
    await browser.call('PATCH', `/api/v1/keys/${own}`, { limit: 1_000 }),
    await browser.call('PATCH', `/api/v1/keys/${owners.hash}`, { disabled: true }),
    await browser.call('DELETE', `/api/v1/keys/${owners.hash}`),
  ];
  expect(refused.map(codeOf)).toEqual(Array(4).fill('insufficient_scope'));
  const [row] = (await server.call('GET', '/api/v1/members', { token })).json.data;
  await server.call('PATCH', `/api/v1/members/${row.id}`, { token, body: { role: 'viewer' } });
  await eventually(
    async () => codeOf(await browser.call('POST', '/api/v1/keys', { name: 'ci' })) === 'insufficient_scope',
    2_000,
    'the smaller role',
  );
  expect((await browser.call('GET', '/api/v1/keys')).status).toBe(200);
});

test('a person with two accounts can switch between them but not to a third, and switching keeps the time of sign-in', async () => {
  const { customer: first, email, browser } = await member('viewer', 'two');
  const second = await createCustomer(server);
  await signIn('two', await invite(second.secret, email, 'owner'));
  const third = await createAccount(server.db.database);
  await server.db.database.money.query(
    `UPDATE console_sessions SET created_at = created_at - interval '20 min', proven_at = proven_at - interval '20 min'
      WHERE account_id = $1`,
    [first.accountId],
  );
  const foreign = await browser.call('POST', '/api/v1/session/account', { account_id: `acc_${third.id}` });
  const unknown = await browser.call('POST', '/api/v1/session/account', { account_id: 'acc_x' });
  expect([codeOf(foreign), codeOf(unknown)]).toEqual(['account_not_found', 'account_not_found']);
  const answer = await browser.call('POST', '/api/v1/session/account', { account_id: second.account });
  expect(answer.json.data).toMatchObject({ account: { id: second.account }, member: { role: 'owner' } });
  expect((await browser.call('GET', '/api/v1/credits')).status).toBe(401);
  browser.jar.take(new Response(null, { headers: answer.headers }));
  const moved = await browserOf(browser.jar);
  expect((await moved.call('GET', '/api/v1/account')).json.data.id).toBe(second.account);
  expect(codeOf(await moved.call('POST', '/api/v1/invitations', { email: 'x@example.com' }))).toBe(
    'login_too_old',
  );
});

test('a sign-in at a provider that did not ask the person again does not count as a recent one', async () => {
  const { browser } = await member('owner', 'sso');
  const invitation = { email: 'friend@example.com' };
  expect((await browser.call('POST', '/api/v1/invitations', invitation)).status).toBe(201);
  provider.provenAgo = 16 * 60;
  const silent = await signIn('sso');
  provider.provenAgo = 0;
  expect((await silent.call('GET', '/api/v1/credits')).status).toBe(200);
  expect(codeOf(await silent.call('POST', '/api/v1/invitations', invitation))).toBe('login_too_old');
  const again = await signIn('sso', '?again=yes');
  expect((await again.call('POST', '/api/v1/invitations', invitation)).status).toBe(201);
});

test('the audit log records what a member does under their name', async () => {
  const { customer, email, browser } = await member('owner', 'log');
  await browser.call('POST', '/api/v1/invitations', { email: 'friend@example.com' });
  const audit = await server.call('GET', `/admin/v1/audit?actor=${encodeURIComponent(email)}`);
  const rows = audit.json.data.map(({ action, object }: Record<string, string>) => [action, object]);
  expect(rows).toEqual(
    ['member.invite', 'member.signIn', 'member.join'].map((action) => [action, customer.account]),
  );
});

test('an answer that the browser did not ask for signs nobody in', async () => {
  await member('viewer', 'vic');
  const jar = new Jar();
  provider.person = 'vic';
  const begun = await visit(jar, `${server.url}/console/oidc/start`);
  expect(begun.headers.getSetCookie()[0]).toMatch(
    /^tollgate_sign_in_[0-7]=[\w-]+; Path=\/console\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  const address = new URL(locationOf(begun));
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    ...{ response_type: 'code', code_challenge_method: 'S256', scope: 'openid email profile' },
    ...{ nonce: expect.stringMatching(/.{32}/), state: expect.stringMatching(/.{32}/) },
  });
  const back = await throughProvider(address.href);
  // the same answer in a browser that did not start a sign-in, in one that started another, and with another state
  const stranger = locationOf(await visit(new Jar(), back));
  const other = new Jar();
  await visit(other, `${server.url}/console/oidc/start`);
  const mixed = locationOf(await visit(other, back));
  const forged = locationOf(await visit(jar, back.replace(/state=[^&]+/, 'state=forged')));
  expect(
    [stranger, mixed, forged].map((led) => new URL(led, server.url).searchParams.get('problem')),
  ).toEqual(['expired', 'expired', 'expired']);
  expect(jar.header + other.header).not.toContain('tollgate=');
  const outside = await signIn('vic', '?next=//evil.example.com');
  expect(outside.led).toBe('/console/');
  for (const next of [
    'https://evil.example.com',
    '/x',
    '@x',
    '..?x',
    'tasks?x\r\nx',
    `tasks?${'x'.repeat(601)}`,
  ]) {
    expect((await signIn('vic', `?next=${encodeURIComponent(next)}`)).led).toBe('/console/');
  }
  const chosen = 'generations?status=completed&model=acme%2Fsmall';
  expect((await signIn('vic', `?next=${encodeURIComponent(chosen)}`)).led).toBe(`/console/${chosen}`);
});

test('a sign-in begun in a second tab leaves the one in the first alone', async () => {
  await member('viewer', 'tab');
  provider.person = 'tab';
  const jar = new Jar();
  const led: string[] = [];
  const begun: string[] = [];
  // states that share a cookie by chance: the newer one counts
  for (let tab = 0; tab < 3; tab += 1) {
    begun.push(locationOf(await visit(jar, `${server.url}/console/oidc/start?next=keys`)));
  }
  const names = jar.header.match(/tollgate_sign_in_\d/g) ?? [];
  for (const start of begun) {
    led.push(locationOf(await visit(jar, await throughProvider(start))));
  }
  expect(led.filter((path) => path === '/console/keys')).toHaveLength(names.length);
  expect(led.at(-1)).toBe('/console/keys');
  expect(jar.header).not.toContain('tollgate_sign_in');
});

test('says that the provider is away while keys keep working', async () => {
  const { customer } = await member('viewer', 'way');
  const jar = new Jar();
  provider.person = 'way';
  const back = await throughProvider(locationOf(await visit(jar, `${server.url}/console/oidc/start`)));
  provider.isAway = true;
  const led = locationOf(await visit(jar, back));
  provider.isAway = false;
  expect(led).toBe('/console/sign-in?problem=provider_away');
  const byKey = await server.call('POST', '/api/v1/sessions', {
    token: null,
    body: { api_key: customer.secret },
  });
  expect(byKey.json.data.member).toBeNull();
});

test('a provider without userinfo lets members in, and others hear that it does not answer', async () => {
  const { customer, email } = await member('viewer', 'sil');
  const link = await invite(customer.secret, 'sim@example.com', 'viewer');
  provider.people.sim = { email: 'sim@example.com', email_verified: true, groups: ['tollgate-operators'] };
  provider.isSilent = true;
  const known = await signIn('sil');
  const asMember = await signIn('sim', link);
  const asOperator = await signIn('sim', '?as=operator');
  provider.isSilent = false;
  expect(known.led).toBe('/console/');
  const session = await known.call('GET', '/api/v1/session');
  expect(session.json.data.member).toMatchObject({ email, name: 'Name of sil' });
  const away = '/console/sign-in?problem=provider_away';
  expect([asMember.led, asOperator.led]).toEqual([`${away}&${link.slice(1)}`, away]);
  expect((await signIn('sim', link)).led).toBe('/console/');
});

test('the claim makes people operators, whose sessions can be ended', async () => {
  provider.people.opa = {
    email: 'opa@example.com',
    email_verified: true,
    groups: ['staff', 'tollgate-operators'],
  };
  provider.people.vis = {
    email: 'vis@example.com',
    email_verified: true,
    groups: ['tollgate-operators-not'],
  };
  expect((await server.call('GET', '/admin/login', { token: null })).text).toContain('Sign in with Acme SSO');
  expect((await signIn('vis', '?as=operator')).led).toContain('problem=not_an_operator');
  // signing in as a customer makes nobody an operator
  expect((await signIn('opa')).led).toContain('problem=not_a_member');
  const browser = await signIn('opa', '?as=operator');
  expect(browser.led).toBe('/console/operator');
  expect(browser.jar.header).not.toContain('tollgate=');
  const who = await browser.call('GET', '/admin/v1/session');
  expect(who.json.data).toMatchObject({ operator: 'opa@example.com', csrf: expect.any(String) });
  const call = (method: string, path: string, csrf: string, body?: object) => {
    const headers = { cookie: browser.jar.header, 'x-csrf-token': csrf };
    return server.call(method, path, { token: null, headers, ...(body && { body }) });
  };
  const opened = (csrf: string) => call('POST', '/admin/v1/accounts', csrf, { name: 'by claim' });
  expect(codeOf(await opened('wrong'))).toBe('csrf_rejected');
  const account = await opened(who.json.data.csrf);
  expect(account.status).toBe(201);
  const audit = await server.call('GET', `/admin/v1/audit?object=${account.json.data.id}`);
  expect(audit.json.data[0].actor).toBe('opa@example.com');
  const [listed] = (await server.call('GET', '/admin/v1/sessions')).json.data;
  expect(listed).toMatchObject({ operator: 'opa@example.com', current: false });
  const own = await browser.call('GET', '/admin/v1/sessions');
  expect(own.json.data[0]).toMatchObject({ id: listed.id, current: true });
  const tollgate = (...args: string[]) => cliRun({ TOLLGATE_URL: server.url, ADMIN_TOKEN }, args);
  expect((await tollgate('sessions', 'list')).stdout).toContain(`${listed.id}  opa@example.com`);
  const ended = await tollgate('sessions', 'end', listed.id);
  expect(ended).toMatchObject({ code: 0, stdout: `Session ${listed.id} has ended.\n` });
  const again = await tollgate('sessions', 'end', listed.id);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('There is no such session.')]);
  expect((await browser.call('GET', '/admin/v1/session')).status).toBe(401);
  expect((await browser.call('GET', '/admin/queues')).status).toBe(401);
});

test('without the settings the sign-in does not exist, and former members have no access', async () => {
  const { browser } = await member('owner', 'off');
  const plain = await startWholeApplication({
    redisDatabase: 9,
    environment: {
      DATABASE_URL: server.db.url,
      ...{ OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' },
      ...{ OIDC_OPERATOR_CLAIM: '', OIDC_OPERATOR_VALUE: '' },
    },
  });
  try {
    const call = (method: string, path: string, headers: Record<string, string> = {}) =>
      plain.call(method, path, { token: null, headers });
    for (const [method, path] of [
      ['GET', '/api/v1/members'],
      ['POST', '/api/v1/invitations'],
      ['POST', '/api/v1/session/account'],
    ] as const) {
      expect((await call(method, path)).status).toBe(404);
    }
    const begun = await call('GET', '/console/oidc/start');
    expect([begun.status, begun.headers.getSetCookie()]).toEqual([expect.any(Number), []]);
    expect(begun.headers.get('location')).toBeNull();
    const headers = { cookie: browser.jar.header };
    expect((await call('GET', '/api/v1/session', headers)).json.data).toBeNull();
    expect((await call('GET', '/api/v1/credits', headers)).status).toBe(401);
  } finally {
    await plain.close();
  }
});

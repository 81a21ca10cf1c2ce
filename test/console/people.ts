import { type Customer, createCustomer } from '../operators/support/customer.ts';
import type { ConsoleServer, Visit } from './console-server.ts';

/** Opens a browser profile of a person who is a member of an account, by default a new one. */
export async function signInMember(
  console: ConsoleServer,
  role: string,
  subject: string,
  account?: Customer,
): Promise<Visit> {
  const { server, provider } = console;
  const customer = account ?? (await createCustomer(server));
  const email = `${subject}@example.com`;
  const invitation = { token: customer.secret, body: { email, role } };
  const { json } = await server.call('POST', '/api/v1/invitations', invitation);
  provider.people[subject] = { email, email_verified: true, name: subject };
  const visit = await console.visit();
  await visit.page.goto(json.url);
  await throughProvider(console, visit, subject);
  await visit.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { ...visit, customer };
}

/** Signs a person in with the OpenID provider, from a page that offers it. */
export async function throughProvider(
  { provider }: ConsoleServer,
  { page }: Visit,
  subject: string,
): Promise<void> {
  provider.person = subject;
  await page.getByRole('link', { name: 'Sign in with Acme SSO' }).click();
}

/** A person follows a link, signs in, and stands where it led; so does one whose session ended. */
export async function deepLink(console: ConsoleServer): Promise<void> {
  const visit = await signInMember(console, 'viewer', 'linked');
  const { page, context, open } = visit;
  const address = 'generations?status=completed&model=acme%2Fsmall';
  await context.clearCookies();
  await open(address);
  await throughProvider(console, visit, 'linked');
  await page.waitForURL(`${console.server.url}/console/${address}`);
  await page.getByRole('heading', { name: 'Generations' }).waitFor();

  await context.clearCookies();
  // not a click: what the page asks by itself may have opened the dialog already
  await page.getByRole('link', { name: 'Tasks' }).first().dispatchEvent('click');
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
  await open('tasks?view=table');
  await throughProvider(console, visit, 'linked');
  await page.waitForURL(`${console.server.url}/console/tasks?view=table`);
  await page.getByRole('heading', { name: 'Tasks' }).waitFor();
  await context.close();
}

/** The page that explains a failed sign-in also takes a key. */
export async function keyOnSignInPage(console: ConsoleServer): Promise<void> {
  const { page, context, open, customer, wrongs } = await console.visit();
  await open('sign-in?problem=provider_away');
  await page.getByLabel('API key').fill(customer.secret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(wrongs).toEqual([]);
  await context.close();
}

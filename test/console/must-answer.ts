import type { Page } from 'playwright-core';
import type { ConsoleServer } from './console-server.ts';

/** Dialogs that show something once, or that the page cannot go on without, stay until they are answered. */

/** More often than Chromium lets a page object to being closed. */
const ESCAPES = 4;

async function staysOpen(page: Page, text: string): Promise<void> {
  const shown = page.locator('dialog[open]').getByText(text).first();
  await shown.waitFor();
  for (let times = 0; times < ESCAPES; times += 1) {
    await page.keyboard.press('Escape');
  }
  // as a gesture or another way of the browser to close a dialog, which no key press announces
  await page.evaluate('document.querySelector("dialog[open]")?.close()');
  await page.waitForTimeout(200);
  expect(await shown.isVisible()).toBe(true);
}

export async function keySecretStays(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs } = await console.signIn();
  await open('keys');
  const create = page.getByRole('button', { name: 'Create key' });
  await create.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('kept');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await staysOpen(page, 'sk-tg-');
  await dialog.getByLabel('I have saved it').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
  // a dialog that the browser closes by itself is gone for the page, too
  await create.click();
  await dialog.getByLabel('Name').waitFor();
  await page.evaluate('document.querySelector("dialog[open]").close()');
  await dialog.waitFor({ state: 'detached' });
  await create.click();
  await dialog.getByLabel('Name').waitFor();
  expect(wrongs).toEqual([]);
  await context.close();
}

export async function invitationStays(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs } = await console.signIn();
  await open('members');
  await page.getByRole('button', { name: 'Invite a member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail address').fill('eve@example.com');
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click();
  await staysOpen(page, '?invitation=');
  expect(wrongs).toEqual([]);
  await context.close();
}

export async function ownerKeyStays(console: ConsoleServer): Promise<void> {
  const { page, context, open, wrongs } = await console.signInOperator();
  await open('operator/accounts');
  await page.getByRole('button', { name: 'Open account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Kept Ltd');
  await dialog.getByRole('button', { name: 'Open account' }).click();
  await staysOpen(page, 'sk-tg-');
  expect(wrongs).toEqual([]);
  await context.close();
}

export async function loginStays(console: ConsoleServer): Promise<void> {
  const { page, context, open } = await console.signIn();
  await open('keys');
  await context.clearCookies();
  await page.getByRole('link', { name: 'Billing' }).first().dispatchEvent('click');
  await staysOpen(page, 'Sign in again');
  await context.close();
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findChromium } from '../setup/chromium-from-apt.ts';

/** A name of this machine that is not `localhost`, so that a browser treats pages from it as those of plain http. */
export const PLAIN_HTTP_HOST = 'tollgate.test';

/** Starts Chromium headless and without anything that uses the network on its own. */
export async function startBrowser(): Promise<Browser> {
  const { command, environment } = await findChromium(process.env);
  return await chromium.launch({
    executablePath: command,
    env: { ...process.env, ...environment } as Record<string, string>,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${PLAIN_HTTP_HOST} 127.0.0.1`,
    ],
  });
}

/** Saves a screenshot of a page in the folder named by SCREENSHOTS, for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }
}

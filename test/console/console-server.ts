import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
// @ts-expect-error: a plain Node script without types
import { buildConsole } from '../../ops/build-console.mjs';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { startOpenIdProvider, type TestOpenIdProvider } from '../api/support/openid-provider.ts';
import { startWholeApplication } from '../api/support/whole-application.ts';
import { startBrowser } from '../browser/browser.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { type Customer, createCustomer } from '../operators/support/customer.ts';
import { ADMIN_TOKEN, type OperatorServer } from '../operators/support/operator-server.ts';
import { type OperatorWorker, startOperatorWorker } from '../operators/support/operator-worker.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The whole service with its console, a worker and a browser, as a person uses it. */
export interface ConsoleServer {
  readonly server: OperatorServer;
  readonly browser: Browser;
  /** The OpenID provider where people sign in as themselves. */
  readonly provider: TestOpenIdProvider;
  /** Folder of the built console. */
  readonly folder: string;
  /** Opens a browser profile of a signed-in customer, by default a new one. */
  signIn(options?: BrowserContextOptions, customer?: Customer): Promise<Visit>;
  /** Opens a browser profile of a signed-in operator. */
  signInOperator(options?: BrowserContextOptions): Promise<Visit>;
  /** Stops the worker as an operator does. */
  stopWorker(): Promise<void>;
  /** Opens a page on which nobody is signed in. */
  visit(options?: BrowserContextOptions): Promise<Visit & { readonly customer: Customer }>;
  close(): Promise<void>;
}

/** A page and everything that went wrong on it: messages, errors, policy violations, requests to other hosts. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly customer: Customer;
  readonly wrongs: string[];
  readonly requests: string[];
  open(path: string): Promise<void>;
  /** Closes the browser profile of a test that answers requests itself: one of the page's own may be on its way. */
  leave(): Promise<void>;
}

/** Builds the console into a new folder of its own. */
async function builtConsole(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = ownTemporaryFolder('console');
  await buildConsole(ROOT, folder);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Starts the whole service. With an OpenAI images server there is also the model acme/picture. */
export async function startConsole(redisDatabase: number, picturesUrl?: string): Promise<ConsoleServer> {
  const [built, browser] = await Promise.all([builtConsole(), startBrowser()]);
  const port = await choosePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await startOpenIdProvider(publicUrl);
  const server = await startWholeApplication({
    redisDatabase,
    port,
    consoleFolder: built.folder,
    environment: { PUBLIC_URL: publicUrl, ...provider.settings },
    ...(picturesUrl !== undefined && { picturesUrl }),
  });
  const worker: OperatorWorker = await startOperatorWorker(server.environment);
  let stopped: Promise<void> | undefined;
  const stopWorker = () => {
    stopped ??= worker.close();
    return stopped;
  };
  const visit = async (options: BrowserContextOptions = {}, known?: Customer) => {
    const customer = known ?? (await createCustomer(server));
    return { ...(await openVisit(browser, server, options)), customer };
  };
  return {
    server,
    browser,
    provider,
    folder: built.folder,
    visit,
    signIn: async (options, customer) => {
      const opened = await visit(options, customer);
      await opened.open('');
      await opened.page.getByLabel('API key').fill(opened.customer.secret);
      await opened.page.getByRole('button', { name: 'Sign in' }).click();
      await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
      return opened;
    },
    signInOperator: async (options) => {
      const opened = await visit(options);
      await opened.page.goto(`${server.url}/admin/login?next=/console/operator`);
      await opened.page.getByLabel('token').fill(ADMIN_TOKEN);
      await opened.page.getByRole('button', { name: 'Sign in' }).click();
      await opened.page.getByRole('heading', { name: 'Home' }).waitFor();
      return opened;
    },
    stopWorker,
    close: async () => {
      await browser.close();
      await stopWorker();
      await server.close();
      await provider.close();
      await built.remove();
    },
  };
}

async function openVisit(browser: Browser, { url }: OperatorServer, options: BrowserContextOptions) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrongs: string[] = [];
  const requests: string[] = [];
  page.on(
    'console',
    (message) => message.type() !== 'debug' && wrongs.push(`${message.type()}: ${message.text()}`),
  );
  page.on('pageerror', (error) => wrongs.push(`error: ${error.message}`));
  page.on('request', (request) => {
    requests.push(`${request.method()} ${request.url().replace(url, '')}`);
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) {
      wrongs.push(`request to another host: ${request.url()}`);
    }
  });
  const open = async (path: string) => {
    await page.goto(`${url}/console/${path}`);
    await page.locator('#content h1, .login-box h1').first().waitFor({ state: 'attached' });
  };
  const leave = async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  };
  return { context, page, wrongs, requests, open, leave };
}

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PrivateApt } from '../../ops/embedded/private-apt.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { unpackedPackages } from './debian-packages.ts';

/** How to run Chromium. */
export interface Chromium {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** For `beforeAll`: the first time on a machine, packages are downloaded. */
export const CHROMIUM_TIMEOUT_MS = 300_000;

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/google-chrome'];
/** Chromium without windows, which needs half the libraries, and the resources it reads from its own folder. */
const PACKAGES = ['chromium-headless-shell', 'chromium-common', 'fonts-dejavu-core'];
/** Drivers of graphics cards and what runs outside a browser process: of no use without a screen. */
const NOT_NEEDED = /^(libllvm|libz3|libgl1-mesa|libglx-mesa|mesa-|libdrm-|adwaita|systemd|dbus|xdg-)/;

/**
 * Finds Chromium on the system or in the per-user cache, or fetches its Debian packages there (about 130 MB where none of its
 * libraries is installed, once). Throws an Error that says why there is none: a page nobody has opened is not tested.
 */
export async function findChromium(environment: NodeJS.ProcessEnv): Promise<Chromium> {
  const installed = INSTALLED.find(existsSync);
  if (installed !== undefined) {
    return { command: installed, environment: {} };
  }
  const choice = { name: 'chromium', packages: packageNames, works };
  return chromiumIn(await unpackedPackages(choice, environment));
}

function chromiumIn(folder: string): Chromium {
  const libraries = ['lib', 'usr/lib'].flatMap((place) => {
    const parent = join(folder, place);
    const names = existsSync(parent) ? readdirSync(parent) : [];
    return names.filter((name) => name.includes('-linux-')).map((name) => join(parent, name));
  });
  return {
    command: join(folder, 'usr', 'lib', 'chromium', 'chromium-headless-shell'),
    environment: {
      LD_LIBRARY_PATH: libraries.join(':'),
      ...(existsSync('/etc/fonts') ? {} : { FONTCONFIG_PATH: join(folder, 'etc', 'fonts') }),
    },
  };
}

async function works(folder: string): Promise<boolean> {
  const { command, environment } = chromiumIn(folder);
  const options = { env: { ...process.env, ...environment }, timeoutMs: 30_000 };
  return (await runCommand(command, ['--version'], options)).code === 0;
}

/** What an installation would bring here, without what a browser in the background does not load. */
async function packageNames(apt: PrivateApt): Promise<string[]> {
  const parameters = ['install', '--simulate', '--no-install-recommends', ...PACKAGES];
  const result = await apt('apt-get', parameters, 60_000);
  const missing = [...result.stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  return [...new Set([...PACKAGES, ...missing.filter((name) => !NOT_NEEDED.test(name))])];
}

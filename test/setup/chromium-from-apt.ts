import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';

/** The command and environment that run Chromium. */
export interface Chromium {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Timeout for `beforeAll`, in ms: the first run on a machine downloads packages. */
export const CHROMIUM_TIMEOUT_MS = 300_000;

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/google-chrome'];
/** Headless Chromium, which needs half the libraries, and the resources that it reads from its own folder. */
const PACKAGES = ['chromium-headless-shell', 'chromium-common', 'fonts-dejavu-core'];
/** Graphics drivers and programs outside a browser process, which are useless without a screen. */
const NOT_NEEDED = /^(libllvm|libz3|libgl1-mesa|libglx-mesa|mesa-|libdrm-|adwaita|systemd|dbus|xdg-)/;

/**
 * Finds Chromium on the system or in the per-user cache, or downloads its Debian packages there once (about 130 MB when none of its
 * libraries is installed). Throws an Error that gives the reason when that fails: a page that nobody has opened is not tested.
 */
export async function findChromium(environment: NodeJS.ProcessEnv): Promise<Chromium> {
  const installed = INSTALLED.find(existsSync);
  if (installed !== undefined) {
    return { command: installed, environment: {} };
  }
  const choice = { name: 'chromium', packages: PACKAGES, without: NOT_NEEDED, whyNot };
  const folder = await unpackedPackages(choice, environment);
  writeFileSync(fontsFile(folder), fontsConfiguration(folder));
  return chromiumIn(folder);
}

const fontsFile = (folder: string) => join(folder, 'fonts.conf');

/** Configures only the unpacked fonts: the system's configuration does not know their folder, and pages look the same everywhere. */
function fontsConfiguration(folder: string): string {
  const preferred = [
    ['sans-serif', 'DejaVu Sans'],
    ['serif', 'DejaVu Serif'],
    ['monospace', 'DejaVu Sans Mono'],
  ].map(([name, font]) => `<alias><family>${name}</family><prefer><family>${font}</family></prefer></alias>`);
  return `<?xml version="1.0"?>
<fontconfig>
  <dir>${join(folder, 'usr/share/fonts')}</dir>
  <cachedir>${join(folder, 'fonts.cache')}</cachedir>
  ${preferred.join('\n  ')}
</fontconfig>
`;
}

function chromiumIn(folder: string): Chromium {
  return {
    command: join(folder, 'usr', 'lib', 'chromium', 'chromium-headless-shell'),
    environment: {
      LD_LIBRARY_PATH: libraryPath(folder),
      FONTCONFIG_FILE: fontsFile(folder),
    },
  };
}

async function whyNot(folder: string): Promise<string | undefined> {
  const { command, environment } = chromiumIn(folder);
  const options = { env: { ...process.env, ...environment }, timeoutMs: 30_000 };
  return await whyNotRunning(command, ['--version'], options);
}

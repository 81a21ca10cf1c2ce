import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));

/** Test files that take more than half a minute on two cores, or that start whole installations. */
const SLOW =
  /^test\/(browser|console|chaos|deployment\/(backup|cluster|compose)|ledger\/(model|processes)|mutants|start|api\/(fuzz|isolation))\b/;

/** What says that a file wants the Postgres or Redis of the run. */
const WANTS_SERVICES = /\bTEST_(DATABASE|REDIS)/;
const decided = new Map();

/** Whether a test file, or what it imports from test/, wants services. */
function wantsServices(file, importers = new Set()) {
  if (decided.has(file) || importers.has(file)) {
    return decided.get(file) ?? false;
  }
  const text = readFileSync(file, 'utf8');
  const imported = [...text.matchAll(/(?:from|import|URL)\s*\(?\s*'(\.[^']+\.(?:ts|mjs))'/g)]
    .map(([, path]) => resolve(dirname(file), path))
    .filter((path) => path.startsWith(join(ROOT, 'test/')) && existsSync(path));
  const wants =
    WANTS_SERVICES.test(text) || imported.some((path) => wantsServices(path, new Set([...importers, file])));
  decided.set(file, wants);
  return wants;
}

/** The test files below test/ by project. Read from the files themselves: nobody has to keep a list. */
function filesByProject() {
  const files = { standalone: [], service: [], slow: [] };
  for (const path of readdirSync(join(ROOT, 'test'), { recursive: true })) {
    if (path.endsWith('.test.ts')) {
      const name = `test/${path}`;
      const project = SLOW.test(name) ? 'slow' : wantsServices(join(ROOT, name)) ? 'service' : 'standalone';
      files[project].push(`<rootDir>/${name}`);
    }
  }
  return files;
}

/** Entry files of packages that are slow to load and behave the same for every test file. */
const SHARED_PACKAGES = [
  'sequelize/lib/index',
  'pg/lib/index',
  'umzug/lib/index',
  'ioredis/built/index',
  'bullmq/dist/cjs/index',
  'undici/index',
  'yaml/dist/index',
  'fluent-ffmpeg/index',
  'playwright-core/index',
  '@bull-board/api/dist/index',
  '@bull-board/api/bullMQAdapter',
  '@bull-board/express/dist/index',
  '@opentelemetry/api/build/src/index',
  'pino/pino',
  'semver/index',
  'sharp/dist/index',
  'zod/index',
  'gpt-tokenizer/esm/encoding/o200k_base',
].join('|');

const shared = {
  testEnvironment: '<rootDir>/test/setup/environment.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    [`/node_modules/(${SHARED_PACKAGES})\\.js$`]: '<rootDir>/test/setup/shared-package.js',
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${SHARED_PACKAGES})\\.js$)`],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.data/'],
};

const services = {
  globalSetup: '<rootDir>/test/setup/global-setup.ts',
  globalTeardown: '<rootDir>/test/setup/global-teardown.ts',
  setupFiles: ['<rootDir>/test/setup/own-redis.ts'],
};
const prepared = { globalSetup: '<rootDir>/test/setup/prepare-run.ts' };
const { standalone, service, slow } = filesByProject();

/** @type {import('jest').Config} */
export default {
  projects: [
    // beside the code: neither services nor programs
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/{src,queues,workers,migrations,ops,console}/**/*.test.ts'],
    },
    // real servers, engines and encoders, but no Postgres or Redis
    { ...shared, ...prepared, displayName: 'standalone', testMatch: standalone },
    { ...shared, ...services, displayName: 'service', testMatch: service },
    { ...shared, ...services, displayName: 'slow', testMatch: slow },
  ],
  // ends what hangs, and is no measure of speed: on two cores at an eighth of their speed a start of seven processes took over a minute
  testTimeout: 600_000,
  // every test file leaves compiled modules behind: a worker of 2 GB takes longer to exit than Jest waits
  workerIdleMemoryLimit: '1GB',
  // … and one that grew too large with its last file is started anew only to be ended: at Jest's 500 ms that looked like a leak
  workerGracefulExitTimeout: 5_000,
  testSequencer: '<rootDir>/test/setup/long-first.js',
  reporters: ['default', '<rootDir>/test/setup/count-reporter.js'],
};

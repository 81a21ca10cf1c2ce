import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { environmentWithCurl } from '../setup/curl-from-apt.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { describeMainJob } from './main-job.ts';
import { startService } from './running-service.ts';

const run = promisify(execFile);
const EXAMPLES = fileURLToPath(new URL('../../docs/examples/', import.meta.url));

/** An address where nothing listens. */
const NOBODY = 'http://127.0.0.1:9';

describeMainJob(
  () => startService(),
  (service) => {
    describe('the examples run as written', () => {
      const environment = () => ({
        ...process.env,
        TOLLGATE_URL: service().url,
        TOLLGATE_KEY: service().key,
      });

      test.each(['openai.mjs', 'anthropic.mjs'])('%s', async (file) => {
        const { stdout } = await run(process.execPath, [join(EXAMPLES, file)], { env: environment() });
        expect(stdout).toMatch(/builtin model[\s\S]*\d+ tokens\n$/);
      });

      test.each([
        ['openai.mjs', {}, 'set TOLLGATE_KEY to an API key'],
        ['anthropic.mjs', {}, 'set TOLLGATE_KEY to an API key'],
        ['curl.sh', {}, 'TOLLGATE_KEY: set it to an API key'],
        ['openai.mjs', { TOLLGATE_KEY: 'sk-wrong' }, '401 the API key is not valid'],
        ['anthropic.mjs', { TOLLGATE_KEY: 'sk-wrong' }, '401 the API key is not valid'],
        ['openai.mjs', { TOLLGATE_KEY: 'k', TOLLGATE_URL: NOBODY }, `${NOBODY}: Connection error`],
        ['anthropic.mjs', { TOLLGATE_KEY: 'k', TOLLGATE_URL: NOBODY }, `${NOBODY}: Connection error`],
      ])('%s with %j says what is the matter in one line', async (file, settings, words) => {
        const env = { PATH: process.env.PATH, TOLLGATE_URL: service().url, ...settings };
        const program = file.endsWith('.sh') ? 'bash' : process.execPath;
        const failed = await run(program, [join(EXAMPLES, file)], { env }).catch((error: unknown) => error);
        expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
        expect((failed as { stderr: string }).stderr.trim().split('\n')).toHaveLength(1);
      });

      test(
        'curl.sh',
        async () => {
          const env = { ...environment(), ...(await environmentWithCurl(process.env)) };
          const { stdout } = await run('bash', [join(EXAMPLES, 'curl.sh')], { env });
          expect(stdout.match(/TASK_STATUS_SUCCEED/g)).toHaveLength(2);
          expect(stdout).toContain('"remaining_credits":"9.');
        },
        PACKAGES_TIMEOUT_MS,
      );
    });
  },
);

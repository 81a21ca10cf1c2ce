import { relative } from 'node:path';
import { headersReference, operatorReference } from '../../ops/reference/api-reference.ts';
import { catalogReference } from '../../ops/reference/catalog-reference.ts';
import { cliReference } from '../../ops/reference/cli-reference.ts';
import { metricNames } from '../../ops/reference/metrics-reference.ts';
import { OTHER_SETTINGS } from '../../ops/reference/settings-reference.ts';
import { taskFailureCodes } from '../../ops/reference/tasks-reference.ts';
import { API_DESCRIPTION } from '../../src/api-description.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import { ROOT } from './compose-file.ts';
import { alertNames, presentPages, read } from './documentation-pages.ts';

/** Every name in the code that readers use is documented, and the docs use no other names. */

const settings = [...Object.keys(SETTINGS.shape), ...OTHER_SETTINGS.map(([name]) => name)];
const commands = [...cliReference().matchAll(/^\| `([a-z -]+[a-z])/gm)].map(([, words = '']) => words);
const headers = [...headersReference().matchAll(/^\| `([\w-]+)`/gm)].map(([, name = '']) => name);

interface Surface {
  readonly surface: string;
  /** The names in the code. */
  readonly inCode: readonly string[];
  /** Returns how a page writes a name. */
  readonly written: (name: string) => string;
  /** Finds names of this kind in pages. */
  readonly pattern: RegExp;
  /** Names of the same form that mean something else. */
  readonly others?: RegExp;
}

const quoted = (name: string) => `\`${name}\``;
const SURFACES: readonly Surface[] = [
  {
    surface: 'settings',
    inCode: settings,
    written: quoted,
    pattern: /`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g,
    // variables of tests, benches, other programs and deployment files; states; constants
    others:
      /^(TASK_|TXT_TO_|ASYNC_|READONLY$|NODE_(EXTRA|OPTIONS)|MALLOC_|CUDA_|HIP_|AWS_|FUZZ_|LEDGER_|STRIPE_SEQ|TEST_|BENCH_|POSTGRES_(?!URL)|REDIS_PASSWORD|GRAFANA_|TOLLGATE_(QUEUES|IMAGE|KEY)|S3_LISTEN|DATABASE_(APPLICATION|WORKER|SCALER|OWNER)_PASSWORD|DATABASE_DRILL_URL$|[A-Z]+_(API_)?KEY$|ANTHROPIC_|OPENAI_|OLLAMA_|COPILOT_|SUBMIT_UNCONFIRMED$|[A-Z0-9_]+_FILE$)/,
  },
  {
    surface: 'metrics',
    inCode: metricNames(),
    written: quoted,
    pattern: /`(tollgate_[a-z_]+)`/g,
    others: /^tollgate_(app|owner|worker|scaler|drill)$/,
  },
  {
    surface: 'error codes',
    inCode: errorCodes().map(({ code }) => code),
    written: quoted,
    pattern: /\b[45]\d\d `([a-z_]+)`/g,
  },
  {
    surface: 'codes of failed tasks',
    inCode: taskFailureCodes(),
    written: quoted,
    pattern: /fails with `([a-z_]+)`/g,
  },
  {
    surface: 'headers',
    inCode: headers,
    written: quoted,
    pattern: /`(x-[a-z-]+[a-z])(?:: [^`]*)?`/gi,
    others:
      /^x-(forwarded-for|accel-buffering|event-stream|other-media-types|webhooks|my-version|extensible-enum|content-type-options)/i,
  },
  {
    surface: 'commands',
    inCode: commands,
    written: (name) => `\`${name}`,
    pattern: /`tollgate ([a-z][a-z -]*[a-z])/g,
  },
  { surface: 'alerts', inCode: alertNames(), written: (name) => name, pattern: /\b(Tollgate[A-Z]\w+)/g },
  {
    surface: 'operator operations',
    inCode: [...operatorReference().matchAll(/^\| `([A-Z]+ \/admin[^`]+)`/gm)].map(([, name = '']) => name),
    written: quoted,
    pattern: /`((?:GET|POST|PATCH|DELETE) \/admin[^`?\s]*)`/g,
  },
  {
    surface: 'settings of tollgate.yaml',
    inCode: [
      ...new Set([...catalogReference().matchAll(/^\| `([\w.<>[\]]+)` \|/gm)].map(([, name = '']) => name)),
    ],
    written: quoted,
    pattern: /`((?:media|pricing|runs|limits|timeouts|process)\.[a-z_]+)`/g,
    others: /\.ts$/,
  },
  {
    surface: 'webhook events',
    inCode: Object.keys(API_DESCRIPTION.events),
    written: quoted,
    pattern: /`((?:credits|key)\.[a-z_]+|ASYNC_[A-Z_]+)`/g,
  },
];

const TEXTS = presentPages.map((page) => ({ page, text: read(page) }));

/** Returns the names that are in the code but in no page, and vice versa. The figures are for the title of the test. */
function compared(row: Surface) {
  const { inCode, written, pattern, others } = row;
  const all = TEXTS.map(({ text }) => text).join('\n');
  const missing = inCode.filter((name) => !all.includes(written(name)));
  const known = (name: string) =>
    inCode.some((one) => one === name || one.toLowerCase() === name.toLowerCase()) ||
    (row.surface === 'commands' && inCode.some((command) => `${name} `.startsWith(`${command} `)));
  const unknown = TEXTS.flatMap(({ page, text }) =>
    [...text.matchAll(pattern)]
      .map(([, name = '']) => name)
      .filter((name) => !known(name) && !others?.test(name))
      .map((name) => `${relative(ROOT, page)}: ${name}`),
  );
  const figures = { code: inCode.length, docs: inCode.length - missing.length, gap: missing.length };
  return { surface: row.surface, missing, unknown, ...figures };
}

test.each(SURFACES.map(compared))(
  '$surface: $code in the code, $docs in the docs, $gap missing; no unknown name in the docs',
  ({ code, missing, unknown }) => {
    expect(code).toBeGreaterThan(2);
    expect({ missing, unknown }).toEqual({ missing: [], unknown: [] });
  },
);

import { z } from 'zod';
import { SETTINGS } from '../../src/config/settings.ts';
import { SECRETS } from '../../src/lib/secret-files.ts';
import { markdownTable, schemaRows } from './schema-table.ts';

/** Settings that are read outside the configuration of the processes: by whom, and what for. */
export const OTHER_SETTINGS: readonly (readonly [name: string, reader: string, meaning: string])[] = [
  [
    'DATABASE_OWNER_URL',
    'the migration, `npm start`',
    'the role that owns the schema; default: `DATABASE_URL`',
  ],
  [
    'DATABASE_WORKER_ROLE',
    'the migration',
    'a role that may only claim and settle tasks, for hosts that only generate',
  ],
  ['DATABASE_SCALER_ROLE', 'the migration', 'a role that may only count tasks by pool and state, for KEDA'],
  [
    'LOG_KEEP_MB',
    '`npm start`',
    'size of each log in `DATA_DIR/logs`, the live file and four older ones together; 5 to 999999, default 100',
  ],
  [
    'OTEL_RESOURCE_ATTRIBUTES',
    'the API, workers',
    'with `OTEL_EXPORTER_OTLP_ENDPOINT`: attributes of the process in traces, e.g. `deployment.environment.name=production`',
  ],
  [
    'OTEL_SERVICE_NAME',
    'the API, workers',
    'service name in traces; default `tollgate-api`, `tollgate-worker`',
  ],
  ['TOLLGATE_URL', '`tollgate`', 'address of the service; default `http://localhost:8080`'],
  [
    'XDG_CACHE_HOME',
    '`npm start`, `npm test`',
    'where a downloaded Redis is stored, in `tollgate/`; default `~/.cache`',
  ],
];

const HEAD = `# Settings

\`npm run generate\` writes this page from the code. Every process reads its settings once, from the environment. \`npm start\` also reads a file
\`.env\` beside \`package.json\`; the environment takes precedence. \`make-env.sh\` writes the same file for Docker: use separate clones, or
\`npm start\` will run with the settings of production. An empty value counts as unset. Spaces and line breaks at the ends of a value are ignored,
except in \`TOLLGATE_SECRET\`, \`TOLLGATE_SECRET_PREVIOUS\` and \`DATA_DIR\`. On a wrong setting the process exits with code 2 and one line that names
it; so it does on a setting that has no effect because the one it belongs to is not set.

Secrets can stay in files, as orchestrators mount them: \`ADMIN_TOKEN_FILE=/run/secrets/admin_token\` stands for \`ADMIN_TOKEN\`, and so for
${SECRETS.filter((name) => name !== 'ADMIN_TOKEN')
  .map((name) => `\`${name}\``)
  .join(
    ', ',
  )}. The file is read at the start, a trailing line break is not part of the secret, and setting both variables is an
error. A variable of \`tollgate.yaml\` may come from a file, too (\`OPENAI_API_KEY_FILE\` for \`\${OPENAI_API_KEY}\`): it is read whenever the catalog is, so a new
key needs only a SIGHUP, not a restart. The migration, \`npm start\` and \`tollgate\` support the same names.

`;

const MIDDLE = `

\`npm start\` provides \`DATABASE_URL\`, \`REDIS_URL\`, \`TOLLGATE_SECRET\` and \`ADMIN_TOKEN\` if they are not set; processes started individually
require them. With \`HOST=0.0.0.0\` the default of \`PUBLIC_URL\` begins with \`http://localhost\`, so set it.

## Read elsewhere

`;

/** Returns every setting as a page of the docs. */
export function settingsReference(): string {
  const rows = schemaRows(SETTINGS).map(({ path, allowed, fallback, description }) => [
    `\`${path}\``,
    allowed,
    fallback || defaultOf(path),
    description,
  ]);
  const others = OTHER_SETTINGS.map(([name, reader, meaning]) => [`\`${name}\``, reader, meaning]);
  return `${HEAD}${markdownTable(['Variable', 'Allowed', 'Default', ''], rows)}${MIDDLE}${markdownTable(['Variable', 'Read by', ''], others)}
`;
}

/**
 * Returns the default of a setting that is converted to something other than text, which a JSON Schema of the text cannot
 * express.
 */
function defaultOf(name: string): string {
  const schema = (SETTINGS.shape as Record<string, z.ZodType>)[name];
  const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
  return typeof value === 'number' ? `\`${value}\`` : '';
}

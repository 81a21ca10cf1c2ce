import { z } from 'zod';
import { SETTINGS } from '../../src/config/settings.ts';
import { markdownTable, schemaRows } from './schema-table.ts';

/** What is read outside of the processes' configuration, by whom, and what for. */
export const OTHER_SETTINGS: readonly (readonly [name: string, reader: string, meaning: string])[] = [
  [
    'DATABASE_OWNER_URL',
    'the migration, `npm start`',
    'the role that owns the schema; default: `DATABASE_URL`',
  ],
  [
    'DATABASE_WORKER_ROLE',
    'the migration',
    'a role that may claim and settle tasks and nothing else, for hosts that only generate',
  ],
  [
    'LOG_KEEP_MB',
    '`npm start`',
    'size of each log in `DATA_DIR/logs`, the live file and four older ones together; 5 to 999999, default 100',
  ],
  ['TOLLGATE_URL', '`tollgate`', 'where the service is; default `http://localhost:8080`'],
  [
    'XDG_CACHE_HOME',
    '`npm start`, `npm test`',
    'where a fetched Redis is kept, in `tollgate/`; default `~/.cache`',
  ],
];

const HEAD = `# Settings

\`npm run generate\` writes this page from the code. Every process reads its settings once, from the environment; \`npm start\` also reads a
file \`.env\` beside \`package.json\`; the environment wins over it. \`make-env.sh\` writes the same file for Docker: use separate clones, or your
\`npm start\` runs with production's settings. An empty value counts as not set. A wrong setting ends the process with exit code 2 and one line
that names it.

`;

const MIDDLE = `

\`npm start\` makes \`DATABASE_URL\`, \`REDIS_URL\`, \`TOLLGATE_SECRET\` and \`ADMIN_TOKEN\` if they are not set; processes started one by one require
them. With \`HOST=0.0.0.0\` the default of \`PUBLIC_URL\` begins with \`http://localhost\`: set it.

## Read elsewhere

`;

/** Every setting as a page of the docs. */
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

/** The default of a setting that is turned into something else than text, which a JSON Schema of the text cannot tell. */
function defaultOf(name: string): string {
  const schema = (SETTINGS.shape as Record<string, z.ZodType>)[name];
  const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
  return typeof value === 'number' ? `\`${value}\`` : '';
}

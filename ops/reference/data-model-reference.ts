import { readFileSync } from 'node:fs';
import { LEDGER_TABLES } from '../../migrations/rights.ts';
import { markdownTable } from './schema-table.ts';

const SCHEMA = new URL('../../migrations/schema.sql', import.meta.url);
const FOR_EVER = 'for ever';
const WITH_TASK = "with the task's row";

type Meaning = readonly [row: string, kept: string];

/** What a row of each table is, and how long it stays. */
const GROUPS: readonly (readonly [title: string, tables: Readonly<Record<string, Meaning>>])[] = [
  [
    'Accounts and keys',
    {
      accounts: ['an account', 'for ever; `tollgate accounts erase` takes out whose it was'],
      api_keys: [
        'a key: its SHA-256, never its secret; what it spent and holds, in nano-USD',
        'for ever where a call of it was settled, else 90 days after it was deleted or expired',
      ],
      console_sessions: ['a sign-in of a browser', 'twelve hours at most, then until a later sign-in'],
      members: [
        'a person in an account, with their role: who the OpenID provider says it is, and the key they act by',
        'until they are removed or the account is erased',
      ],
      operator_sessions: [
        'a sign-in of an operator by the OpenID provider',
        'eight hours at most, then until a later sign-in',
      ],
      invitations: [
        'an e-mail address that may join, and the SHA-256 of the link',
        'until it is used or withdrawn, seven days at most, then until a later invitation',
      ],
      webhook_secrets: ["an account's signing secret, encrypted", 'until the account is erased'],
      account_alerts: [
        'when an account wants to hear of low credits and limits, and what it was told',
        'one row each',
      ],
      key_alerts: ['that a key was told to be near its limit', 'one row each'],
    },
  ],
  [
    'Money',
    {
      balances: ['the balance of an account: `posted`, of which `held` is reserved; `debt`', FOR_EVER],
      holds: ['the maximum cost of a call or task that runs', 'until it is settled'],
      generations: ['how a call or task ended: usage, charge, price, attempts; never its content', FOR_EVER],
      booking_references: [
        'which entry a repeated request made: the hash of the request, and its entry',
        FOR_EVER,
      ],
      ledger_entries: ['a movement of money, with the balance after it', FOR_EVER],
      write_offs: ['what was delivered and nobody paid', FOR_EVER],
      write_off_totals: ['their sum by reason, for the gauges', 'one row each'],
      checkout_sessions: ['a purchase, open or paid', FOR_EVER],
      payment_standings: [
        'what the payment provider says of a refund or dispute, and what is booked of it',
        FOR_EVER,
      ],
      payment_moves: ['what a payment moved at its provider: amount, fee, payout', FOR_EVER],
      payment_moves_seen: ['up to when the provider was asked for them', 'one row each'],
      payment_reversals: ['a purchase taken back', FOR_EVER],
      payment_reinstatements: ['a purchase given back after a dispute was won', FOR_EVER],
      webhook_inbox: ['an event of the payment provider', FOR_EVER],
    },
  ],
  [
    'Statements and proof',
    {
      invoices: ['the statement of an account for a month that is over', FOR_EVER],
      documents: ['a statement or receipt as it was issued: number and PDF', FOR_EVER],
      document_csv_parts: ["a piece of a statement's CSV", FOR_EVER],
      ledger_checks: ['a run of the invariants', '90 days; for ever where one was broken'],
      backups: ['a backup of the database: when, and its bytes', FOR_EVER],
      ledger_watermarks: ['up to which entry an account is proven, each minute', 'one row each'],
      ledger_proofs: [
        'up to which time an account is proven, each night, and to what it added up',
        'one row each',
      ],
      ledger_key_proofs: ['what a key had spent by then', 'one row each'],
      statement_proofs: ['when a final statement was proven again', 'one row each'],
      ledger_seals: ["the digest of an account's entries up to one of them", FOR_EVER],
      call_archives: ['a month whose calls were exported to a file', FOR_EVER],
      audit_log: ['an action of an operator', FOR_EVER],
      audit_seals: ['the digest of the audit log up to an action', FOR_EVER],
    },
  ],
  [
    'Reports and prices',
    {
      usage_rollups: ['usage and charge of five minutes, by key, endpoint and model', FOR_EVER],
      usage_hours: ['the same of an hour', FOR_EVER],
      usage_days: ['the same of a day', FOR_EVER],
      usage_day_marks: ['up to when hours and days of an account are summed', 'one row each'],
      price_versions: ['prices of a model, as generations name them', FOR_EVER],
      price_periods: ['since when they were in force, and by whose catalog', FOR_EVER],
      input_margins: [
        'what a provider counts above our estimate, as learned',
        'one row by provider and model',
      ],
    },
  ],
  [
    'Tasks',
    {
      tasks: [
        'an image or video: state, lease, engine, price. Its prompt only until it ends, with `KEEP_PROMPTS=yes` as long as its files',
        '30 days after its end',
      ],
      task_events: ['a change of its state', WITH_TASK],
      task_outputs: ['a file of it', '24 hours after its end, with the file'],
      webhook_deliveries: ['its end as an event to the customer', WITH_TASK],
      webhook_tries: ['one attempt to deliver it', WITH_TASK],
      workers: ['a worker process: its host, and when it was last heard of', 'a day after that'],
      worker_drains: ['a host that takes no work, and who said so', 'until it is resumed'],
      worker_tokens: [
        'what workers without a database show to the API; of the secret only its hash',
        FOR_EVER,
      ],
      worker_slots: ['what a worker can run at once', 'a day after it was last heard of'],
    },
  ],
  [
    'Requests and the schema itself',
    {
      idempotency_keys: ['an `Idempotency-Key` with its answer, encrypted', '24 hours'],
      schema_migrations: ['a migration that was applied', FOR_EVER],
      schema_functions: ['a file of `migrations/functions`, by its checksum', FOR_EVER],
    },
  ],
];

const HEAD = `# Data model

\`npm run generate\` writes this page from [\`migrations/schema.sql\`](../../migrations/schema.sql), the schema after all migrations, which also
has types, constraints, indexes and functions. Postgres holds all state; Redis only jobs and counters that may be lost.

- **Money** is \`bigint\` nano-USD: \`amount / 1e9\` is dollars. **Times** are \`timestamptz\`. **Ids** are UUIDs that begin with their time; the
  public \`gen-…\`, \`acc_…\` are the same 128 bits in base 32, and \`tollgate search\` leads from a public id to its object.
- **Read as you like**, best from a replica or in a transaction that is read-only. **Write nothing by hand**: money moves through
  functions only, rows marked *append-only* refuse changes even to their owner, and a changed row breaks the seals.
- *By functions*: the application's database role reads the table and writes it through the ledger's functions alone.
- A generation keeps what its row does not say. \`request_id\` is NULL where it follows from the id: the same in base 32 behind \`req_\`, with
  000 for the last three hex digits. \`attempts\` is \`[ms, model]\` where the provider in the row answered at once, for \`provider_cost\`.
  Tokens of caches and reasoning, and \`shortfall\`, are NULL for 0.
- The tables may change with any release: see the [changelog](../../CHANGELOG.md). The [operator API](operator-api.md) changes with care.

What a bookkeeper or analyst asks first (charges and payments of a month, accounts by balance, the dearest models):

\`\`\`sql
SELECT type, contra, count(*), sum(amount) / 1e9 AS usd FROM ledger_entries
 WHERE at >= date_trunc('month', now(), 'UTC') GROUP BY 1, 2 ORDER BY 1, 2;

SELECT a.name, b.posted / 1e9 AS balance, b.held / 1e9 AS held, b.debt / 1e9 AS debt
  FROM balances b JOIN accounts a ON a.id = b.account_id ORDER BY b.posted DESC LIMIT 20;

SELECT model, sum(requests) AS calls, sum(charge) / 1e9 AS usd FROM usage_days
 WHERE day >= now() - interval '30 days' GROUP BY 1 ORDER BY 3 DESC;
\`\`\`

## How they hang together

`;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Tables that its rows must have a row of. */
  readonly parents: readonly string[];
  readonly partitionedBy: string | undefined;
  readonly isAppendOnly: boolean;
}

/** The tables of the schema file, in its order. */
export function tablesOf(schema: string): Table[] {
  return [...schema.matchAll(/^TABLE (\w+)(.*)\n((?: {2}.*\n)*)/gm)].map(
    ([, name = '', options = '', body = '']) => ({
      name,
      columns: [
        ...body.matchAll(
          /^ {2}(\w+) ((?:timestamp with time zone|double precision|[\w()[\]]+))(?= NOT NULL| DEFAULT|$)/gm,
        ),
      ].map(
        ([, column = '', type = '']) =>
          `\`${column}\` ${type.replace('timestamp with time zone', 'timestamptz')}`,
      ),
      parents: [...new Set([...body.matchAll(/REFERENCES (\w+)\(/g)].map(([, parent = '']) => parent))],
      partitionedBy: /PARTITION BY RANGE \((\w+)\)/.exec(options)?.[1],
      isAppendOnly: /BEFORE DELETE OR UPDATE .* EXECUTE FUNCTION refuse_change/.test(body),
    }),
  );
}

function notes({ name, parents, partitionedBy, isAppendOnly }: Table): string {
  return [
    isAppendOnly && '*append-only*',
    LEDGER_TABLES.includes(name) && '*by functions*',
    partitionedBy && `partitioned by month of \`${partitionedBy}\``,
    parents.length > 0 && `of ${parents.map((parent) => `\`${parent}\``).join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** The tables as a page of the docs. Throws for a table that nobody has explained, or that is gone. */
export function dataModelReference(): string {
  const tables = new Map(tablesOf(readFileSync(SCHEMA, 'utf8')).map((table) => [table.name, table]));
  const explained = GROUPS.flatMap(([, rows]) => Object.keys(rows));
  const unlike = [
    ...[...tables.keys()].filter((name) => !explained.includes(name)),
    ...explained.filter((name) => !tables.has(name)),
  ];
  if (unlike.length > 0) {
    throw new Error(
      `ops/reference/data-model-reference.ts: in the schema or here alone: ${unlike.join(', ')}`,
    );
  }
  const links = [...tables.values()].flatMap(({ name, parents }) =>
    parents.map((parent) => `  ${parent} ||--o{ ${name} : ""\n`),
  );
  const drawing = `\`\`\`mermaid\nerDiagram\n${links.join('')}\`\`\`\n\nOnly references that the database enforces are drawn: for speed, rows of calls and tasks name account, key and generation without one, and
the [invariants](../architecture/money.md) check them.\n`;
  const groups = GROUPS.map(([title, rows]) => {
    const found = Object.entries(rows).flatMap(([name, meaning]) => {
      const table = tables.get(name);
      return table ? [[table, meaning] as const] : [];
    });
    const overview = markdownTable(
      ['Table', 'A row is', 'Kept', ''],
      found.map(([table, [row, kept]]) => [`\`${table.name}\``, row, kept, notes(table)]),
    );
    const columns = found.map(([table]) => `- \`${table.name}\`: ${table.columns.join(', ')}`).join('\n');
    return `\n## ${title}\n\n${overview}\n\n${columns}\n`;
  });
  return `${HEAD}${drawing}${groups.join('')}`;
}

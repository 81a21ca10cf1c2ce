import { readFileSync } from 'node:fs';
import { LEDGER_TABLES } from '../../migrations/rights.ts';
import { markdownTable } from './schema-table.ts';

const SCHEMA = new URL('../../migrations/schema.sql', import.meta.url);
const FOR_EVER = 'forever';
const WITH_TASK = "with the task's row";

type Meaning = readonly [row: string, kept: string];

/** The meaning of a row in each table, and how long it is kept. */
const GROUPS: readonly (readonly [title: string, tables: Readonly<Record<string, Meaning>>])[] = [
  [
    'Accounts and keys',
    {
      accounts: ['an account', 'forever; `tollgate accounts erase` removes the personal data'],
      api_keys: [
        'a key: its SHA-256, never its secret; what it has spent and holds, in nano-USD',
        'forever if one of its calls was settled, else 90 days after it was deleted or expired',
      ],
      console_sessions: ['a browser session', 'at most twelve hours, then until a later sign-in'],
      members: [
        'a member of an account: role, identity at the OpenID provider, and the key they act with',
        'until they are removed or the account is erased',
      ],
      operator_sessions: [
        'a browser session of an operator who signed in with the OpenID provider',
        'at most eight hours, then until a later sign-in',
      ],
      invitations: [
        'an invitation: the e-mail address that may join, and the SHA-256 of the link',
        'until it is used or withdrawn, at most seven days, then until a later invitation',
      ],
      webhook_secrets: ["an account's signing secret, encrypted", 'until the account is erased'],
      account_alerts: [
        'the alert settings of an account for low credits and limits, and which alerts were sent',
        'one row each',
      ],
      key_alerts: ['an alert that was sent for a key near its limit', 'one row each'],
    },
  ],
  [
    'Money',
    {
      balances: ['the balance of an account: `posted`, of which `held` is reserved; `debt`', FOR_EVER],
      holds: ['the maximum cost of a running call or task', 'until it is settled'],
      generations: ['an ended call or task: usage, charge, price, attempts; never its content', FOR_EVER],
      booking_references: [
        'the entry that a repeatable request created: the hash of the request, and its entry',
        FOR_EVER,
      ],
      ledger_entries: ['a movement of money, with the resulting balance', FOR_EVER],
      write_offs: ['an amount that was delivered but not paid', FOR_EVER],
      write_off_totals: ['the sum of write-offs by reason, for the gauges', 'one row each'],
      checkout_sessions: ['a purchase, open or paid', FOR_EVER],
      payment_standings: [
        'the state of a refund or dispute at the payment provider, and what of it has been booked',
        FOR_EVER,
      ],
      payment_moves: ['a movement of a payment at its provider: amount, fee, payout', FOR_EVER],
      payment_moves_seen: [
        'the time up to which these movements have been read from the provider',
        'one row each',
      ],
      payment_reversals: ['a purchase taken back', FOR_EVER],
      payment_reinstatements: ['a purchase given back after a dispute was won', FOR_EVER],
      webhook_inbox: ['an event of the payment provider', FOR_EVER],
    },
  ],
  [
    'Statements and proof',
    {
      invoices: ['the statement of an account for a past month', FOR_EVER],
      documents: ['a statement or receipt as issued: number and PDF', FOR_EVER],
      document_csv_parts: ["a part of a statement's CSV", FOR_EVER],
      ledger_checks: ['a run of the invariants', '90 days; forever if one was violated'],
      backups: ['a backup of the database: its time and size in bytes', FOR_EVER],
      ledger_watermarks: ['the entry up to which an account has been verified, every minute', 'one row each'],
      ledger_proofs: [
        'the time up to which an account has been verified, every night, and its sums',
        'one row each',
      ],
      ledger_key_proofs: ['the spending of a key up to that time', 'one row each'],
      statement_proofs: ['the time at which a final statement was last verified', 'one row each'],
      ledger_seals: ["the digest of an account's entries up to one of them", FOR_EVER],
      call_archives: ['a month whose calls were exported to a file', FOR_EVER],
      audit_log: ['an action of an operator', FOR_EVER],
      audit_seals: ['the digest of the audit log up to an action', FOR_EVER],
    },
  ],
  [
    'Reports and prices',
    {
      usage_rollups: ['usage and charges of five minutes, by key, endpoint and model', FOR_EVER],
      usage_hours: ['the same, per hour', FOR_EVER],
      usage_days: ['the same, per day', FOR_EVER],
      usage_hour_totals: ['the charges of an hour, over all keys, endpoints and models', FOR_EVER],
      usage_day_marks: [
        'the time up to which hours, days and totals of an account are summed',
        'one row each',
      ],
      price_versions: ["a version of a model's prices, as generations refer to it", FOR_EVER],
      price_periods: ['a period in which prices were in effect, and the catalog that set them', FOR_EVER],
      input_margins: [
        "the number of tokens by which a provider's count exceeds our estimate, as learned",
        'one row per provider and model',
      ],
    },
  ],
  [
    'Tasks',
    {
      tasks: [
        'an image or video: state, lease, engine, price. Its prompt is kept only until it ends, or with `KEEP_PROMPTS=yes` as long as its files',
        '30 days after its end',
      ],
      task_events: ['a state change of a task', WITH_TASK],
      task_outputs: ['an output file of a task', '24 hours after its end, with the file'],
      webhook_deliveries: ["an event sent to a customer's endpoint, e.g. the end of a task", WITH_TASK],
      webhook_tries: ['one attempt at a delivery', WITH_TASK],
      workers: ['a worker process: its host, and when it last reported', 'a day after its last report'],
      worker_drains: ['a drained host, and who drained it', 'until it is resumed'],
      worker_tokens: ['a token of workers without a database; only the hash of the secret', FOR_EVER],
      worker_slots: ['what a worker can run at once', 'a day after its last report'],
    },
  ],
  [
    'Requests and the schema itself',
    {
      idempotency_keys: ['an `Idempotency-Key` with its response, encrypted', '24 hours'],
      schema_migrations: ['an applied migration', FOR_EVER],
      schema_functions: ['an applied file of `migrations/functions`, with its checksum', FOR_EVER],
    },
  ],
];

const HEAD = `# Data model

\`npm run generate\` writes this page from [\`migrations/schema.sql\`](../../migrations/schema.sql), the schema after all migrations, which also
contains types, constraints, indexes and functions. Postgres holds all state; Redis holds only jobs and counters that may be lost.

- **Money** is \`bigint\` nano-USD: \`amount / 1e9\` is dollars. **Times** are \`timestamptz\`. **Ids** are UUIDs that begin with their time; the
  public \`gen-…\`, \`acc_…\` are the same 128 bits in base 32, and \`tollgate search\` finds the object of a public id.
- **Read as you like**, preferably from a replica or in a read-only transaction. **Write nothing by hand**: money moves only through
  functions, rows marked *append-only* reject changes even by their owner, and a changed row breaks the seals.
- *By functions*: the application's database role reads the table, and writes it only through the ledger's functions.
- A generation stores only what cannot be derived from its row. \`request_id\` is NULL if it follows from the id: the same in base 32 after
  \`req_\`, with 000 as the last three hex digits. \`attempts\` is \`[ms, model]\` if the provider in the row answered on the first attempt, at
  \`provider_cost\`. Cache and reasoning tokens, and \`shortfall\`, are NULL for 0.
- The tables may change with any release: see the [changelog](../../CHANGELOG.md). The [operator API](operator-api.md) changes only with care.

Typical first queries of a bookkeeper or analyst (charges and payments of a month, accounts by balance, models by revenue):

\`\`\`sql
SELECT type, contra, count(*), sum(amount) / 1e9 AS usd FROM ledger_entries
 WHERE at >= date_trunc('month', now(), 'UTC') GROUP BY 1, 2 ORDER BY 1, 2;

SELECT a.name, b.posted / 1e9 AS balance, b.held / 1e9 AS held, b.debt / 1e9 AS debt
  FROM balances b JOIN accounts a ON a.id = b.account_id ORDER BY b.posted DESC LIMIT 20;

SELECT model, sum(requests) AS calls, sum(charge) / 1e9 AS usd FROM usage_days
 WHERE day >= now() - interval '30 days' GROUP BY 1 ORDER BY 3 DESC;
\`\`\`

## Relations

`;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Tables that its foreign keys refer to. */
  readonly parents: readonly string[];
  readonly partitionedBy: string | undefined;
  readonly isAppendOnly: boolean;
}

/** Returns the tables of the schema file, in its order. */
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

/** Returns the tables as a page of the docs. Throws for a table that has no explanation, or that no longer exists. */
export function dataModelReference(): string {
  const tables = new Map(tablesOf(readFileSync(SCHEMA, 'utf8')).map((table) => [table.name, table]));
  const explained = GROUPS.flatMap(([, rows]) => Object.keys(rows));
  const unlike = [
    ...[...tables.keys()].filter((name) => !explained.includes(name)),
    ...explained.filter((name) => !tables.has(name)),
  ];
  if (unlike.length > 0) {
    throw new Error(
      `ops/reference/data-model-reference.ts: only in the schema or only here: ${unlike.join(', ')}`,
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

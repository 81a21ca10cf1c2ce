import { useList } from '../api/lists.ts';
import type { AuditEntry } from '../api/types.gen.ts';
import { to } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import { List } from '../ui/list.tsx';
import { Time } from '../ui/time.tsx';

const LIVE_MS = 15_000;
const DETAIL_MAX = 160;
const HASH = /[0-9a-f]{20,}/g;
const HASH_SHOWN = 8;

/** Operator actions, newest first. */
export function AuditList({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const listing = useList<AuditEntry>('/admin/v1/audit', query, { everyMs: LIVE_MS });
  return (
    <List
      label={t('Audit log')}
      listing={listing}
      rowKey={({ id }) => id}
      empty={t('No entries, or none that match the filters.')}
      columns={[
        { name: t('Time'), cell: ({ at }) => <Time at={at} /> },
        {
          name: t('Operator'),
          cell: ({ actor }) => <span title={actor}>{withShortHashes(actor)}</span>,
          clip: true,
          card: 'wide',
        },
        { name: t('Action'), cell: ({ action }) => <span class="mono">{action}</span> },
        { name: t('Object'), cell: ({ object }) => <ObjectLink object={object} />, clip: true, card: 'wide' },
        { name: t('Detail'), cell: ({ detail }) => detailOf(detail), card: 'wide' },
      ]}
    />
  );
}

function ObjectLink({ object }: { readonly object: string }) {
  return object.startsWith('acc_') ? (
    <a class="mono" href={to(`operator/accounts/${object}`)}>
      {object}
    </a>
  ) : (
    <span class="mono">{object}</span>
  );
}

/** Shortens hashes to as many characters as distinguish those of one day; the tooltip shows them in full. */
function withShortHashes(text: string): string {
  return text.replace(HASH, (hash) => `${hash.slice(0, HASH_SHOWN)}…`);
}

/** Shows the important part of the detail; the tooltip shows all of it. */
function detailOf(of: AuditEntry['detail']) {
  const text = withShortHashes(wordsOf(of).join(', '));
  return text === '' ? (
    '–'
  ) : (
    <span class="audit-detail" title={JSON.stringify(of)}>
      {text.length > DETAIL_MAX ? `${text.slice(0, DETAIL_MAX)} …` : text}
    </span>
  );
}

/** Lists fields by name. Nested objects are listed by their own fields, and prices of zero are omitted. */
function wordsOf(detail: object): string[] {
  return Object.entries(detail).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return wordsOf(value);
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text === '0' ? [] : [`${name.replaceAll('_', ' ')} ${text}`];
  });
}

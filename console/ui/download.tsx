import { useAction } from '../api/action.ts';
import { apiPath, type Query, request } from '../api/client.ts';
import { t } from '../lib/text.ts';
import { Problem } from './feedback.tsx';
import { Icon } from './icon.tsx';

export interface ExportCsvProps {
  /** Path of the list. */
  readonly path: string;
  readonly query: Query;
  /** Name of the file, without extension. */
  readonly name: string;
}

/** Exports every row that matches the page's filters, including rows not loaded yet, as a file with exact decimals. */
export function ExportCsv({ path, query, name }: ExportCsvProps) {
  const exporting = useAction(async () => {
    const answer = await request('GET', apiPath(path, query), { headers: { accept: 'text/csv' } });
    const address = URL.createObjectURL(await answer.blob());
    const link = document.createElement('a');
    link.href = address;
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
  return (
    <>
      <button
        type="button"
        class="button"
        disabled={exporting.isPending}
        onClick={() => void exporting.run()}
      >
        <Icon name="download" /> {t('Export CSV')}
      </button>
      {exporting.error === undefined ? null : <Problem error={exporting.error} />}
    </>
  );
}

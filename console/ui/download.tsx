import { csvText } from '../lib/csv.ts';
import { t } from '../lib/text.ts';
import { Icon } from './icon.tsx';

export interface DownloadCsvProps {
  /** Of the file, without its ending. */
  readonly name: string;
  /** The head and the rows: made when the button is pressed. */
  readonly lines: () => readonly (readonly string[])[];
}

/** Exactly the rows that the page shows, as a file. */
export function DownloadCsv({ name, lines }: DownloadCsvProps) {
  const save = () => {
    const address = URL.createObjectURL(new Blob([csvText(lines())], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  };
  return (
    <button type="button" class="button" onClick={save}>
      <Icon name="download" /> {t('Export CSV')}
    </button>
  );
}

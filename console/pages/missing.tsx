import { BASE } from '../lib/location.ts';
import { t } from '../lib/text.ts';

/** Page for unknown addresses. */
export function MissingPage() {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('There is no such page')}</h1>
      <p>
        <a href={BASE}>{t('Back to the overview')}</a>
      </p>
    </div>
  );
}

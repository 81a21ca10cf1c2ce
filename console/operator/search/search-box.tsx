import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Icon } from '../../ui/icon.tsx';

/** A box that finds any id, number or name, across all accounts. */
export function SearchBox() {
  const { route } = useLocation();
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if ([...text.trim()].length >= 2) {
      route(to('operator/search', { q: text.trim() }));
    }
  };
  return (
    <search class="search">
      <form onSubmit={submit}>
        <input
          type="search"
          aria-label={t('Search by ID, number or name')}
          placeholder={t('ID, number or name')}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="icon-button" aria-label={t('Search')}>
          <Icon name="search" />
        </button>
      </form>
    </search>
  );
}

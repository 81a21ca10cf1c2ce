import { useState } from 'preact/hooks';
import { t } from '../lib/text.ts';
import { Copy } from './copy.tsx';
import { Choice } from './field.tsx';
import type { Snippet } from './snippets.ts';

/** Code in several languages, one shown at a time. It never contains a real key. */
export function CodeTabs({ snippets }: { readonly snippets: readonly Snippet[] }) {
  const [name, choose] = useState(snippets[0]?.name ?? '');
  const chosen = snippets.find((snippet) => snippet.name === name) ?? snippets[0];
  return (
    <div class="form code-form">
      <Choice
        label={t('Client')}
        value={chosen?.name ?? ''}
        options={snippets.map((snippet) => [snippet.name, snippet.name])}
        onChange={choose}
      />
      <div class="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
        <pre tabIndex={0}>{chosen?.code}</pre>
        <span class="code-copy">
          <Copy text={chosen?.code ?? ''} label={t('Copy the code')} />
        </span>
      </div>
    </div>
  );
}

import { useState } from 'preact/hooks';
import { copyText } from '../lib/plain-copy.ts';
import { t } from '../lib/text.ts';
import { Icon } from './icon.tsx';

const TOLD_MS = 1_500;

export interface CopyProps {
  readonly text: string;
  /** What the button does, for users who cannot see the icon. */
  readonly label: string;
  /** Text beside the icon. */
  readonly word?: string;
}

/** Copies a text to the clipboard and confirms it, or says that it could not. */
export function Copy({ text, label, word }: CopyProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>();
  const isDone = outcome === 'copied';
  const copy = async () => {
    const isCopied = await copyText(text);
    setOutcome(isCopied ? 'copied' : 'failed');
    if (isCopied) {
      setTimeout(() => setOutcome(undefined), TOLD_MS);
    }
  };
  const button = (
    <button
      type="button"
      class={word ? 'button' : 'icon-button'}
      aria-label={word ? undefined : label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
      {word === undefined ? null : <span>{isDone ? t('Copied') : word}</span>}
      <span class="hidden-text" role="status">
        {isDone && word === undefined ? t('Copied') : ''}
      </span>
    </button>
  );
  return outcome === 'failed' ? (
    <>
      {button}{' '}
      <span class="small status-bad" role="alert">
        {t('Not copied: select the text and copy it.')}
      </span>
    </>
  ) : (
    button
  );
}

/** An id that can be copied. */
export function Id({ value }: { readonly value: string }) {
  return (
    <span class="id">
      <span class="mono">{value}</span>
      <Copy text={value} label={t('Copy {what}', { what: value })} />
    </span>
  );
}

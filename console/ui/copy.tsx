import { useState } from 'preact/hooks';
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

/** Copies a text to the clipboard and confirms it. */
export function Copy({ text, label, word }: CopyProps) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), TOLD_MS);
  };
  return (
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

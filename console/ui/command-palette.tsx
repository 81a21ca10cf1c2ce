import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { t } from '../lib/text.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';

/** Something to go to or to do, named by its English text. */
export interface Command {
  readonly word: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly run: () => void;
}

export interface CommandPaletteProps {
  readonly commands: readonly Command[];
  /** Finds commands for a text that is not a command itself, such as an id. */
  readonly find: (text: string) => readonly Command[];
}

/** Finds everything by name, from anywhere; opened by Ctrl K or by its button. */
export function CommandPalette(props: CommandPaletteProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen((open) => !open && document.querySelector('dialog[open]') === null);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        class="icon-button palette-button"
        aria-label={t('Go to a page or perform an action')}
        aria-keyshortcuts="Control+K"
        title="Ctrl K"
        onClick={() => setOpen(true)}
      >
        <Icon name="command" />
      </button>
      {isOpen ? <Choices {...props} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

/** A combobox whose list is always open: focus stays in the text field, and arrow keys choose what Enter selects. */
function Choices({ commands, find, onClose }: CommandPaletteProps & { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const wanted = text.trim();
  const found = [...commands.filter((command) => fits(command, wanted)), ...find(wanted)];
  const take = (command: Command | undefined) => {
    if (command) {
      onClose();
      command.run();
    }
  };
  const onKey = (event: KeyboardEvent) => {
    const moved = moveOf(event.key, at, found.length);
    if (moved !== undefined) {
      event.preventDefault();
      setAt(moved);
      document.getElementById(`${list}-${moved}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      take(found[at]);
    }
  };
  return (
    <Dialog title={t('Go to')} first={input} onClose={onClose}>
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={list}
        aria-activedescendant={found.length === 0 ? undefined : `${list}-${at}`}
        aria-label={t('A page, an action or an ID')}
        placeholder={t('A page, an action or an ID')}
        value={text}
        onKeyDown={onKey}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      {found.length === 0 ? (
        <p class="quiet">{t('No matches.')}</p>
      ) : (
        <div id={list} role="listbox" class="palette" aria-label={t('Go to')}>
          {found.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text above, where focus stays
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <div
              key={nameOf(command)}
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === at}
              onClick={() => take(command)}
            >
              {nameOf(command)}
            </div>
          ))}
        </div>
      )}
    </Dialog>
  );
}

function nameOf({ word, values }: Command): string {
  return t(word, values);
}

/** Returns whether every word of the text is in the name. */
function fits(command: Command, text: string): boolean {
  const name = nameOf(command).toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => name.includes(part));
}

/** Returns where a key moves in a list of `count` items; undefined for other keys. */
function moveOf(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return count === 0 ? 0 : (at + 1) % count;
    case 'ArrowUp':
      return count === 0 ? 0 : (at + count - 1) % count;
    default:
      return undefined;
  }
}

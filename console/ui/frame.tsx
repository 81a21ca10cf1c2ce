import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { t } from '../lib/text.ts';
import { type Command, CommandPalette, type CommandPaletteProps } from './command-palette.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface Entry {
  readonly href: string;
  readonly icon: IconName;
  readonly word: string;
  /** Whether this page, or section, is shown. */
  readonly isCurrent: boolean;
}

export interface FrameProps {
  readonly home: string;
  readonly brand: string;
  readonly entries: readonly Entry[];
  /** Content beside the name at the top. */
  readonly top: ComponentChildren;
  /** Label of the menu at the top right, and its content. */
  readonly menuName: string;
  readonly menu: ComponentChildren;
  /** What Ctrl K offers besides the pages. */
  readonly palette: CommandPaletteProps;
  readonly children: ComponentChildren;
}

/** How many entries fit side by side on a phone; the others are behind "More". */
const BAR_ENTRIES = 4;

/** Navigation and a top bar around every page. */
export function Frame({ home, brand, entries, top, menuName, menu, palette, children }: FrameProps) {
  const { route } = useLocation();
  const pages = entries.map(({ word, href }): Command => ({ word, run: () => route(href) }));
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t('Skip to content')}
      </button>
      <header class="top">
        <a class="brand" href={home}>
          {brand}
        </a>
        {top}
        <CommandPalette commands={[...pages, ...palette.commands]} find={palette.find} />
        <TopMenu name={menuName}>{menu}</TopMenu>
      </header>
      <SideBar entries={entries} />
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
      <BottomBar entries={entries} />
    </div>
  );
}

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <>
      {entries.map(({ href, icon, word, isCurrent }) => (
        <li key={href}>
          <a href={href} aria-current={isCurrent ? 'page' : undefined}>
            <Icon name={icon} />
            <span>{t(word)}</span>
          </a>
        </li>
      ))}
    </>
  );
}

function SideBar({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <nav class="side" aria-label={t('Pages')}>
      <ul>
        <Entries entries={entries} />
      </ul>
    </nav>
  );
}

function BottomBar({ entries }: { readonly entries: readonly Entry[] }) {
  const ref = useCloseOnLeave();
  return (
    <nav class="bottom" aria-label={t('Pages')}>
      <ul>
        <Entries entries={entries.slice(0, BAR_ENTRIES)} />
        <li>
          <details ref={ref} class="more">
            <summary>
              <Icon name="more" />
              <span>{t('More')}</span>
            </summary>
            <ul class="menu">
              <Entries entries={entries.slice(BAR_ENTRIES)} />
            </ul>
          </details>
        </li>
      </ul>
    </nav>
  );
}

/** Closes a menu after a choice, on Escape, and on a click elsewhere. */
function useCloseOnLeave() {
  const ref = useRef<HTMLDetailsElement>(null);
  const { url } = useLocation();
  const close = () => {
    if (ref.current) {
      ref.current.open = false;
    }
  };
  useEffect(close, [url]);
  useEffect(() => {
    const onClick = ({ target }: Event) => {
      if (target instanceof Node && !ref.current?.contains(target)) {
        close();
      }
    };
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && close();
    document.addEventListener('click', onClick);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('click', onClick);
      document.removeEventListener('keydown', onKey);
    };
  }, []);
  return ref;
}

function TopMenu({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  const ref = useCloseOnLeave();
  return (
    <details ref={ref} class="account-menu">
      <summary title={name}>
        <span class="account-icon">
          <Icon name="account" />
        </span>
        <span class="account-name">{name}</span>
        <Icon name="chevron" />
      </summary>
      <div class="menu menu-wide">
        <p class="menu-name">{name}</p>
        {children}
      </div>
    </details>
  );
}

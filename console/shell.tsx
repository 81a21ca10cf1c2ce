import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { useRead } from './api/queries.ts';
import { currentSession, signOut } from './api/session.ts';
import { changeSettings, useSettings } from './api/settings.ts';
import type { AccountOverview } from './api/types.gen.ts';
import { BASE, to } from './lib/location.ts';
import { t } from './lib/text.ts';
import { Amount } from './ui/amount.tsx';
import { Choice } from './ui/field.tsx';
import { Icon, type IconName } from './ui/icon.tsx';

interface Entry {
  readonly page: string;
  readonly icon: IconName;
  readonly word: string;
  readonly ownerOnly?: boolean;
}

const ENTRIES: readonly Entry[] = [
  { page: '', icon: 'overview', word: 'Overview' },
  { page: 'playground', icon: 'playground', word: 'Playground' },
  { page: 'tasks', icon: 'tasks', word: 'Tasks' },
  { page: 'generations', icon: 'generations', word: 'Generations' },
  { page: 'usage', icon: 'usage', word: 'Usage & Costs' },
  { page: 'keys', icon: 'keys', word: 'Keys', ownerOnly: true },
  { page: 'billing', icon: 'billing', word: 'Billing', ownerOnly: true },
  { page: 'start', icon: 'start', word: 'Start' },
  { page: 'account', icon: 'account', word: 'Account' },
];
/** How many fit side by side on a phone; the others are behind "More". */
const BAR_ENTRIES = 4;

/** Navigation, the balance and the settings around every page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { key } = currentSession();
  const entries = ENTRIES.filter(({ ownerOnly }) => !ownerOnly || key.role === 'owner');
  const account = useRead<AccountOverview>('/api/v1/account', {}, { everyMs: 15_000 });
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t('Skip to the content')}
      </button>
      <header class="top">
        <a class="brand" href={BASE}>
          Tollgate
        </a>
        <Balance account={account.data} />
        <AccountMenu />
      </header>
      <SideBar entries={entries} />
      <main id="content" class="content" tabIndex={-1}>
        <Ribbons account={account.data} />
        {children}
      </main>
      <BottomBar entries={entries} />
    </div>
  );
}

function Balance({ account }: { readonly account: AccountOverview | undefined }) {
  return (
    <p class="balance">
      {account === undefined ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <strong>
            <Amount value={account.available} short />
          </strong>{' '}
          <span class="quiet">{t('available')}</span>
          {account.held === '0.00' ? null : (
            <span class="quiet">
              {' · '}
              <Amount value={account.held} short /> {t('held')}
            </span>
          )}
        </>
      )}
    </p>
  );
}

function Ribbons({ account }: { readonly account: AccountOverview | undefined }) {
  return (
    <>
      {account?.features.payments === 'test' ? (
        <p class="ribbon ribbon-wait">{t('Test money: credits here are worth nothing and cost nothing.')}</p>
      ) : null}
      {account?.suspended ? (
        <p class="ribbon ribbon-bad">
          {t('The account is suspended. Everything can be read; nothing can be changed or called.')}
        </p>
      ) : null}
    </>
  );
}

/** The page that an address belongs to. */
function usePageName(): string {
  const { path } = useLocation();
  return path.slice(BASE.length).split('/')[0] ?? '';
}

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  const current = usePageName();
  return (
    <>
      {entries.map(({ page, icon, word }) => (
        <li key={page}>
          <a href={to(page)} aria-current={page === current ? 'page' : undefined}>
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

/** A menu that closes when its choice is made, on Escape, and when something else is clicked. */
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

function AccountMenu() {
  const ref = useCloseOnLeave();
  const { account, key } = currentSession();
  const { theme, zone } = useSettings();
  return (
    <details ref={ref} class="account-menu">
      <summary>
        <span class="account-name">{account.name}</span>
        <Icon name="chevron" />
      </summary>
      <div class="menu menu-wide">
        <p class="quiet small">
          {t('Signed in with the key “{name}” ({role})', { name: key.name, role: t(key.role) })}
        </p>
        <Choice
          label={t('Theme')}
          value={theme}
          options={[
            ['system', t('As the system')],
            ['light', t('Light')],
            ['dark', t('Dark')],
          ]}
          onChange={(next) => changeSettings({ theme: next as typeof theme })}
        />
        <Choice
          label={t('Times in')}
          value={zone}
          options={[
            ['local', t('my time zone')],
            ['utc', 'UTC'],
          ]}
          onChange={(next) => changeSettings({ zone: next as typeof zone })}
        />
        <button type="button" class="button" onClick={() => void signOut()}>
          {t('Sign out')}
        </button>
      </div>
    </details>
  );
}

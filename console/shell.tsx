import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { mayCall, moveTo, SIGN_IN_NAME } from './api/members.ts';
import { useRead } from './api/queries.ts';
import { currentSession, signOut } from './api/session.ts';
import type { AccountOverview } from './api/types.gen.ts';
import { BASE, to } from './lib/location.ts';
import { t } from './lib/text.ts';
import { Amount } from './ui/amount.tsx';
import type { Command } from './ui/command-palette.tsx';
import { DeviceSettings } from './ui/device-settings.tsx';
import { Choice } from './ui/field.tsx';
import { Frame } from './ui/frame.tsx';
import type { IconName } from './ui/icon.tsx';

interface Page {
  readonly page: string;
  readonly icon: IconName;
  readonly word: string;
  readonly ownerOnly?: boolean;
  /** Only if people can sign in as themselves. */
  readonly forPeople?: boolean;
  /** Hidden from users who may only read. */
  readonly calls?: boolean;
}

const PAGES: readonly Page[] = [
  { page: '', icon: 'overview', word: 'Overview' },
  { page: 'playground', icon: 'playground', word: 'Playground', calls: true },
  { page: 'tasks', icon: 'tasks', word: 'Tasks' },
  { page: 'generations', icon: 'generations', word: 'Generations' },
  { page: 'usage', icon: 'usage', word: 'Usage & Costs' },
  { page: 'models', icon: 'models', word: 'Models' },
  { page: 'keys', icon: 'keys', word: 'Keys', ownerOnly: true },
  { page: 'billing', icon: 'billing', word: 'Billing', ownerOnly: true },
  { page: 'members', icon: 'members', word: 'Members', ownerOnly: true, forPeople: true },
  { page: 'start', icon: 'start', word: 'Start' },
  { page: 'account', icon: 'account', word: 'Account' },
];
/** Navigation, the balance and the settings around every page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { account: holder, key } = currentSession();
  const { path, route } = useLocation();
  const current = path.slice(BASE.length).split('/')[0] ?? '';
  const entries = PAGES.filter(
    ({ ownerOnly, forPeople, calls }) =>
      (!ownerOnly || key.role === 'owner') &&
      (!forPeople || SIGN_IN_NAME !== undefined) &&
      (!calls || mayCall()),
  ).map(({ page, icon, word }) => ({ href: to(page), icon, word, isCurrent: page === current }));
  const account = useRead<AccountOverview>('/api/v1/account', {}, { everyMs: 15_000 });
  return (
    <Frame
      home={BASE}
      brand="Tollgate"
      entries={entries}
      top={<Balance account={account.data} />}
      menuName={holder.name}
      menu={<AccountMenu />}
      palette={{ commands: commandsOf(route), find: (text) => findId(text, route) }}
    >
      <Ribbons account={account.data} />
      {children}
    </Frame>
  );
}

type Route = (path: string) => void;

function commandsOf(route: Route): Command[] {
  const calls = [
    { word: 'New chat', run: () => route(to('playground')) },
    { word: 'New image', run: () => route(to('playground', { kind: 'image' })) },
    { word: 'New video', run: () => route(to('playground', { kind: 'video' })) },
  ];
  return [...(mayCall() ? calls : []), { word: 'Sign out', run: () => void signOut() }];
}

/** Finds a call or task by id: both have the same kind of id, so offers both. */
function findId(text: string, route: Route): Command[] {
  if (!/^gen-\w+$/.test(text)) {
    return [];
  }
  const values = { id: text };
  return [
    { word: 'Generation {id}', values, run: () => route(to('generations', { generation: text })) },
    { word: 'Task {id}', values, run: () => route(to('tasks', { task: text })) },
  ];
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
        <p class="ribbon ribbon-wait">
          {t('Test payments: buying credits moves no money. The credits are real inside this installation.')}
        </p>
      ) : null}
      {account?.suspended ? (
        <p class="ribbon ribbon-bad">{t('The account is suspended: read only, no calls and no changes.')}</p>
      ) : null}
    </>
  );
}

function AccountMenu() {
  const { key, member, account } = currentSession();
  return (
    <>
      <p class="quiet small">
        {member === null
          ? t('Signed in with the key “{name}” ({role})', { name: key.name, role: t(key.role) })
          : t('Signed in as {name} ({role})', { name: member.email, role: t(member.role) })}
      </p>
      {member === null || member.accounts.length < 2 ? null : (
        <Choice
          label={t('Account')}
          value={account.id}
          options={member.accounts.map(({ id, name }) => [id, name])}
          onChange={(id) => void moveTo(id)}
        />
      )}
      <DeviceSettings />
      <button type="button" class="button" onClick={() => void signOut()}>
        {t('Sign out')}
      </button>
    </>
  );
}

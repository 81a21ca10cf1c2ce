import { memberRoutes } from '../console/members.routes.ts';
import { MembersService } from '../console/members.service.ts';
import { MembersStore } from '../console/members.store.ts';
import { moveSessionRoute } from '../console/session-account.routes.ts';
import type { SessionsService } from '../console/sessions.service.ts';
import { type SignInParts, signInPages } from '../console/sign-in.pages.ts';
import type { KeyCache } from '../http/callers/key-cache.ts';
import { createAnswerCipher } from '../http/idempotency/answer-cipher.ts';
import type { RequestPipeline } from '../http/request-pipeline.ts';
import type { Route } from '../http/route.ts';
import type { KeysService } from '../keys/keys.service.ts';
import { publicId } from '../lib/ids.ts';
import { AuditStore } from '../operators/audit.store.ts';
import type { Foundation } from './foundation.ts';

/** The parts for people who sign in with an identity of their own. */
export interface MemberParts {
  readonly members: MembersService;
  readonly routes: readonly Route[];
  readonly pages: { readonly path: string; readonly handler: ReturnType<typeof signInPages> };
  close(): Promise<void>;
}

/** Assembles the parts for members. Returns undefined if no OpenID provider is configured. */
export async function composeMembers(
  { config, clock, cells, log }: Pick<Foundation, 'config' | 'clock' | 'cells' | 'log'>,
  sessions: SessionsService,
  { keys, keyCache }: { readonly keys: KeysService; readonly keyCache: KeyCache },
  admitOperator: SignInParts['admitOperator'],
): Promise<MemberParts | undefined> {
  const { oidc, publicUrl } = config;
  if (!oidc) {
    return undefined;
  }
  const base = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/console`;
  const members = new MembersService({ store: new MembersStore(cells), keys: keyCache, publicUrl });
  // loaded only where it is configured
  const { OpenIdProvider } = await import('../console/openid-provider.ts');
  const provider = new OpenIdProvider(oidc, `${publicUrl}/console/oidc/callback`, clock);
  const audit = new AuditStore(cells.home.sequelize);
  const handler = signInPages({
    ...{ provider, members, sessions, admitOperator, clock, log, base },
    cipher: createAnswerCipher(config.secret, config.previousSecrets),
    secure: publicUrl.startsWith('https:'),
    record: ({ email, account, member, requestId, address }) =>
      audit.append({
        ...{ operator: email, action: 'member.signIn', object: account, requestId },
        detail: { member, address },
      }),
  });
  return {
    members,
    routes: [...memberRoutes(members), moveSessionRoute(sessions, keys, members)],
    pages: { path: '/console/oidc', handler },
    close: () => provider.close(),
  };
}

/** Returns the function that records members' actions in the audit log, under their own names. */
export function memberActs({ cells }: Pick<Foundation, 'cells'>): RequestPipeline['recordMemberAction'] {
  const audit = new AuditStore(cells.home.sequelize);
  return ({ member, accountId, operationId, path, requestId, address }) =>
    audit.append({
      operator: member.email,
      action: `member.${operationId}`,
      object: publicId('account', accountId),
      requestId,
      detail: { member: publicId('member', member.id), role: member.role, path, address },
    });
}

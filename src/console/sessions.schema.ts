import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { accountId, answerOf, listOf } from '../http/input/wire-shapes.ts';
import { sessionMember } from './members.schema.ts';

const sessionId = z.string().meta({ description: 'Id of the session, ses_…' });
const keyHash = z.string().meta({ description: 'Hash of the key it was opened with' });
const keyName = z.string().meta({ description: 'Name of that key' });
const createdAt = z.iso.datetime().meta({ description: 'When it was opened' });
const endsAt = z.iso.datetime().meta({ description: 'When it expires' });

export const createSessionBody = z
  .object({
    api_key: z.string().min(1).max(512).meta({ description: 'A key of the account; it is not stored' }),
  })
  .meta({ id: 'CreateSession' });

export const sessionJson = z
  .object({
    id: sessionId,
    account: z
      .object({
        id: accountId,
        name: z.string().meta({ description: 'Display name, chosen by the operator' }),
      })
      .meta({ description: 'The account of that key' }),
    key: z
      .object({
        hash: keyHash,
        name: keyName,
        role: z
          .enum(['owner', 'inference'])
          .meta({ description: 'What the session may do: the same as its key' }),
      })
      .meta({ description: 'The key it was opened with; for a member, their own key' }),
    member: sessionMember,
    csrf: z.string().meta({ description: 'Send it as x-csrf-token with every request except GET' }),
    created_at: createdAt,
    ends_at: endsAt,
  })
  .meta({ id: 'Session' });

export const sessionSummaryJson = z
  .object({
    id: sessionId,
    key: z.object({ hash: keyHash, name: keyName }).meta({ description: 'The key it was opened with' }),
    created_at: createdAt,
    seen_at: z.iso.datetime().meta({ description: 'When it was last used' }),
    ends_at: endsAt,
    user_agent: z.string().meta({ description: 'User agent of the browser' }),
    address: z.string().meta({ description: 'Address that the sign-in came from' }),
    current: z.boolean().meta({ description: 'true for the session that makes this request' }),
  })
  .meta({ id: 'SessionSummary' });

export const listSessionsQuery = z.strictObject(pageQuery);
export const sessionParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the session, ses_…' }),
});

export const createdSessionResponse = answerOf(sessionJson, 'The new session; its token is in the cookie');
export const currentSessionResponse = answerOf(
  sessionJson.nullable(),
  'The session of this browser; null when nobody is signed in',
);
export const sessionListResponse = listOf(sessionSummaryJson, 'Sessions of the account, newest first');
export const endedSessionsResponse = answerOf(
  z.object({ ended: z.int().min(0).meta({ description: 'Sessions that were signed out' }) }),
  'How many sessions were ended',
);

export type SessionJson = z.output<typeof sessionJson>;
export type SessionSummaryJson = z.output<typeof sessionSummaryJson>;

import { z } from 'zod';
import { pageQuery } from '../http/page.ts';

export const createSessionBody = z
  .object({
    api_key: z.string().min(1).max(512).meta({ description: 'A key of the account; it is not stored' }),
  })
  .meta({ id: 'CreateSession' });

export const sessionJson = z
  .object({
    id: z.string(),
    account: z.object({ id: z.string(), name: z.string() }),
    key: z.object({ hash: z.string(), name: z.string(), role: z.enum(['owner', 'inference']) }),
    csrf: z.string().meta({ description: 'To be sent as x-csrf-token with everything but GET' }),
    created_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
  })
  .meta({ id: 'Session' });

export const sessionSummaryJson = z
  .object({
    id: z.string(),
    key: z.object({ hash: z.string(), name: z.string() }),
    created_at: z.iso.datetime(),
    seen_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
    user_agent: z.string(),
    address: z.string(),
    current: z.boolean().meta({ description: 'The session that asks' }),
  })
  .meta({ id: 'SessionSummary' });

export const listSessionsQuery = z.strictObject(pageQuery);
export const sessionParams = z.object({ id: z.string().min(1).max(64) });

export const createdSessionResponse = z.object({ data: sessionJson });
export const currentSessionResponse = z.object({
  data: sessionJson.nullable().meta({ description: 'null: nobody is signed in in this browser' }),
});
export const sessionListResponse = z.object({ data: z.array(sessionSummaryJson) });
export const endedSessionsResponse = z.object({
  data: z.object({ ended: z.int().min(0).meta({ description: 'Sessions that were signed out' }) }),
});

export type SessionJson = z.output<typeof sessionJson>;
export type SessionSummaryJson = z.output<typeof sessionSummaryJson>;

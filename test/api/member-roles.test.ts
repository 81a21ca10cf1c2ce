import { describedRoutes } from '../../ops/openapi-routes.ts';
import { MEMBER_ROLES, type MemberRole } from '../../src/http/callers/member-role.ts';
import type { MemberAction } from '../../src/http/request-pipeline.ts';
import type { Route } from '../../src/http/route.ts';
import { createAccount } from '../factories/account.ts';
import { createMember, type TestMember } from '../factories/member.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

/** Every operation with each member role. The server decides, whatever a page shows. */

/** Operations that change something, by the least role they need. The list is duplicated on purpose, so that no change is accidental. */
const CHANGES: Readonly<Record<MemberRole, readonly string[]>> = {
  viewer: [
    'estimateCall',
    'countMessageTokens',
    'countResponseTokens',
    'endCurrentSession',
    'endSession',
    'endSessions',
    'moveSession',
  ],
  developer: [
    'createChatCompletion',
    'createMessage',
    'createResponse',
    'compactResponse',
    'createEmbeddings',
    'rerank',
    'submitImage',
    'submitImageOfModel',
    'submitVideo',
    'createImage',
    'createVideo',
    'deleteVideo',
    'cancelTask',
    'deleteTask',
    'createKey',
    'updateKey',
    'deleteKey',
    'redeliverWebhook',
  ],
  owner: [
    'changeAlerts',
    'rotateWebhookSecret',
    'createCheckoutSession',
    'changeMember',
    'removeMember',
    'invite',
    'withdrawInvitation',
  ],
};
/** Reads that are not open to viewers because they return a secret. */
const READ_BY_OWNERS = ['getWebhookSecret'];
const UNRECORDED =
  /^(estimateCall|count(Message|Response)Tokens|create(ChatCompletion|Message|Response|Embeddings|Image|Video)|compactResponse|rerank|submit\w+)$/;

const routes: Route[] = describedRoutes()
  .filter(({ access }) => access === 'inference' || access === 'owner')
  .map(({ body: _body, query: _query, ...route }) => ({
    ...route,
    // only access is tested here: bodies and Idempotency-Key have tests of their own
    handle: async () => ({ status: 299, body: { data: 'in' } }),
  }));
const acts: MemberAction[] = [];
let server: TestServer;
let members: Readonly<Record<MemberRole, TestMember>>;

beforeAll(async () => {
  server = await startTestServer({ routes, recordMemberAction: async (act) => void acts.push(act) });
  const { id } = await createAccount(server.database);
  const [owner, developer, viewer] = await Promise.all(
    MEMBER_ROLES.map((role) => createMember(server.database, id, role)),
  );
  members = { owner: owner!, developer: developer!, viewer: viewer! };
});
afterAll(() => server?.close());

function leastRoleOf({ method, operationId }: Route): MemberRole | undefined {
  if (method === 'get') {
    return READ_BY_OWNERS.includes(operationId) ? 'owner' : 'viewer';
  }
  return MEMBER_ROLES.find((role) => CHANGES[role].includes(operationId));
}

test('every operation that changes something is assigned to a role', () => {
  const changing = routes.filter(({ method }) => method !== 'get').map(({ operationId }) => operationId);
  expect(changing.toSorted()).toEqual(Object.values(CHANGES).flat().toSorted());
});

test.each(routes.map((route) => [route.operationId, route] as const))('%s', async (operationId, route) => {
  const needed = leastRoleOf(route) ?? 'owner';
  const path = route.path.replace(/\{\w+\+?\}/g, 'x');
  for (const role of MEMBER_ROLES) {
    acts.length = 0;
    const { headers, email } = members[role];
    const response = await fetch(server.url + path, { method: route.method.toUpperCase(), headers });
    const isAllowed = MEMBER_ROLES.indexOf(role) <= MEMBER_ROLES.indexOf(needed);
    const answer = (await response.json()) as { error?: { code: string } };
    expect([role, response.status, answer.error?.code]).toEqual(
      isAllowed ? [role, 299, undefined] : [role, 403, 'insufficient_scope'],
    );
    const isWritten = isAllowed && route.method !== 'get' && !UNRECORDED.test(operationId);
    expect(acts.map(({ member, path: asked }) => [member.email, asked])).toEqual(
      isWritten ? [[email, path]] : [],
    );
  }
});

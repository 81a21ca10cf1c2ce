import { ACCOUNT, BROWSER, CREATED, HASH, INVITATION, MEMBER, TASK } from './example-ids.ts';

const ENDS = '2026-11-21T21:30:00.000Z';

/** The events that a page receives when it follows its account. */
export const ACCOUNT_STREAM = [
  'event: hello\ndata: {}\n\n',
  'event: balance\ndata: {"remaining_credits":"42.04","held":"0.84","available":"41.20"}\n\n',
  `event: task\ndata: {"id":"${TASK}","status":"generating"}\n\n`,
].join('');

/** Examples for browser sessions and the console, by schema. */
export const CONSOLE_EXAMPLES = {
  CreateSession: { api_key: 'sk-tg-v1-4FqT0m8sW2xY6bC1dE3fG5hJ7kL9nP0qR2sT4uV6wX8yZ0aB' },
  Session: {
    id: BROWSER,
    account: { id: ACCOUNT, name: 'acme' },
    key: { hash: HASH, name: 'production', role: 'owner' },
    member: {
      id: MEMBER,
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      role: 'owner',
      accounts: [{ id: ACCOUNT, name: 'acme', role: 'owner' }],
    },
    csrf: 'q1Zc0m5v8x2B4n6M7l9K3j5H1g2F4d6S8a0P1o3I5u7',
    created_at: CREATED,
    ends_at: ENDS,
  },
  SessionSummary: {
    id: BROWSER,
    key: { hash: HASH, name: 'production' },
    created_at: CREATED,
    seen_at: CREATED,
    ends_at: ENDS,
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    address: '203.0.113.7',
    current: true,
  },
  Member: {
    id: MEMBER,
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    role: 'developer',
    key_hash: HASH,
    disabled: false,
    created_at: CREATED,
    signed_in_at: CREATED,
    you: false,
  },
  ChangeMember: { role: 'viewer' },
  Invite: { email: 'ada@example.com', role: 'developer' },
  Invitation: {
    id: INVITATION,
    email: 'ada@example.com',
    role: 'developer',
    invited_by: 'grace@example.com',
    created_at: CREATED,
    ends_at: '2026-11-28T09:30:00.000Z',
  },
  MoveSession: { account_id: ACCOUNT },
  OperatorBrowser: {
    id: BROWSER,
    operator: 'ada@example.com',
    created_at: CREATED,
    ends_at: ENDS,
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    address: '203.0.113.7',
    current: true,
  },
  EstimateCall: {
    endpoint: '/api/v1/chat/completions',
    request: { model: 'tollgate/small', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1_024 },
  },
  Estimate: {
    model: 'tollgate/small',
    input_tokens: 5,
    output_tokens_max: 1_024,
    max_amount: '0.000615',
    lines: { input: '0.0000006', output: '0.0006144' },
    expected_amount: '0.00004',
    affordable: true,
    currency: 'USD',
  },
  AccountOverview: {
    id: ACCOUNT,
    name: 'acme',
    suspended: false,
    created_at: CREATED,
    remaining_credits: '42.04',
    held: '0.84',
    available: '41.20',
    debt: '0.00',
    currency: 'USD',
    running_calls: 2,
    running_tasks: 1,
    limits: { requests_per_minute: 600, tokens_per_minute: 1_000_000, concurrency: 50 },
    features: { payments: 'stripe', keep_prompts: false },
  },
};

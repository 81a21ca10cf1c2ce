import { randomUUID } from 'node:crypto';
import { type Answer, type Body, CustomerCalls } from './customer-calls.ts';
import { ordinaryLength, promptOf, randomBelow, unseenWord, VOCABULARIES } from './prompts.ts';

export interface TrafficOptions {
  readonly url: string;
  readonly adminToken: string;
  /** Owner keys of accounts with credits. */
  readonly keys: readonly string[];
  /** A key of an account with almost no credits. */
  readonly poorKey: string;
  readonly webhook: string;
}

type Kind = () => Promise<unknown>;

const CHAT = '/api/v1/chat/completions';
const MESSAGES = '/vendorx/v1/messages';
/** Number of Latin letters that equal one Chinese character in content. */
const CJK_DENSITY = 4;
/** Number of newest tasks to keep; older ones are never fetched. */
const TASKS_KEPT = 200;
const REPORTS = [
  '/api/v1/usage?granularity=hour',
  '/api/v1/activity',
  '/api/v1/costs?granularity=day&group_by=model',
  '/api/v1/credits',
  '/api/v1/models',
  '/api/v1/key',
  '/api/v1/billing/balance-transactions?limit=20',
  '/api/v1/billing/invoices',
  '/api/v1/tasks?limit=20',
  '/v3/user',
];
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOL = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

/** The customers of the soak. They make every kind of call, in the shares that `#kinds` lists. */
export class Traffic {
  readonly calls: CustomerCalls;
  readonly chatLatenciesMs: number[] = [];
  readonly #options: TrafficOptions;
  readonly #tasks: { id: string; key: string }[] = [];
  readonly #shares: { readonly upTo: number; readonly kind: Kind }[] = [];

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.calls = new CustomerCalls(options.url, options.keys);
    let sum = 0;
    for (const [share, kind] of this.#kinds()) {
      sum += share;
      this.#shares.push({ upTo: sum, kind });
    }
  }

  /** Makes one call of a kind drawn by its share. Never rejects: `calls` records the outcome. */
  async one(): Promise<void> {
    const drawn = Math.random() * (this.#shares.at(-1)?.upTo ?? 0);
    const { kind } = this.#shares.find(({ upTo }) => drawn < upTo) ?? this.#shares[0]!;
    await kind().catch(() => this.calls.count(0));
  }

  #kinds(): [number, Kind][] {
    const chat = (model: string, changes: Body = {}) => this.#chat(model, changes);
    const messages = (model: string, stream: boolean) =>
      this.calls.post(MESSAGES, { ...this.#ask(model), max_tokens: 200, stream });
    return [
      [250, () => this.#timedChat()],
      [120, () => chat('soak/openai', { stream: true, stream_options: { include_usage: true } })],
      [12, () => chat('soak/slow', { stream: true })],
      [30, () => this.#leaving()],
      [80, () => messages('soak/anthropic', false)],
      [40, () => messages('soak/anthropic', true)],
      [30, () => chat('soak/anthropic')],
      [15, () => chat('soak/anthropic', { stream: true })],
      [30, () => messages('soak/openai', false)],
      [30, () => chat('soak/openai', { tools: [TOOL] })],
      [20, () => chat('soak/fallback')],
      [10, () => this.#chatWithImage()],
      ...(['server_error', 'bad_request', 'reset_mid_stream', 'cut_stream', 'garbage'] as const).flatMap(
        (fault): [number, Kind][] => [
          [4, () => chat(`soak/${fault}`)],
          [4, () => chat(`soak/${fault}`, { stream: true })],
        ],
      ),
      [30, () => this.calls.post(CHAT, this.#ask('soak/openai', 100_000), { key: this.#options.poorKey })],
      [5, () => chat('soak/unknown')],
      [3, () => this.calls.post(CHAT, this.#ask('soak/openai', 700_000))],
      [30, () => this.#stranger()],
      [20, () => this.#twice()],
      [5, () => this.#keyLife()],
      [40, () => this.calls.get(REPORTS[randomBelow(REPORTS.length)]!)],
      [8, () => this.#image()],
      [0.2, () => this.#video()],
      [20, () => this.#readTask()],
      [8, () => this.#fetchMedia()],
      [5, () => this.#checkout()],
      [1, () => this.#openAccount()],
    ];
  }

  #ask(model: string, length = ordinaryLength()): Body {
    const vocabulary = VOCABULARIES[randomBelow(VOCABULARIES.length)]!;
    const content = promptOf(vocabulary, vocabulary === 'cjk' ? length / CJK_DENSITY : length);
    return { model, messages: [{ role: 'user', content }], max_tokens: 200 };
  }

  #chat(model: string, changes: Body): Promise<Answer> {
    return this.calls.post(CHAT, { ...this.#ask(model), ...changes });
  }

  async #timedChat(): Promise<void> {
    const body = this.#ask('soak/openai');
    const startedAt = performance.now();
    const { status } = await this.calls.post(CHAT, body);
    if (status === 200) {
      this.chatLatenciesMs.push(performance.now() - startedAt);
    }
  }

  #chatWithImage(): Promise<Answer> {
    const text = promptOf('prose', ordinaryLength());
    const content = [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: PIXEL } },
    ];
    return this.calls.post(CHAT, { model: 'soak/openai', messages: [{ role: 'user', content }] });
  }

  /** Sends a streamed chat and disconnects after the first bytes. */
  async #leaving(): Promise<void> {
    const body = { ...this.#ask('soak/slow'), stream: true };
    const answer = await this.calls.begin('POST', CHAT, body);
    answer.body.on('error', () => undefined);
    for await (const _ of answer.body) {
      break;
    }
    answer.body.destroy();
  }

  /** Calls with an unknown key from one of about a thousand addresses. */
  #stranger(): Promise<Answer> {
    const address = `10.0.${randomBelow(5)}.${randomBelow(256)}`;
    return this.calls.post(CHAT, this.#ask('soak/openai'), {
      key: `sk-tg-v1-${unseenWord(49)}`,
      headers: { 'x-forwarded-for': address },
    });
  }

  async #twice(): Promise<void> {
    const options = { key: this.calls.key(), headers: { 'idempotency-key': randomUUID() } };
    const body = this.#ask('soak/openai');
    await this.calls.post(CHAT, body, options);
    await this.calls.post(CHAT, body, options);
  }

  async #keyLife(): Promise<void> {
    const key = this.calls.key();
    const { text } = await this.calls.post('/api/v1/keys', { name: unseenWord(), limit: 1 }, { key });
    const made = JSON.parse(text) as { data: { hash: string }; key: string };
    const path = `/api/v1/keys/${made.data.hash}`;
    await this.calls.post(CHAT, this.#ask('soak/openai', 500), { key: made.key });
    await this.calls.request('PATCH', path, { disabled: true }, { key });
    await this.calls.request('DELETE', path, undefined, { key });
  }

  async #image(): Promise<void> {
    await this.#order('/v3/async/image-turbo', {
      prompt: promptOf('prose', ordinaryLength()),
      size: '512*512',
      extra: { webhook: { url: this.#options.webhook } },
    });
  }

  async #video(): Promise<void> {
    await this.#order('/v3/async/video-fast', {
      model_name: 'video-fast',
      prompt: promptOf('prose', 500),
      width: 1280,
      height: 720,
      seed: -1,
      steps: 4,
      extra: { webhook: { url: this.#options.webhook } },
    });
  }

  async #order(path: string, body: Body): Promise<void> {
    const key = this.calls.key();
    const { status, text } = await this.calls.post(path, body, { key });
    if (status === 200) {
      this.#tasks.unshift({ id: (JSON.parse(text) as { task_id: string }).task_id, key });
      this.#tasks.length = Math.min(this.#tasks.length, TASKS_KEPT);
    }
  }

  async #readTask(): Promise<string | undefined> {
    const task = this.#tasks[randomBelow(Math.max(1, this.#tasks.length))];
    if (!task) {
      await this.calls.get('/api/v1/tasks');
      return undefined;
    }
    const { text } = await this.calls.get(`/v3/async/task-result?task_id=${task.id}`, task.key);
    return text;
  }

  async #fetchMedia(): Promise<void> {
    const text = await this.#readTask();
    const url = /"image_url":"([^"]+)"/.exec(text ?? '')?.[1];
    if (url !== undefined) {
      const { pathname, search } = new URL(url);
      await this.calls.get(pathname + search);
    }
  }

  async #checkout(): Promise<void> {
    const page = 'https://example.com/';
    const body = { amount: '5.00', currency: 'USD', success_url: page, cancel_url: page };
    await this.calls.post('/api/v1/billing/checkout/sessions', body);
  }

  async #openAccount(): Promise<void> {
    const body = { name: unseenWord(), credits: '1' };
    await this.calls.post('/admin/v1/accounts', body, { key: this.#options.adminToken });
  }
}

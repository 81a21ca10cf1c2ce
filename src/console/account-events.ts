import { AccountConcurrency } from '../lib/account-concurrency.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import { availableOf } from './account.read-model.ts';
import type { EventsReadModel, LiveFacts, LiveGeneration, LiveTask } from './events.read-model.ts';

/** Events sent to a page that follows an account. */
export type AccountEvent =
  | { readonly event: 'hello'; readonly data: Readonly<Record<string, never>> }
  | { readonly event: 'balance'; readonly data: BalanceEvent }
  | { readonly event: 'generation'; readonly data: { readonly id: string } }
  | { readonly event: 'task'; readonly data: TaskEvent };

interface BalanceEvent {
  readonly remaining_credits: string;
  readonly held: string;
  readonly available: string;
}

interface TaskEvent {
  readonly id: string;
  readonly status: string;
}

export interface Follower {
  readonly accountId: string;
  /** Limits generations and tasks to those of this key; null: all of the account. */
  readonly apiKeyId: string | null;
  readonly tell: (events: readonly AccountEvent[]) => void;
  /** Called when this process stops sending events. */
  readonly end: () => void;
}

export interface AccountEventsOptions {
  readonly rows: Pick<EventsReadModel, 'read'>;
  /**
   * Interval between two queries, in ms. Default 1,000: including one request by the page, a change is on the screen in less than 1.5 s.
   */
  readonly lookMs?: number;
  /** Default {@link FOLLOWERS_MAX}. */
  readonly followersMax?: number;
  /** Default {@link FOLLOWERS_PER_ACCOUNT_MAX}. */
  readonly followersPerAccountMax?: number;
}

/** Maximum number of pages that one process informs; further ones are asked to poll. */
const FOLLOWERS_MAX = 1_000;
/** Maximum number of them from one account, so that no account takes the places of the others. */
const FOLLOWERS_PER_ACCOUNT_MAX = 100;
const LOOK_MS = 1_000;

/**
 * Tells pages what changed in their accounts, with one query a second for all of them, and none while nobody follows. After a failed
 * query all pages get another `hello`, because a change may have come and gone unseen.
 */
export class AccountEvents {
  readonly #options: AccountEventsOptions;
  readonly #followers = new Set<Follower>();
  readonly #places: AccountConcurrency;
  /** State of the followed accounts at the last query. */
  #known = new Map<string, LiveFacts>();
  /** Followers that have received their `hello`. */
  #greeted = new WeakSet<Follower>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: AccountEventsOptions) {
    this.#options = options;
    this.#places = new AccountConcurrency(options.followersPerAccountMax ?? FOLLOWERS_PER_ACCOUNT_MAX);
  }

  /**
   * Follows an account. Sends `hello` first; changes after it are reported. Returns a function that stops following; undefined when this
   * process has its maximum number of followers, of this account or of all, or is about to stop.
   */
  follow(follower: Follower): (() => void) | undefined {
    if (this.#isClosed || this.#followers.size >= (this.#options.followersMax ?? FOLLOWERS_MAX)) {
      return undefined;
    }
    const leavePlace = this.#places.take(follower.accountId);
    if (!leavePlace) {
      return undefined;
    }
    this.#followers.add(follower);
    this.#lookLater();
    return () => {
      if (this.#followers.delete(follower)) {
        leavePlace();
      }
    };
  }

  /** Ends all streams and accepts no new ones. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const follower of this.#followers) {
      follower.end();
    }
    this.#followers.clear();
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => void this.#look(), this.#options.lookMs ?? LOOK_MS);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const accounts = [...new Set([...this.#followers].map(({ accountId }) => accountId))];
    // when the database is unavailable, pages learn it from their own requests
    const rows = accounts.length === 0 ? [] : await this.#options.rows.read(accounts).catch(() => undefined);
    if (rows) {
      this.#tell(rows);
    } else {
      this.#greeted = new WeakSet();
    }
    this.#timer = undefined;
    if (this.#followers.size > 0) {
      this.#lookLater();
    }
  }

  #tell(rows: readonly LiveFacts[]): void {
    const now = new Map(rows.map((row) => [row.account_id, row]));
    for (const follower of this.#followers) {
      const events = this.#eventsOf(follower, now.get(follower.accountId));
      if (events.length > 0) {
        follower.tell(events);
      }
    }
    this.#known = now;
  }

  #eventsOf(follower: Follower, after: LiveFacts | undefined): readonly AccountEvent[] {
    if (!this.#greeted.has(follower)) {
      this.#greeted.add(follower);
      return [{ event: 'hello', data: {} }];
    }
    const before = this.#known.get(follower.accountId);
    return before && after ? changes(before, after, follower.apiKeyId) : [];
  }
}

function changes(before: LiveFacts, after: LiveFacts, apiKeyId: string | null): AccountEvent[] {
  const isOwn = ({ key }: LiveGeneration) => apiKeyId === null || key === apiKeyId;
  const isMoved = before.seq !== after.seq || before.posted !== after.posted || before.held !== after.held;
  const known = new Map(before.tasks.map((task) => [task.id, task]));
  const tasks = after.tasks
    .filter((task) => isOwn(task) && hasChanged(known.get(task.id), task))
    .map(
      ({ id, state }): AccountEvent => ({
        event: 'task',
        data: { id: publicId('generation', id), status: state },
      }),
    );
  const { generation } = after;
  const isNew = generation !== null && generation.id !== before.generation?.id && isOwn(generation);
  return [
    ...(isMoved ? [{ event: 'balance', data: balanceOf(after) } as const] : []),
    ...(isNew ? [{ event: 'generation', data: { id: publicId('generation', generation.id) } } as const] : []),
    ...tasks,
  ];
}

function hasChanged(before: LiveTask | undefined, after: LiveTask): boolean {
  return before?.state !== after.state || before.progress !== after.progress;
}

function balanceOf(facts: LiveFacts): BalanceEvent {
  return {
    remaining_credits: formatUsd(nanoUsd(facts.posted)),
    held: formatUsd(nanoUsd(facts.held)),
    available: formatUsd(availableOf(facts)),
  };
}

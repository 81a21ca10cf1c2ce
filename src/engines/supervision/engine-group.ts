import { randomBytes } from 'node:crypto';
import {
  type DeviceMemory,
  type Engine,
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { NOT_RUNNING, RUN_LOST } from '../engine-failures.ts';

/** One server of the group and the adapter that talks to it. */
export interface GroupMember {
  readonly engine: Engine;
  readonly server: {
    /** The number of the current start of the server; undefined while it is not running. */
    readonly run: number | undefined;
    readonly ready: boolean;
  };
}

/** A run that has not been polled for this long no longer counts as load, in ms. */
const FORGOTTEN_AFTER_MS = 600_000;

interface Place {
  readonly member: GroupMember;
  readonly reference: string;
}

/**
 * Presents several servers of one kind as one engine. Each run goes to the ready server with the least load, preferably one that ran its
 * model last, and stays there. Runs on a server that has since exited are reported as lost at once, without waiting for a response that
 * cannot come.
 */
export class EngineGroup implements Engine {
  readonly id: string;
  readonly kind: string;
  readonly capabilities: EngineCapabilities;
  readonly pollIntervalMs: number;
  readonly #members: readonly GroupMember[];
  /** Distinguishes our references from those of other workers. */
  readonly #name = randomBytes(6).toString('hex');
  readonly #submitting = new Map<GroupMember, number>();
  /** The last model of each server, and the start of the server in which it ran: that model is still in memory. */
  readonly #lastModels = new Map<GroupMember, { model: string; run: number | undefined }>();
  /** When each run was last polled. */
  readonly #runs = new Map<string, { member: GroupMember; seenAt: number }>();

  /** Requires at least one member. */
  constructor(first: GroupMember, others: readonly GroupMember[]) {
    this.id = first.engine.id;
    this.kind = first.engine.kind;
    this.capabilities = first.engine.capabilities;
    this.pollIntervalMs = first.engine.pollIntervalMs;
    this.#members = [first, ...others];
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const member = this.#leastBusy(request.model);
    if (!member) {
      throw new EngineError(NOT_RUNNING);
    }
    const { run } = member.server;
    this.#lastModels.set(member, { model: request.model, run });
    this.#submitting.set(member, this.#submittingTo(member) + 1);
    try {
      return this.#remember(member, run, await member.engine.submit(request, context));
    } finally {
      this.#submitting.set(member, this.#submittingTo(member) - 1);
    }
  }

  async recover(request: EngineRequest, context: EngineContext): Promise<string | null | 'unknown'> {
    let unknown = false;
    for (const member of this.#members.filter(({ server }) => server.ready)) {
      const { run } = member.server;
      const found = await member.engine.recover(request, context);
      if (found !== null && found !== 'unknown') {
        return this.#remember(member, run, found);
      }
      unknown ||= found === 'unknown';
    }
    return unknown ? 'unknown' : null;
  }

  async poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    const place = this.#find(reference);
    if (!place) {
      this.#runs.delete(reference);
      return { state: 'failed', failure: RUN_LOST };
    }
    this.#runs.set(reference, { member: place.member, seenAt: performance.now() });
    const status = await place.member.engine.poll(place.reference, request, context);
    if (status.state !== 'queued' && status.state !== 'running') {
      this.#runs.delete(reference);
    }
    return status;
  }

  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const place = this.#find(reference);
    if (!place) {
      throw new EngineError(RUN_LOST);
    }
    return await place.member.engine.collect(place.reference, request, context);
  }

  async cancel(reference: string, request: EngineRequest): Promise<'stopped' | 'requested' | 'unsupported'> {
    const place = this.#find(reference);
    this.#runs.delete(reference);
    if (!place) {
      return reference.startsWith(`${this.#name}.`) ? 'stopped' : 'unsupported';
    }
    return await place.member.engine.cancel(place.reference, request);
  }

  async isReady(): Promise<boolean> {
    return this.#members.some(({ server }) => server.ready);
  }

  /** Asks one ready server: all run the same command. */
  async findMistakes(signal: AbortSignal): Promise<readonly string[]> {
    const ready = this.#members.find(({ server }) => server.ready);
    return (await ready?.engine.findMistakes?.(signal)) ?? [];
  }

  /** Only for a single server: several would name their GPUs alike. */
  async readMemory(signal: AbortSignal): Promise<readonly DeviceMemory[]> {
    const [only, ...others] = this.#members;
    const isOnly = only?.server.ready && others.length === 0;
    return (isOnly && (await only.engine.readMemory?.(signal))) || [];
  }

  async freeMemory(signal: AbortSignal): Promise<void> {
    const ready = this.#members.filter(({ server }) => server.ready);
    await Promise.all(ready.map(({ engine }) => engine.freeMemory?.(signal)));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#members.map(({ engine }) => engine.close()));
  }

  /** Among servers with equal load, prefers one that has the model loaded, then one that would not have to unload another. */
  #leastBusy(model: string): GroupMember | undefined {
    const [member] = this.#members
      .filter(({ server }) => server.ready)
      .sort(
        (one, other) =>
          this.#load(one) - this.#load(other) || this.#costOf(one, model) - this.#costOf(other, model),
      );
    return member;
  }

  /** Returns 0 if the server has this model loaded, 1 if it has none, 2 if it has another. */
  #costOf(member: GroupMember, model: string): number {
    const last = this.#lastModels.get(member);
    if (!last || last.run !== member.server.run) {
      return 1;
    }
    return last.model === model ? 0 : 2;
  }

  #load(member: GroupMember): number {
    const recent = performance.now() - FORGOTTEN_AFTER_MS;
    let runs = this.#submittingTo(member);
    for (const [reference, { member: owner, seenAt }] of this.#runs) {
      if (seenAt < recent) {
        this.#runs.delete(reference);
      } else if (owner === member) {
        runs += 1;
      }
    }
    return runs;
  }

  #submittingTo(member: GroupMember): number {
    return this.#submitting.get(member) ?? 0;
  }

  /** Stores the run and returns its reference: `<group>.<server>.<start>~<reference of the adapter>`. */
  #remember(member: GroupMember, run: number | undefined, reference: string): string {
    const own = `${this.#name}.${this.#members.indexOf(member)}.${run}~${reference}`;
    this.#runs.set(own, { member, seenAt: performance.now() });
    return own;
  }

  #find(reference: string): Place | undefined {
    const [, name, index, run, rest] = /^([0-9a-f]+)\.(\d+)\.(\d+)~(.*)$/s.exec(reference) ?? [];
    const member = this.#members[Number(index)];
    const same = name === this.#name && member?.server.run === Number(run);
    return same && member && rest !== undefined ? { member, reference: rest } : undefined;
  }
}

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Engine,
  type EngineContext,
  EngineError,
  type EngineFailure,
  type EngineRequest,
  type EngineStatus,
} from '../../engines/engine.types.ts';
import { ENGINE_AWAY } from '../../engines/engine-failures.ts';
import { bytesOf } from '../../lib/file-content.ts';
import { newUuid } from '../../lib/ids.ts';
import { identifyContent } from '../../media/file-signature.ts';
import { sizeInHeader } from '../../media/image-file.ts';
import { coversRequest } from '../../media/media-limits.ts';
import { askStep, type CheckFinding, type CheckStep, StepFailed, StepSkipped } from './check-step.ts';
import { RecordedRun } from './recorded-run.ts';

export interface EngineCheckPlan {
  readonly engine: Engine;
  /** The same engine at an address where nothing listens; undefined if the engine has no address. */
  readonly absent: Engine | undefined;
  readonly order: Omit<EngineRequest, 'taskId' | 'attempt' | 'seed'>;
  /** Whether runs that the upstream bills may be started. */
  readonly mayPay: boolean;
  /** Maximum duration of one run, in ms. */
  readonly runMs: number;
  /** Temporary folder for outputs. */
  readonly folder: string;
}

const ANSWER_MS = 10_000;
const OUTPUT_BYTES_MAX = 600 * 1024 * 1024;
/** Consecutive polls that may fail, as for tasks. */
const POLL_FAILURES_MAX = 5;
/** A width in pixels that every server rejects before it starts. */
const TOO_WIDE = 1_000_000;
/** Limit of samplers with 32-bit seeds, so every server accepts it. */
const SEED_MAX = 2 ** 32;
const NO_SUCH_MODEL = 'tollgate-check/no-such-model';

interface Run {
  readonly request: EngineRequest;
  reference: string | undefined;
  status: EngineStatus | undefined;
}

/** Tests the contract of an engine against the real system, one step after the other. Never rejects. */
export async function checkEngine(plan: EngineCheckPlan): Promise<CheckStep[]> {
  const run: Run = { request: requestOf(plan.order), reference: undefined, status: undefined };
  const questions: [string, () => Promise<CheckFinding>][] = [
    ['away', () => askAbsent(plan)],
    ['ready', () => askReady(plan)],
    ['installation', () => askInstallation(plan)],
    ['submit', () => askSubmit(plan, run)],
    ['progress', () => askProgress(plan, run)],
    ['result', () => askResult(plan, run)],
    ['cancel', () => askCancel(plan)],
    ['wrong request', () => askWrong(plan)],
  ];
  const steps: CheckStep[] = [];
  for (const [step, ask] of questions) {
    steps.push(await askStep(step, ask, explain));
  }
  return steps;
}

/** An unreachable engine must be reported as such: its tasks then wait and lose nothing. */
async function askAbsent({ absent, order, folder }: EngineCheckPlan): Promise<CheckFinding> {
  if (!absent) {
    throw new StepSkipped('this engine has no address');
  }
  const failure = await failureOf(absent, requestOf(order), folder);
  if (failure && ENGINE_AWAY.has(failure.code)) {
    return `at an address where nothing listens: ${failure.code}, tasks wait`;
  }
  throw new StepFailed(`at an address where nothing listens: ${failure?.code ?? 'accepted'}`);
}

async function askReady({ engine }: EngineCheckPlan): Promise<CheckFinding> {
  if (!engine.isReady) {
    return 'always ready';
  }
  if (await engine.isReady(AbortSignal.timeout(ANSWER_MS))) {
    return 'it responds';
  }
  throw new StepFailed('it does not respond, or reports that it is not ready; tasks wait until it is');
}

/** Everything that the workflows name must be installed: nodes, checkpoints. */
async function askInstallation({ engine }: EngineCheckPlan): Promise<CheckFinding> {
  if (!engine.findMistakes) {
    throw new StepSkipped('this kind of engine cannot list what is installed');
  }
  const mistakes = await engine.findMistakes(AbortSignal.timeout(ANSWER_MS));
  if (mistakes.length > 0) {
    throw new StepFailed(mistakes.join('; '));
  }
  return 'everything its configuration needs is installed';
}

async function askSubmit(plan: EngineCheckPlan, run: Run): Promise<CheckFinding> {
  requirePayConsent(plan);
  run.reference = await plan.engine.submit(run.request, contextOf(plan.folder, plan.runMs));
  return `accepted as ${run.reference}`;
}

async function askProgress(plan: EngineCheckPlan, run: Run): Promise<CheckFinding> {
  const seen = new RecordedRun();
  const status = await pollToEnd(plan, requireBegun(run), run.request, seen);
  run.status = status;
  if (status.state !== 'succeeded') {
    throw new StepFailed(
      `${seen.states}: ${status.failure?.code ?? 'no reason was given'}`,
      status.failure?.said,
    );
  }
  return `${seen.states}; ${seen.polls} polls; ${seen.progress}`;
}

/** A few failed polls do not end a run, as for tasks. */
async function pollToEnd(
  { engine, runMs, folder }: EngineCheckPlan,
  reference: string,
  request: EngineRequest,
  seen: RecordedRun,
): Promise<EngineStatus> {
  const signal = AbortSignal.timeout(runMs);
  const context = { folder, signal, onProgress: (fraction: number) => seen.told(fraction) };
  for (let failed = 0; ; ) {
    const answer = await engine.poll(reference, request, context).catch((error: unknown) => ({ error }));
    failed = 'error' in answer ? failed + 1 : 0;
    seen.polled('error' in answer ? undefined : answer);
    if (signal.aborted) {
      throw new StepFailed(`not finished after ${runMs / 1_000} s; raise --timeout`);
    }
    if ('error' in answer) {
      if (failed >= POLL_FAILURES_MAX) {
        throw answer.error;
      }
    } else if (!goesOn(answer)) {
      return answer;
    }
    await delay(engine.pollIntervalMs);
  }
}

function goesOn({ state }: EngineStatus): boolean {
  return state === 'queued' || state === 'running';
}

async function askResult({ engine, order, runMs, folder }: EngineCheckPlan, run: Run): Promise<CheckFinding> {
  const reference = requireBegun(run);
  if (run.status?.state !== 'succeeded') {
    throw new StepSkipped('the run did not succeed');
  }
  const [output, ...others] = await engine.collect(reference, run.request, contextOf(folder, runMs));
  if (!output) {
    throw new StepFailed('no file was returned');
  }
  const { type, bytes } = await identifyContent(output.file, order.kind, OUTPUT_BYTES_MAX);
  const found = `${1 + others.length} file, ${type}, ${bytes} bytes`;
  const size = order.kind === 'image' ? await sizeInHeader(await bytesOf(output.file)) : undefined;
  if (size && !coversRequest(size, order)) {
    throw new StepFailed(
      `${found}: ${size.width}×${size.height}, smaller than requested (${order.width}×${order.height})`,
    );
  }
  return size ? `${found}, ${size.width}×${size.height}` : found;
}

async function askCancel(plan: EngineCheckPlan): Promise<CheckFinding> {
  requirePayConsent(plan);
  const { engine, folder, runMs } = plan;
  const { cancelQueued, cancelRunning } = engine.capabilities;
  if (!cancelQueued && !cancelRunning) {
    throw new StepSkipped('this kind of engine cannot stop a run');
  }
  const request = requestOf(plan.order);
  const reference = await engine.submit(request, contextOf(folder, runMs));
  const answer = await engine.cancel(reference, request);
  if (answer === 'unsupported') {
    if (cancelRunning) {
      throw new StepFailed('the run continues, although this engine should be able to stop it');
    }
    return 'a run that has started continues, as expected for this kind of engine';
  }
  const after = await engine.poll(reference, request, contextOf(folder, ANSWER_MS)).then(
    ({ state }) => state,
    (error: unknown) => explain(error)?.message ?? 'unknown',
  );
  if (answer === 'stopped' && (after === 'running' || after === 'queued')) {
    throw new StepFailed(`it reported that the run was stopped, but the run is ${after}`);
  }
  if (answer === 'stopped' && after === 'succeeded') {
    throw new StepSkipped('the run ended before it could be stopped: try a model that takes longer');
  }
  return `${answer}; afterwards ${after}`;
}

/** A request that no engine can fulfill must be rejected at once, with a message, and not be retried. */
async function askWrong(plan: EngineCheckPlan): Promise<CheckFinding> {
  requirePayConsent(plan);
  const failure = await failureOf(plan.engine, wrongRequest(plan), plan.folder);
  if (!failure) {
    throw new StepSkipped('it accepted the invalid request without checking it');
  }
  if (failure.retryable) {
    throw new StepFailed(`${failure.code}: the task would be retried over and over`, failure.said);
  }
  return { found: `rejected: ${failure.code}`, said: failure.said };
}

/** Returns why the engine fails a request, on submit or soon after; undefined if it starts the run, which is then canceled. */
async function failureOf(
  engine: Engine,
  request: EngineRequest,
  folder: string,
): Promise<EngineFailure | undefined> {
  const context = contextOf(folder, ANSWER_MS);
  try {
    const reference = await engine.submit(request, context);
    let status = await engine.poll(reference, request, context);
    while (goesOn(status) && !context.signal.aborted) {
      await delay(engine.pollIntervalMs);
      status = await engine.poll(reference, request, context);
    }
    if (status.failure === undefined) {
      await engine.cancel(reference, request);
    }
    return status.failure;
  } catch (error) {
    if (error instanceof EngineError) {
      return error.failure;
    }
    throw error;
  }
}

/**
 * Returns a request that this kind of server rejects before it starts: ComfyUI by the limits of its nodes, sd-server by what its
 * model makes.
 */
function wrongRequest({ engine, order }: EngineCheckPlan): EngineRequest {
  switch (engine.kind) {
    case 'comfyui':
      return requestOf({ ...order, width: TOO_WIDE });
    case 'sdcpp':
      return requestOf({ ...order, kind: order.kind === 'image' ? 'video' : 'image' });
    case 'builtin':
      throw new StepSkipped('it accepts every request');
    default:
      return requestOf({ ...order, model: NO_SUCH_MODEL });
  }
}

/** Uses a fresh seed: ComfyUI returns earlier results for the same input without running it again. */
function requestOf(order: EngineCheckPlan['order']): EngineRequest {
  return { ...order, seed: BigInt(randomInt(SEED_MAX)), taskId: newUuid(), attempt: 1 };
}

function contextOf(folder: string, milliseconds: number): EngineContext {
  return { folder, signal: AbortSignal.timeout(milliseconds), onProgress: () => undefined };
}

function requirePayConsent({ engine, mayPay }: EngineCheckPlan): void {
  if (engine.capabilities.paid && !mayPay) {
    throw new StepSkipped('the upstream bills this test; add --pay to run it');
  }
}

function requireBegun({ reference }: Run): string {
  if (reference === undefined) {
    throw new StepSkipped('no run was started');
  }
  return reference;
}

function explain(error: unknown): StepFailed | undefined {
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new StepFailed('no response in time; try again when it is idle');
  }
  if (!(error instanceof EngineError)) {
    return undefined;
  }
  const { code, message, said } = error.failure;
  return new StepFailed(`${code}: ${message}`, said);
}

import { WebSocket } from 'undici';

/** Allocations of a function and of the functions it called. */
interface SampledAllocations {
  readonly selfSize: number;
  readonly children: readonly SampledAllocations[];
}

interface Reply {
  readonly id?: number;
  readonly error?: { readonly message: string };
  readonly result?: {
    readonly result?: { readonly value?: unknown };
    readonly exceptionDetails?: { readonly text: string };
    readonly profile?: { readonly head: SampledAllocations };
  };
}

/** A client for the inspector of a Node process started with `--inspect=127.0.0.1:port`. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      if (reply.id !== undefined) {
        this.#waiting.get(reply.id)?.(reply);
        this.#waiting.delete(reply.id);
      }
    });
  }

  static async connect(port: number): Promise<Inspector> {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`no inspector at port ${port}`)));
    });
    return new Inspector(socket);
  }

  /** Runs a full garbage collection and returns the heap bytes in use. */
  async collectedHeap(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage', {});
    return (await this.evaluate('process.memoryUsage().heapUsed')) as number;
  }

  /** Starts sampling allocations, about one per `samplingInterval` bytes, until {@link allocatedBytes}. */
  async startSampling(samplingInterval: number): Promise<void> {
    const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await this.#call('HeapProfiler.startSampling', { samplingInterval, ...collected });
  }

  /** Returns the bytes allocated on the heap since {@link startSampling}, garbage included: an estimate from the samples. */
  async allocatedBytes(): Promise<number> {
    const { result } = await this.#call('HeapProfiler.stopSampling', {});
    const sum = ({ selfSize, children }: SampledAllocations): number =>
      children.reduce((bytes, child) => bytes + sum(child), selfSize);
    return result?.profile ? sum(result.profile.head) : 0;
  }

  /** Writes a heap snapshot to a file. The process is blocked meanwhile. */
  async writeSnapshot(file: string): Promise<void> {
    await this.evaluate(`require('node:v8').writeHeapSnapshot(${JSON.stringify(file)})`);
  }

  /** Evaluates an expression in the process and returns its value. Rethrows its error. */
  async evaluate(expression: string): Promise<unknown> {
    const parameters = { expression, includeCommandLineAPI: true, returnByValue: true };
    const { result } = await this.#call('Runtime.evaluate', parameters);
    if (result?.exceptionDetails) {
      throw new Error(`${expression}: ${result.exceptionDetails.text}`);
    }
    return result?.result?.value;
  }

  close(): void {
    this.#socket.close();
  }

  async #call(method: string, params: object): Promise<Reply> {
    this.#calls += 1;
    const id = this.#calls;
    const reply = await new Promise<Reply>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
    if (reply.error) {
      throw new Error(`${method}: ${reply.error.message}`);
    }
    return reply;
  }
}

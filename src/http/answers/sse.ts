import type { Response } from 'express';

export interface EventStreamSettings {
  /** Silence after which the keep-alive frame is sent, in ms. */
  readonly keepAliveMs: number;
  /** How long a reader may leave the buffer full before it is dropped, in ms. */
  readonly stallMs: number;
  /** A whole frame, e.g. an SSE comment. */
  readonly keepAliveFrame: string;
}

export const COMMENT_KEEP_ALIVE: EventStreamSettings = {
  keepAliveMs: 15_000,
  stallMs: 30_000,
  keepAliveFrame: ': keep-alive\n\n',
};

/**
 * One server-sent event (html.spec.whatwg.org, "Server-sent events"). The data is serialised here and nowhere else:
 * JSON text holds no line breaks, so no content can end a frame or begin another one.
 */
export function eventFrame(data: unknown, event?: string): string {
  return event === undefined
    ? `data: ${JSON.stringify(data)}\n\n`
    : `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * A response as a stream of events. Headers go out with the first frame, so until then an ordinary error can still be
 * answered. At most one frame batch beyond the socket's high-water mark is ever buffered: `write` makes the producer wait.
 */
export class EventStream {
  readonly #response: Response;
  readonly #settings: EventStreamSettings;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(response: Response, settings: EventStreamSettings = COMMENT_KEEP_ALIVE) {
    this.#response = response;
    this.#settings = settings;
    this.#keepAlive = setTimeout(() => this.#sendKeepAlive(), settings.keepAliveMs);
    response.once('close', () => clearTimeout(this.#keepAlive));
  }

  /** True once the status line is out: from then on errors can only be told inside the stream. */
  get opened(): boolean {
    return this.#response.headersSent;
  }

  /**
   * Sends frames. Returns undefined when the reader keeps up; otherwise a promise of whether it caught up: false when
   * it left or was dropped for reading too slowly.
   */
  write(frames: string): Promise<boolean> | undefined {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) {
      return Promise.resolve(false);
    }
    this.#open();
    this.#keepAlive.refresh();
    return response.write(frames) ? undefined : this.#drained();
  }

  /** Ends the response after what was written. */
  end(): void {
    clearTimeout(this.#keepAlive);
    if (!this.#response.destroyed) {
      this.#open();
      this.#response.end();
    }
  }

  /**
   * Sends the last frames and breaks the connection off once they are on their way, or when the reader stalls. Many
   * clients ignore members they don't know and take a body that ends properly for a whole answer; a broken one never.
   */
  async break(frames: string): Promise<void> {
    const response = this.#response;
    clearTimeout(this.#keepAlive);
    if (response.destroyed) {
      return;
    }
    this.#open();
    await new Promise<void>((resolve) => {
      const stall = setTimeout(resolve, this.#settings.stallMs);
      const flushed = () => {
        clearTimeout(stall);
        resolve();
      };
      response.once('close', flushed);
      response.write(frames, flushed);
    });
    response.destroy();
  }

  /** Stops the keep-alive without touching the response: somebody else answers it. */
  release(): void {
    clearTimeout(this.#keepAlive);
  }

  #open(): void {
    if (this.#response.headersSent) {
      return;
    }
    this.#response.status(200);
    this.#response.set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      // Keeps nginx and its kin from collecting the stream.
      'X-Accel-Buffering': 'no',
    });
  }

  #sendKeepAlive(): void {
    // A full buffer needs no sign of life, and must not grow by one.
    if (this.#response.writableNeedDrain) {
      this.#keepAlive.refresh();
      return;
    }
    void this.write(this.#settings.keepAliveFrame);
  }

  #drained(): Promise<boolean> {
    const response = this.#response;
    return new Promise((resolve) => {
      const finish = (caughtUp: boolean) => {
        clearTimeout(stall);
        response.off('drain', onDrain);
        response.off('close', onClose);
        resolve(caughtUp);
      };
      const onDrain = () => finish(true);
      const onClose = () => finish(false);
      const stall = setTimeout(() => response.destroy(), this.#settings.stallMs);
      response.once('drain', onDrain);
      response.once('close', onClose);
    });
  }
}

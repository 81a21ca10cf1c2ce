import type { Response } from 'express';

export interface EventStreamSettings {
  /** Silence after which a keep-alive frame is sent, in ms. */
  readonly keepAliveMs: number;
  /** How long a reader may leave the buffer full before it is disconnected, in ms. */
  readonly stallMs: number;
  /** A complete frame, e.g. an SSE comment. */
  readonly keepAliveFrame: string;
}

export const COMMENT_KEEP_ALIVE: EventStreamSettings = {
  keepAliveMs: 15_000,
  stallMs: 30_000,
  keepAliveFrame: ': keep-alive\n\n',
};

/**
 * Returns one server-sent event (html.spec.whatwg.org, "Server-sent events"). The data is serialized here and nowhere else: JSON text has
 * no line breaks, so no content can end a frame or begin another one.
 */
export function eventFrame(data: unknown, event?: string): string {
  return event === undefined
    ? `data: ${JSON.stringify(data)}\n\n`
    : `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * A response as a stream of events. Headers are sent with the first frame, so until then an ordinary error response is still possible. At
 * most one batch of frames is buffered beyond the socket's high-water mark: `write` makes the producer wait.
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

  /** Whether the status line was sent: from then on, errors can only be reported inside the stream. */
  get opened(): boolean {
    return this.#response.headersSent;
  }

  /**
   * Sends frames. Returns undefined when the reader keeps up, otherwise a promise that resolves with whether it caught up: false when it
   * disconnected or was dropped for reading too slowly.
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

  /** Ends the response after everything that was written. */
  end(): void {
    clearTimeout(this.#keepAlive);
    if (!this.#response.destroyed) {
      this.#open();
      this.#response.end();
    }
  }

  /**
   * Sends the last frames and cuts the connection once they are flushed or the reader stalls. Many clients ignore members they do not
   * know and take any body that ends properly for a complete answer, but never one that breaks off.
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

  /** Stops the keep-alive without touching the response, which is answered elsewhere. */
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
      // Keeps nginx and similar proxies from buffering the stream.
      'X-Accel-Buffering': 'no',
    });
  }

  #sendKeepAlive(): void {
    // A full buffer needs no keep-alive and must not grow by one.
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

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** What a provider sent, byte for byte. */
export interface Recording {
  readonly status?: number;
  /** Content type of the answer; for packets `text/event-stream` by default. */
  readonly type?: string;
  /** Other headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, in the pieces in which it arrives. */
  readonly packets: readonly (string | Uint8Array)[];
  /** Pause between two packets, in ms; 0 for one turn of the event loop. */
  readonly pauseMs?: number;
}

/** Plays recorded answers: the model of a request selects the recording. Counts the requests and keeps their headers. */
export class ReplayUpstream {
  readonly calls = new Map<string, number>();
  /** Headers of the last request for each model. */
  readonly asked = new Map<string, IncomingHttpHeaders>();
  readonly #recordings = new Map<string, Recording>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      if (request.method !== 'POST') {
        // the gateway probes a provider that fails
        response.writeHead(404).end();
        return;
      }
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const { model } = JSON.parse(Buffer.concat(chunks).toString());
      this.calls.set(model, (this.calls.get(model) ?? 0) + 1);
      this.asked.set(model, request.headers);
      const {
        status = 200,
        type = 'text/event-stream',
        packets,
        pauseMs = 1,
        headers,
      } = this.#recordings.get(model)!;
      response.writeHead(status, { ...headers, 'content-type': type });
      for (const [index, packet] of packets.entries()) {
        if (index > 0) {
          await (pauseMs === 0 ? nextTurn() : sleep(pauseMs));
        }
        response.write(packet);
      }
      response.end();
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Sets the recording for calls that name the model. */
  play(model: string, recording: Recording): void {
    this.#recordings.set(model, recording);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Returns an event of Anthropic's protocol as it is sent on the wire. */
export function namedEvent(body: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** An OTLP collector that keeps what it receives. */
export interface TraceCollector {
  readonly url: string;
  readonly spans: readonly ExportedSpan[];
  /** Every request body, as it was received. */
  readonly text: () => string;
  close(): Promise<void>;
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: ExportedSpan[] = [];
  let collected = '';
  const server = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (chunk) => {
      text += chunk;
    });
    incoming.on('end', () => {
      collected += text;
      for (const resource of JSON.parse(text).resourceSpans) {
        for (const scope of resource.scopeSpans) {
          spans.push(...scope.spans);
        }
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => collected,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Returns the name of the parent of the named span within one trace. */
export function parentName(ofTrace: readonly ExportedSpan[], name: string): string | undefined {
  const span = ofTrace.find((candidate) => candidate.name === name);
  return ofTrace.find(({ spanId }) => spanId === span?.parentSpanId)?.name;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import type { Context, Span as OtelSpan, SpanContext } from '@opentelemetry/api';
import type { SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { inTimeOrUndefined } from '../lib/deadline.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { SpanFacts, SpanOptions, Tracing } from '../lib/tracing.ts';
import { VERSION } from '../lib/version.ts';

export interface OtelTracingOptions {
  /** Base URL of an OTLP/HTTP collector. */
  readonly endpoint: string;
  /** Name of this kind of process, e.g. `tollgate-api`; `OTEL_SERVICE_NAME` overrides it. */
  readonly service: string;
  readonly sampling: TraceSampling;
  readonly log: Pick<Logger, 'warn'>;
}

/** Which traces are kept. */
export interface TraceSampling {
  /** Share of the traces started here, 0 to 1. */
  readonly ratio: number;
  /** Whether a caller's `traceparent` decides for its own trace. */
  readonly followsParent: boolean;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const EXPORT_TIMEOUT_MS = 5_000;
/** Maximum spans buffered while the collector is slow; more are dropped. */
const SPANS_WAITING_MAX = 4_096;
/** Timeout of the final export, in ms. A working collector needs a fraction of it; one that hangs must not delay shutdown. */
const CLOSE_WITHIN_MS = 1_000;
/** Code of an export that succeeded. */
const EXPORTED = 0;
const WARN_EVERY_MS = 60_000;

/**
 * Creates tracing with OpenTelemetry, exported as OTLP over HTTP. Its packages are loaded only in this file, so an installation without a
 * collector spends neither memory nor time on them.
 */
export async function createOtelTracing(options: OtelTracingOptions): Promise<Tracing> {
  const { trace, ROOT_CONTEXT, SpanKind, SpanStatusCode } = await import('@opentelemetry/api');
  const provider = await createProvider(options);
  const tracer = provider.getTracer('tollgate');
  const running = new AsyncLocalStorage<{ readonly context: Context; readonly span: OtelSpan }>();
  const kinds = {
    server: SpanKind.SERVER,
    consumer: SpanKind.CONSUMER,
    client: SpanKind.CLIENT,
    internal: SpanKind.INTERNAL,
  };

  const parentOf = ({ parent }: SpanOptions): Context => {
    const remote = parent === undefined ? undefined : parseTraceparent(parent);
    return remote
      ? trace.setSpanContext(ROOT_CONTEXT, remote)
      : (running.getStore()?.context ?? ROOT_CONTEXT);
  };

  return {
    enabled: true,
    async span(name, options, work) {
      const parent = parentOf(options);
      const attributes: SpanFacts = options.facts ?? {};
      const span = tracer.startSpan(name, { kind: kinds[options.kind ?? 'internal'], attributes }, parent);
      const context = trace.setSpan(parent, span);
      try {
        return await running.run({ context, span }, () =>
          work({ add: (facts) => void span.setAttributes(facts) }),
        );
      } catch (error) {
        span.setAttribute('error.type', codeOf(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    current() {
      const span = running.getStore()?.span;
      return span && toTraceparent(span.spanContext());
    },
    async close() {
      await inTimeOrUndefined(provider.shutdown(), CLOSE_WITHIN_MS);
    },
  };
}

/** Samples spans and sends them in batches. */
async function createProvider(options: OtelTracingOptions): Promise<TracerProvider> {
  const { endpoint, service, sampling, log } = options;
  const [sdk, resources, otlp] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const processor = new sdk.BatchSpanProcessor({
    exporter: withWarnings(exporter, log),
    maxQueueSize: SPANS_WAITING_MAX,
  });
  const own = resources.resourceFromAttributes({
    'service.name': service,
    'service.version': VERSION,
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  // reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, as OpenTelemetry's own SDK does
  const given = resources.detectResources({ detectors: [resources.envDetector] });
  const root = new sdk.TraceIdRatioBasedSampler(sampling.ratio);
  return new sdk.TracerProvider({
    resource: own.merge(given),
    sampler: sampling.followsParent ? new sdk.ParentBasedSampler({ root }) : root,
    spanProcessors: [processor],
  });
}

/** Says in the log that spans were lost, which OpenTelemetry keeps to itself. Leaves out the collector's answer. */
function withWarnings(exporter: SpanExporter, log: Pick<Logger, 'warn'>): SpanExporter {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code !== EXPORTED && performance.now() >= quietUntilMs) {
          quietUntilMs = performance.now() + WARN_EVERY_MS;
          log.warn(
            { reason: result.error?.message, spans: spans.length },
            'traces are lost: the collector at OTEL_EXPORTER_OTLP_ENDPOINT does not take them',
          );
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => await exporter.forceFlush?.(),
  };
}

function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) {
    return undefined;
  }
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Returns only the error's code or name: its message may quote customer data. */
function codeOf(error: unknown): string {
  if (error instanceof AppError) {
    return error.code;
  }
  return error instanceof Error ? error.name : 'error';
}

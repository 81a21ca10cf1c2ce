import type { StopSignal } from '../lib/stop-signal.ts';
import type { Provider, StreamBatch } from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { LiveCall } from './live-call.ts';
import type { StreamPresenter } from './presenter.types.ts';

/** Destination of the frames; see EventStream. */
export interface StreamSink {
  readonly opened: boolean;
  write(frames: string): Promise<boolean> | undefined;
  end(): void;
  /** Sends the last frames and closes the connection without a proper end, because the answer is incomplete. */
  break(frames: string): Promise<void>;
  release(): void;
}

export interface ForwardedStream {
  readonly parts: AsyncIterable<StreamBatch>;
  readonly presenter: StreamPresenter;
  readonly sink: StreamSink;
  readonly call: LiveCall;
  readonly onDisconnect: Provider['onDisconnect'];
  /** Aborts when the client disconnects. */
  readonly client: StopSignal;
}

/**
 * `complete`: the whole answer was delivered; `cut`: we cut it off; `left`: the client no longer reads; `shutdown`: the process is
 * stopping.
 */
export type ForwardOutcome = 'complete' | 'cut' | 'left' | 'shutdown';

/**
 * Forwards a stream and meters exactly what was handed to the client. Reads the provider no faster than the client reads. Throws
 * {@link ProviderFailure} when the provider breaks off.
 */
export async function forwardStream(stream: ForwardedStream): Promise<ForwardOutcome> {
  try {
    const outcome = await pump(stream);
    return outcome === 'left' && stream.call.finished ? 'complete' : outcome;
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.reason !== 'aborted') {
      throw error;
    }
    if (stream.call.finished) {
      return 'complete';
    }
    return stream.client.aborted ? 'left' : 'shutdown';
  }
}

async function pump(stream: ForwardedStream): Promise<ForwardOutcome> {
  const { call, client } = stream;
  let reading = true;
  for await (const batch of stream.parts) {
    reading &&= !client.aborted && (await deliver(stream, batch));
    if (!reading) {
      if (stream.onDisconnect === 'abort') {
        return 'left';
      }
      // The client is gone, but the provider bills the rest: all of it counts, up to the provider's own figure.
      for (const part of batch) {
        call.meter.add(part);
      }
    }
    await call.count();
    if (!call.finished && call.outgrowsHold() && !(await call.growHold())) {
      return reading ? 'cut' : 'left';
    }
  }
  return reading ? 'complete' : 'left';
}

/** Returns false when the client is gone and the batch was not delivered. */
async function deliver(stream: ForwardedStream, batch: StreamBatch): Promise<boolean> {
  let frames = '';
  for (const part of batch) {
    frames += stream.presenter.part(part);
  }
  const room = frames === '' ? undefined : stream.sink.write(frames);
  if (room && !(await room)) {
    return false;
  }
  for (const part of batch) {
    stream.call.deliver(part);
  }
  return true;
}

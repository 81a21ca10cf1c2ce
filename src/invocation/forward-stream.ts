import type { StopSignal } from '../lib/stop-signal.ts';
import type { Provider, StreamBatch } from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { LiveCall } from './live-call.ts';
import type { StreamPresenter } from './presenter.types.ts';

/** Where frames go; see EventStream. */
export interface StreamSink {
  readonly opened: boolean;
  write(frames: string): Promise<boolean> | undefined;
  end(): void;
  /** Sends the last frames and breaks the connection off: the answer did not end. */
  break(frames: string): Promise<void>;
  release(): void;
}

export interface ForwardedStream {
  readonly parts: AsyncIterable<StreamBatch>;
  readonly presenter: StreamPresenter;
  readonly sink: StreamSink;
  readonly call: LiveCall;
  readonly onDisconnect: Provider['onDisconnect'];
  /** Aborts when the client leaves. */
  readonly client: StopSignal;
}

/** `complete`: the whole answer was delivered; `cut`: we ended it; `left`: nobody reads any more; `shutdown`. */
export type ForwardOutcome = 'complete' | 'cut' | 'left' | 'shutdown';

/**
 * Passes a stream on, metering exactly what was handed to the client. Upstream is read no faster than the client reads.
 * Throws {@link ProviderFailure} when the provider breaks off.
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
      // Nobody reads it any more, but the provider bills it: all of it counts, up to its own figure.
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

/** False when the client is gone and the batch was not delivered. */
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

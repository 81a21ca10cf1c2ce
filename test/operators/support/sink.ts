import { Writable } from 'node:stream';

/** Keeps everything that is written to it. */
export class Sink extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

import { objectsOf } from '../../providers/json.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { presentEmbeddingsUsage } from '../usage.presenter.ts';

const FLOAT_BYTES = 4;

/** Answers with vectors in the form that was asked for, whichever of the two the provider gave. */
export function embeddingsPresenter(format: 'float' | 'base64'): Pick<DialectPresenter, 'answer'> {
  return {
    answer({ wire }, _dialect, { id, model }) {
      const data = objectsOf(wire.data).map(({ index, embedding }) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? asBase64(embedding) : asFloats(embedding),
      }));
      return (end) => ({ id, object: 'list', data, model, usage: presentEmbeddingsUsage(end) });
    },
  };
}

function asBase64(embedding: unknown): string {
  if (typeof embedding === 'string') {
    return embedding;
  }
  const floats = embedding as readonly number[];
  const bytes = Buffer.alloc(floats.length * FLOAT_BYTES);
  for (const [place, float] of floats.entries()) {
    bytes.writeFloatLE(float, place * FLOAT_BYTES);
  }
  return bytes.toString('base64');
}

function asFloats(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') {
    return embedding as readonly number[];
  }
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, place) =>
    bytes.readFloatLE(place * FLOAT_BYTES),
  );
}

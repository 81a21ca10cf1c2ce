import { z } from 'zod';
import { modelId, usageJson } from '../../http/input/wire-shapes.ts';

/** OpenAI's own limits; clients split their inputs accordingly. */
const INPUTS_MAX = 2_048;
const DIMENSIONS_MAX = 65_536;

const token = z.int().min(0).max(10_000_000);
const tokens = z.array(token).min(1).max(1_000_000);

/** Body of an embeddings call. */
export const embeddingsRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id from the model list' }),
    input: z
      .union(
        [
          z.string().min(1),
          z.array(z.string().min(1)).min(1).max(INPUTS_MAX),
          tokens,
          z.array(tokens).min(1).max(INPUTS_MAX),
        ],
        {
          error: `must be a text, a list of up to ${INPUTS_MAX} texts, a list of tokens, or a list of such lists; none may be empty`,
        },
      )
      .meta({ description: 'What to embed; each input may fill the whole context of the model' }),
    encoding_format: z.enum(['float', 'base64']).nullish().meta({
      description: 'base64: little-endian 32-bit floats, which the official SDKs request by default',
    }),
    dimensions: z
      .int()
      .min(1)
      .max(DIMENSIONS_MAX)
      .nullish()
      .meta({ description: 'Length of the vectors, for models that can shorten them' }),
    user: z
      .string()
      .max(512)
      .nullish()
      .meta({ description: 'Your id for the end user; passed to the provider' }),
  })
  .meta({ id: 'EmbeddingsRequest' });

/** The vectors, in the order of the inputs. */
export const embeddingsAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.literal('list').meta({ description: 'Always list' }),
    data: z
      .array(
        z
          .looseObject({
            object: z.literal('embedding').meta({ description: 'Always embedding' }),
            index: z.int().min(0).meta({ description: 'Index of the input, from 0' }),
            embedding: z
              .union([z.array(z.number()), z.string()])
              .meta({ description: 'Numbers, or base64 of little-endian 32-bit floats' }),
          })
          .meta({ id: 'Embedding' }),
      )
      .meta({ description: 'The vectors, in the order of the inputs' }),
    model: modelId,
    usage: usageJson
      .extend({
        prompt_tokens: z.int().meta({ description: 'The same as input_tokens' }),
        cost: z
          .number()
          .meta({ description: 'In USD, as a number; charged_amount of the generation is exact' }),
      })
      .meta({ id: 'EmbeddingsUsage' })
      .meta({ description: 'Tokens and their cost' }),
  })
  .meta({ id: 'EmbeddingsAnswer' });

import type { Hash } from 'node:crypto';
import { AppError } from '../../lib/errors.ts';

const FORM = /^multipart\/form-data\s*;/i;

/** Returns whether a content type declares a form. */
export function isForm(contentType: string | undefined): contentType is string {
  return contentType !== undefined && FORM.test(contentType);
}

/**
 * Parses a form into an object with a member per field; files are kept as files. `fingerprint` takes in the fields instead of the bytes,
 * because clients choose another boundary each time they send the same form. Throws AppError invalid_request for a malformed form.
 */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
  fingerprint?: Hash,
): Promise<Record<string, unknown>> {
  const form = await fieldsOf(bytes, contentType);
  if (fingerprint) {
    const contents = Object.entries(form).map(async ([name, value]) => [name, await contentOf(value)]);
    fingerprint.update(JSON.stringify(await Promise.all(contents)));
  }
  return form;
}

async function fieldsOf(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
    return Object.fromEntries(form.entries());
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not the form that its Content-Type declares', {
      cause,
    });
  }
}

async function contentOf(value: unknown): Promise<unknown> {
  return value instanceof Blob
    ? { type: value.type, base64: Buffer.from(await value.arrayBuffer()).toString('base64') }
    : value;
}

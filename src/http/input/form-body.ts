import { AppError } from '../../lib/errors.ts';

const FORM = /^multipart\/form-data\s*;/i;

/** Returns whether a content type declares a form. */
export function isForm(contentType: string | undefined): contentType is string {
  return contentType !== undefined && FORM.test(contentType);
}

/**
 * Parses a form into an object with a member per field; files are kept as files. Throws AppError invalid_request for a malformed form.
 */
export async function parseForm(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
    return Object.fromEntries(form.entries());
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not the form that its Content-Type declares', {
      cause,
    });
  }
}

import { AppError } from '../../lib/errors.ts';

const FORM = /^multipart\/form-data\s*;/i;

/** Whether a request declares a form. */
export function isForm(contentType: string | undefined): contentType is string {
  return contentType !== undefined && FORM.test(contentType);
}

/** The fields of a form as the members of an object: texts, and files as they are. Throws AppError invalid_request for what is none. */
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

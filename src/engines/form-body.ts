import { FormData } from 'undici';

/** Converts the members of a body into form fields: strings unchanged, everything else as JSON. */
export function toForm(body: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}
